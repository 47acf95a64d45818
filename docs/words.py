"""The sentences of DOCS.md that the code does not hold: what a table, an error or an argument is for.

``generate`` refuses to run when one is missing or belongs to nothing, so a new table or error is written about.
"""

from __future__ import annotations

TABLES = {
    "embedders": "The models that vectors were computed with, and how far each has come.",
    "observation_vectors": "The vectors of each observation's passages, by model. Local and derived.",
    "vector_trust": "How well a model's vectors tell the texts of a project apart, measured on themselves.",
    "meta": "Facts about this file: its device id, the last clock it gave out, how far a rebuild has come.",
    "projects": "The projects there are. The name is the key everywhere else.",
    "project_aliases": "Other names of a project: what it was called before a merge, or what somebody chose.",
    "project_identities": "Which repository is which project: git directories of this machine and remotes without "
    "credentials. Local, never meant to be synced.",
    "sessions": "Runs of an agent in a project, from start to end, with the summary each left.",
    "observations": "What is kept: one row per observation, soft-deleted ones included (`deleted_at`).",
    "observation_versions": "The texts an observation had before it was revised or corrected.",
    "save_operations": "What saves with an `operation_id` answered, kept 30 days, so that a repeated call answers "
    "the same.",
    "user_prompts": "What the person asked for, where an agent saved it.",
    "memory_relations": "How one observation relates to another, and the verdict on it. Also the candidates that "
    "wait for one.",
    "observations_fts": "Full-text index (FTS5) of the observations that are not deleted. Derived: "
    "`engram doctor --fix` rebuilds it.",
    "prompts_fts": "Full-text index (FTS5) of the prompts. Derived.",
    "observations_vocab": "How many rows hold each word, read from `observations_fts`.",
    "sync_mutations": "What has changed and no other machine has seen: one row per changed thing, without its text. "
    "Nothing reads it yet.",
    "sync_state": "How far each sync target has come. Empty until sync exists.",
    "sync_apply_deferred": "What arrived before what it depends on. Empty until sync exists.",
    "tombstones": "What was destroyed on purpose: the identity and the time, nothing of the text.",
    "eval_questions": "The user's own retrieval tests: a question, where it is asked from, whether it was written or "
    "learned. Of this machine alone: never synced, never exported. So are the four tables that follow.",
    "eval_answers": "Which observations answer a question, by sync id.",
    "eval_runs": "The run of `engram eval` that later runs are compared with, and the versions it was made with.",
    "eval_outcomes": "What that run made of each question.",
    "search_trail": "The last searches of commands, for learning which led to opening a hit: at most 20.",
    "anchors": "The files an observation is about: path and lines, and hashes of what they said. No code.",
    "git_answers": "What git answered about a commit, which it will answer for ever. Derived, of this machine alone.",
    "_sqlite_migrations": "Which migrations this file has had (the ledger of sqlite-utils).",
}

FAMILIES = {
    "embedder_error": "The optional embedder is set wrongly, missing, or does not answer. Searches go on without it.",
    "invalid_input": "What was passed cannot be used. Nothing was written.",
    "not_found": "What was named is not there.",
    "conflict": "It contradicts what is kept already. Nothing was written.",
    "store_error": "The database cannot be opened, read or written. It is left as it was.",
    "transfer_error": "A file that should be imported or restored cannot be.",
}

ERRORS = {
    "invalid_embedder": "`embedder` is not `model2vec:NAME`, `fastembed:NAME` or `openai:URL#MODEL`.",
    "embedder_not_installed": "The package of the embedder is missing: `pip install 'engram-py[vectors]'`.",
    "embedder_failed": "The embedder cannot be loaded, does not answer, or answers nonsense.",
    "empty_field": "A required text has no visible character, or nothing is left of it after redaction.",
    "text_too_long": "A title, name or note is over its limit. Content is cut instead, see *Limits*.",
    "invalid_text": "A text holds a NUL byte or half of a surrogate pair.",
    "invalid_argument": "An argument is missing, of the wrong type or outside of what it may be.",
    "empty_query": "A search is blank.",
    "nothing_replaced": "`find` does not occur in the content.",
    "invalid_topic_key": "A topic key has no letter or digit.",
    "invalid_project": "A project name is empty, too long, a path, or holds control characters.",
    "ambiguous_project": "A write names no project and the folder does not decide on one. The answer lists candidates.",
    "unknown_tool": "`--tools` or `ENGRAM_TOOLS` names a tool or profile that does not exist.",
    "observation_not_found": "There is no observation with this id, or it was deleted.",
    "session_not_found": "A session to end or read was never started.",
    "prompt_not_found": "There is no prompt with this id.",
    "question_not_found": "There is no question with this number in `engram eval list`.",
    "judgment_not_found": "There is no relation with this `judgment_id`.",
    "unknown_project": "A project to merge or alias does not exist. Saving to an unknown project creates it instead.",
    "unknown_resource": "An MCP client asked for a resource other than the two kinds there are.",
    "operation_conflict": "An `operation_id` was used before with other arguments.",
    "topic_taken": "An update would give an observation the topic key of another one.",
    "session_in_use": "A session to delete still holds observations.",
    "already_initialized": "`engram init` finds an `.engram.json`.",
    "data_dir_unusable": "The data directory is a file, a relative path, or cannot be created or entered.",
    "network_filesystem": "The data directory is on NFS, SMB or the like, where SQLite's WAL is unsafe.",
    "store_too_new": "A newer engram_py migrated the file.",
    "store_damaged": "SQLite finds the file malformed, or it is no database.",
    "store_busy": "Another process held the write lock for longer than a writer waits.",
    "disk_full": "There is no space left. The write was rolled back.",
    "store_read_only": "The file or its directory cannot be written.",
    "store_io": "The operating system failed to read or write the file.",
    "store_foreign": "`engram.db` in the data directory belongs to another program.",
    "invalid_export": "A file to import is not whole JSON, of another version, or has wrong types.",
    "invalid_backup": "A file to restore is not there, damaged, not ours, or from a newer version; or the target of a "
    "backup exists.",
}

# Tool arguments whose schema says nothing: in a tool list every word costs tokens, here none does.
ARGUMENTS = {
    "action": "What to do.",
    "after": "How many observations after it.",
    "before": "How many observations before it.",
    "content": "The text.",
    "evidence": "What shows it.",
    "id": "The number an answer shows as `[#12]`; `#12` is taken too. Of a session: its id.",
    "memory_id_a": "Number of the observation the verdict is said of.",
    "memory_id_b": "Number of the observation it relates to.",
    "observation_id": "The number an answer shows as `[#12]`; `#12` is taken too.",
    "reason": "Why.",
    "response_format": "Text for a model, or the same value as JSON text for a program.",
    "scope": "project, personal or global.",
    "summary": "What to keep of the session.",
    "title": "The title.",
    "topic_key": "family/name.",
    "type": "The type, such as decision or bugfix.",
}

CHECKS = {
    "integrity": ("SQLite's `integrity_check` and foreign keys.", ""),
    "schema": ("Every trigger is there.", "recreates them, rebuilds the index"),
    "search_index": (
        "Each table and its full-text index hold the same rows, with terms of this version; no rebuild is unfinished.",
        "rebuilds the index; the rest is for `engram reindex`",
    ),
    "orphans": ("Every row has the session or observation it depends on.", "recreates sessions, marks relations"),
    "projects": ("Every project with rows is in the list of projects.", "adds it"),
    "permissions": ("Directory and files are readable by their owner alone.", "tightens them"),
    "free_disk": ("There is room for the next save.", ""),
    "write_lock": ("The write lock can be had; the write-ahead log is not huge.", ""),
    "sync_queue": ("How many changes wait for a sync.", ""),
    "vectors": ("The embedder that is set answers, and nobody on the way to it can read what is saved.", ""),
    "clock": ("No change is dated more than a day in the future.", ""),
}
