"""Word the reasons that rooms give as values: why a search found nothing, and what a note on an answer says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from engram_py.base.reasons import Operation, Reason, Sentence, Told, amount, operation, sentence
from engram_py.memory.observations.values import SCOPES
from engram_py.recall.query import KEYS, STATES

Door = Literal["python", "cli", "mcp", "http"]

_OTHERS: tuple[Door, ...] = ("cli", "mcp", "http")

# operation → its name on the command line, as a tool and as a route
_SYNTAX: dict[str, tuple[str, str, str]] = {
    "get": ("`engram get {id}`", "mem_get_observation(id={id})", "GET /observations/{id}"),
    "open": ("`engram get {source}`", "`engram get {source}`", "GET /documents?name={source}"),
    "history": (
        "`engram history {id}`",
        "mem_get_observation(id={id}, include_history=true)",
        "GET /observations/{id}",
    ),
    "older": (
        "`engram history {id} --cursor {cursor}`",
        "mem_get_observation(id={id}, include_history=true, history_cursor={cursor})",
        "GET /observations/{id}",
    ),
    "search": ("`engram search`", "mem_search", "GET /search"),
    "search for": ("`engram search '{query}'`", 'mem_search("{query}")', "GET /search with q={query}"),
    "everywhere": ("`--all`", "all_projects=true", "all_projects=true"),
    "save": ("`engram save`", "mem_save", "POST /observations"),
    "context": ("`engram context`", "mem_context", "GET /context"),
    "judge": ("`engram judge`", "mem_judge", "POST /conflicts/judge"),
    "verdict": (
        "`engram judge {id} supersedes` (or related, compatible, scoped, conflicts_with, not_conflict)",
        "mem_judge(judgment_id={id}, relation=supersedes or another)",
        "POST /conflicts/judge",
    ),
    "unjudged": ("`engram judge`", "`engram judge`", "GET /conflicts?status=pending"),
    "deleted": ("`engram list --deleted`",) * 3,
    "undelete": ("`engram undelete {id}`",) * 3,
    "destroy": ("`--hard`", "hard_delete=true", "hard=true"),
    "topic": ("`--topic {key}`", "topic_key={key}", "topic_key={key}"),
    "project": ("`--project NAME`", "project=NAME", "project=NAME"),
    "identity": ("`engram identity list`", 'mem_identity(action="list")', "GET /identity"),
    "checkpoints": ("`engram checkpoint list`", 'mem_checkpoint(action="list")', "GET /checkpoints"),
    "entities": ("`engram entity list`", "mem_entity()", "GET /entities"),
    "profile": ("`engram identity profile TEXT`", "`engram identity profile TEXT`", "PUT /identity/profile"),
    "sessions": ("`engram sessions`", "`engram sessions`", "GET /sessions/recent"),
    "agents": ("`engram agents`", "`engram agents`", "GET /agents"),
    "prompts": ("`engram prompts`", "`engram prompts`", "GET /prompts/recent"),
    "vault init": ("`engram vault init PATH`",) * 3,
    "vault import": ("`engram vault import`", "`engram vault import`", "POST /vault/import"),
    "vault export": ("`engram vault export`", "`engram vault export`", "POST /vault/export"),
    "projects": ("`engram projects`", "`engram projects`", "GET /projects"),
}


def call(door: Door, name: str, **values: object) -> str:
    """Return the operation ``name`` as ``door`` spells it, with ``values`` in their places."""
    return spelled(operation(name, **values), door)


def spelled(said: Told | Operation, door: Door) -> str:
    """Return what a room said in words, with each operation as ``door`` spells it."""
    if isinstance(said, Reason):
        return spelled(words_of(said), door)
    if isinstance(said, Sentence):
        return "".join(spelled(part, door) for part in said.parts)
    if isinstance(said, str) or door == "python":
        return str(said)
    return _SYNTAX[said.name][_OTHERS.index(door)].format(**dict(said.values))


_MOST_NUMBERS = 8


def words_of(value: Reason) -> str | Sentence:
    """Return the sentence for a reason, with the operations it names still as values."""
    words = WORDS[value.name]
    facts = dict(value.facts)
    return words.format(**facts) if isinstance(words, str) else words(**facts)


def _gone(ids: Sequence[int]) -> str:
    named = ", ".join(f"#{one}" for one in ids[:_MOST_NUMBERS]) + (", …" if len(ids) > _MOST_NUMBERS else "")
    return f"there is no memory {named}, or {'it was' if len(ids) == 1 else 'they were'} deleted"


def _no_change(start: str, last: str, open: bool) -> str:
    then = f"until {last}" if open else f"from {start} to {last}" if start != last else f"on {start}"
    return f"no memory changed {then}"


def _not_as_marked(quotes: bool, minus: bool) -> str:
    if not quotes:
        return "no memory without the excluded words matches"
    return f"no memory has the quoted phrase{' without the excluded words' if minus else ''}"


def _dated(words: str, start: str, last: str, open: bool, unchanged: bool) -> str:
    span = f"until {last}" if open else start + (f" to {last}" if start != last else "")
    return f"{words}: {span}{', when nothing changed' if unchanged else ''}"


def _shortened(characters: int, words: bool) -> str:
    used = [f"only its first {characters:,} characters were read"] if characters else []
    used += ["only its rarest words were used"] if words else []
    return f"the query is long: {', and '.join(used)}"


def _read(joined: Sequence[str], forms: Sequence[tuple[str, Sequence[str]]]) -> str:
    read = [f"{word} as one word" for word in joined]
    return f"read {', '.join([*read, *(f'{word} as {_either(some)}' for word, some in forms)])}"


def _either(forms: Sequence[str]) -> str:
    return " or ".join(forms)


def _words(one: Reason) -> str:
    return str(words_of(one))


def _files(start: str) -> Callable[[Sequence[Reason], int], str]:
    return lambda files, more: f"{start}: {', '.join(map(_words, files))}{f' and {more} more' if more else ''}"


def _lines_kept(file: str, start: int | None, end: int | None, cut: bool) -> str:
    lines = "the whole file" if start is None else f"line {start}" if start == end else f"lines {start}-{end}"
    return f"{file} ({lines}{', the file ends there' if cut else ''})"


def _recording_off(project: str, enabled: bool) -> str:
    what, step = ("recording", "engram on --record") if enabled else ("engram", "engram on")
    return f"{what} is off in {project}; this memory was saved anyway, as it was asked for (`{step}` turns it on)"


def _created(project: str, similar: Sequence[str]) -> str:
    names = f"; similar names exist: {', '.join(similar)} (`engram projects merge` joins them)" if similar else ""
    return f'created project "{project}"{names}'


def _listed(start: str, end: str = "") -> Callable[[Sequence[str]], str]:
    return lambda words: f"{start}{', '.join(words)}{end}"


# reason → its sentence, or what makes one of its facts
WORDS: dict[str, str | Callable[..., str | Sentence]] = {
    # why a search found nothing
    "gone": _gone,
    "no_change": _no_change,
    "nothing_passes": lambda without_words: (
        f"no memory {'without the excluded words ' if without_words else ''}matches the filters"
    ),
    "no_word": "the query has no words",
    "no_content_word": "the query has only common words",
    "filtered": "the filters exclude every memory with these words",
    "not_stale": "the memories with these words are not stale",
    "not_as_marked": _not_as_marked,
    "only_archived": "only archived memories have these words",
    "only_elsewhere": "no memory here has these words",
    "unknown_words": "no memory here has these words",
    # notes on how a search was read
    "words_alone": "only words were compared; `engram vectors on` also finds the same said in other words",
    "unknown_filter": f"{{key}}: is not a filter ({', '.join(KEYS)}); it was searched as a word",
    "unknown_state": f"is:{{value}} is not one of {', '.join(STATES)}; it was searched as a word",
    "unread_filter": "{key}: is not a filter at this place; it was searched as a word",
    "unknown_scope": f"{{filter}}:{{value}} is not one of {', '.join(SCOPES)}; it was ignored",
    "no_date": "{filter}:{value} is not a date such as 2026-03-14, 2026-03 or 7d; it was ignored",
    "no_project": "project: {problem}; the filter was ignored",
    "one_project": "a search takes one project: {project} was searched",
    "pasted_marks": "above {limit} words, quotes and -words are plain words; filters count only at the beginning",
    "shortened": _shortened,
    "left_out": _listed("excluded: memories with "),
    "idle_arguments": lambda arguments, layer: (
        f"{', '.join(arguments)} {'does' if len(arguments) == 1 else 'do'} not apply to {layer} and "
        f"{'was' if len(arguments) == 1 else 'were'} ignored"
    ),
    "idle_filters": _listed("an id names one memory, so these filters were ignored: "),
    "filters_alone": '"{query}" has no search words; only the filters were used',
    "unquoted": "no memory has the quoted phrase; its words were searched without the quotes",
    "may_contradict": "[#{new}] may contradict [#{old}]; `engram judge` lists the pair; give a verdict there",
    "vectors_elsewhere": "another process computes vectors at this moment",
    "many_named": "{named} memories were named; the first {limit} are shown",
    # notes on what it found
    "replaced": "#{old} has these words; the filters exclude [#{new}], which replaced it. is:superseded shows #{old}",
    "read_as": lambda word, forms: f"no memory contains {word}; the search used {_either(forms)} instead",
    "known_elsewhere": lambda words: sentence(
        f"only other projects know {', '.join(words)}; ", operation("everywhere"), " searches them"
    ),
    "dated": _dated,
    "unusual_type": "type:{type} is not one of the usual types; did you mean type:{usual}?",
    # how a search went: its steps, and the use of each word
    "one_id": "the query is an id",
    "ids": "the query is a list of ids",
    "topic_key": "the query is a topic key",
    "topic_key_first": "topic key first, then words",
    "no_telling_word": "the query has only common words",
    "latest_first": "no word to rank by: latest change first",
    "no_known_word": "no memory has a word of the query",
    "in_one_passage": "every word in one passage",
    "too_common": _listed("too common to search: "),
    "all_looked_up": "every known word was searched",
    "nothing_alike": "no word is similar to the unknown words",
    "read": _read,
    "weighed": "weight {weight:.2f} in the score",
    "weighted_sum": "weight {vectors:.1f} for vectors, {words:.1f} for words",
    "near": lambda forms: f"similar: {', '.join(forms)}",
    "unknown": "unknown",
    "looked_up": "searched",
    "only_ranks": "too common to search; used for ranking only",
    # why nothing can be told of a file
    "not_in_repository": "not in the repository of its project",
    "saved_outside": "saved outside its repository",
    "not_read": "the file was not read at the save",
    "not_in_history": "not in the history of this HEAD",
    "only_on_branch": "only on branch {branch}",
    "unreadable": "{problem}",
    "unreadable_then": "{problem} when it was saved",
    # notes on numbers that were out of range
    "clamped": "{name} {value} is outside {low}..{high}; used {used}",
    # notes on a save or an edit
    "not_stored": lambda count: f"redacted {amount(count, 'secret or private part')}; they were not stored",
    "unknown_entity": 'nothing else is known of "{entity}" yet: it is listed once it is mentioned more',
    "strange_roles": lambda count, roles: (
        f"left out {amount(count, 'turn')} of role {', '.join(map(repr, roles))}; only user and assistant are kept"
    ),
    "messages_cut": lambda count, limit: f"cut {amount(count, 'message')} to {limit:,} characters",
    "redacted": lambda count: f"redacted {amount(count, 'secret or private part')}",
    "cut": "content cut: kept {stored_bytes:,} of {original_bytes:,} bytes (limit {limit_bytes:,})",
    "path_of_machine": ("the text names a path of this machine ({path}); use a path relative to the repository"),
    "kept_as_type": "saved with type {type}; did you mean {usual}?",
    "unconfirmed": lambda named, more: (
        f"waiting to be confirmed: {'; '.join(named)}{' and more' if more else ''}; `engram accept ID` confirms one"
    ),
    "agent_ended_with_error": lambda runs, folder: (
        f"the agent ended with an error in {amount(runs, 'run')}; {folder} has its output"
    ),
    "guard_offered": lambda id, what, use: (
        f"this decision can warn agents before `{what}`{f' (use {use})' if use else ''}. "
        f"Turn it on: `engram guard accept {id}`"
    ),
    "guards_offered": lambda ids, more: (
        f"{', '.join(f'#{one}' for one in ids)}{' and more' if more else ''} can warn agents. "
        "List them: `engram guard list --offered`. Turn one on: `engram guard accept ID`"
    ),
    "guards_unchecked": lambda count: (
        f"guards of {amount(count, 'memory')} from elsewhere are not trusted and do nothing; `engram guard` lists them"
    ),
    "changes_unread": lambda files: (
        f"not checked, their text is not in the diff (Git LFS, a submodule, or too large): "
        f"{', '.join(files[:_MOST_NUMBERS])}"
        f"{f' and {len(files) - _MOST_NUMBERS} more' if len(files) > _MOST_NUMBERS else ''}"
    ),
    "current_again": 'it is current again; [#{id}] "{title}" had replaced it',
    "recording_off": _recording_off,
    # notes on the files of an observation
    "not_anchored": _files("not linked to"),
    "kept_by_name": _files("linked by path only, their text was not read"),
    "taken_otherwise": _files("linked differently"),
    "too_many_files": "{file} (more than {limit} files)",
    "blank_name": "a blank name",
    "lines_kept": _lines_kept,
    "fewer_lines": lambda file, lines: f"{file} (the whole file, it has {lines} line{'s' * (lines != 1)})",
    "binary_lines": "{file} (a binary file, linked as a whole)",
    "outside_directory": "{file} (outside the working directory)",
    "no_repository": "{file} (no repository here)",
    "file_unread": "{file} ({problem})",
    "other_repository": "files were linked by path only: this is not the repository of {project}",
    "newest_checked": "only the {limit:,} newest observations with files were checked",
    "repository_not_here": "the repository of {project} is not here; run this inside it",
    # which project a call belongs to
    "no_project_here": lambda nameless: (
        "no project here"
        + (" (the home directory, / and folders for temporary files are never projects)" if nameless else "")
    ),
    "several_repositories": "several repositories here",
    "unconfirmed_name": (
        "{file} names project {project}, whose memories come from another folder; if it is the same project, the user "
        "runs `engram projects confirm` here; until then nothing is read or written"
    ),
    "no_memory_yet": lambda project, similar: (
        f'project "{project}" has no memory yet' + (f" (similar: {', '.join(similar)})" if similar else "")
    ),
    "name_normalized": 'project name normalized: "{given}" → "{name}"',
    "created_project": _created,
    "folder_gone": "{folder} does not exist; {used} is used instead",
    "no_directory": "{folder} is not a directory",
    "one_repository": "{child} is the one repository in {folder}, so its project is used",
    "too_many_children": "{folder} has so many folders that not all could be read in time",
    "file_cannot_be_read": "{file} cannot be read ({problem})",
    "binding_no_json": "{file} is damaged; delete it, and engram makes it again",
    "binding_of_other_version": "{file} is not of version {version}; it was not changed",
    "binding_incomplete": "{file} is damaged; delete it, and engram makes it again",
    "binding_without_project": "{file} names no usable project: {problem}",
    "repository_unusable": "{file} cannot be used ({problem}); the folder is used as the repository",
    "repository_elsewhere": "{file} points at {folder}, which is not a git directory; run `git worktree repair`",
    "common_folder_gone": "{file} names a directory that does not exist; run `git worktree repair`",
    "remote_unknown": "{file} cannot be read ({problem}); its remote is unknown",
    # notes on a context and on documents
    "no_query_in_mode": "mode {mode} takes no query; mode query or cascade does",
    "gate_without_model": "gate llm works as heuristic; `engram config set gate heuristic` ends this note",
    "documents_busy": "another process updates documents at this moment",
    "no_repository_now": "{folder} is no longer a repository; its indexed commits are kept",
    "documents_gone": "{folder} does not exist; its indexed documents are kept",
    # notes on settings
    "setting_ignored": "{setting} was ignored: it must be {accepted}",
    "setting_moved": "{setting} must be {accepted}; {value:,} is used",
    "not_of_this_file": lambda setting, variable: (
        f"{setting} was ignored: {f'only {variable} sets it' if variable else 'it is not a setting of this file'}"
    ),
    "no_setting": "{setting} was ignored: it is not a setting",
    "not_by_clone": (
        "{setting} was ignored: a file that can arrive with a clone cannot set it; use ENGRAM_* variables"
    ),
    "scope_of_clone": "{setting} was ignored: a file that can arrive with a clone cannot set it to global",
    "no_project_name": "{setting} was ignored: it is not a project name: {problem}",
    "alias_ignored": "{alias} is ignored, because {setting} is given too",
    "more_in_file": lambda file, count: f"{file}: {amount(count, 'more note')}",
    "file_ignored": "{file} was ignored: {problem}",
    "file_no_json": "{file} is not JSON and was ignored",
    "file_no_object": "{file} is not a JSON object and was ignored",
    "file_no_text": "{file} is not UTF-8 text and was ignored",
    "link_that_leaves": "{file} is a link that leaves {folder} and was ignored",
    # notes on parts that were left out
    "no_vectors": "the search used no vectors: {problem}; {hint}",
}
