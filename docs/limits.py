"""The limits docs/reference/limits.md lists, each from the constant that holds it."""

from __future__ import annotations

from engram_py.base.capture.session_id import SESSION_ID_LIMIT
from engram_py.base.database.connection import LOCK_TIMEOUT_SECONDS
from engram_py.base.database.fts import MERGED_AT_ONCE
from engram_py.base.git.program import TIMEOUT_SECONDS
from engram_py.base.settings import DEFAULTS
from engram_py.base.text.normalize import TOPIC_KEY_LIMIT_CHARS
from engram_py.cloud import chunks
from engram_py.cloud import server as gate
from engram_py.cloud import validation as incoming
from engram_py.guidance.context import contexts as context
from engram_py.guidance.context import providers, session
from engram_py.guidance.ledger import costs, ledger
from engram_py.interfaces import hook_protocol as hook_request
from engram_py.interfaces.hooks import entry
from engram_py.interfaces.hooks import handlers as hook_handlers
from engram_py.memory.anchors.trace import MAX_CONTEXT
from engram_py.memory.anchors.values import MOST_ANCHORS
from engram_py.memory.anchors.worktree import MAX_FILE
from engram_py.memory.observations import validation as intake
from engram_py.memory.observations.values import (
    CONTENT_LIMIT_BYTES,
    REVIEW_MONTHS,
    TITLE_LIMIT_CHARS,
)
from engram_py.memory.projects.settings_file import MAX_SIZE
from engram_py.memory.projects.values import MAX_NAME
from engram_py.memory.relations import relations
from engram_py.memory.sessions import citations, sessions, transcripts
from engram_py.memory.sessions import spool_files as spooling
from engram_py.memory.sessions.transcript_formats import TURN_LIMIT_CHARS
from engram_py.memory.sessions.values import PROMPTS_MOST
from engram_py.memory.writing import observations as reading
from engram_py.recall import search
from engram_py.recall.query import MAX_QUERY_CHARS, MAX_WORDS
from engram_py.sharing.sync import chunk
from engram_py.sharing.sync.autosync import client, push, schedule
from engram_py.sharing.sync.mutation import PAYLOAD_LIMIT_BYTES
from engram_py.upkeep import hook_log
from engram_py.upkeep.evaluation import evaluation


def _events(limit: int) -> str:
    """The hook events with a limit, or "others" for that of most."""
    found = [event for event, one in entry.LIMITS_MS.items() if one == limit]
    return ", ".join(found) if len(found) < len(entry.LIMITS_MS) / 2 else "others"


def rows() -> list[tuple[str, str, str]]:
    """(what, limit, what happens beyond it)."""
    reviews = ", ".join(f"{kind} {months} months" for kind, months in REVIEW_MONTHS.items())
    return [
        ("content", f"{CONTENT_LIMIT_BYTES:,} bytes of UTF-8", "cut at a character, with a note"),
        ("prompt, session summary", f"{CONTENT_LIMIT_BYTES:,} bytes of UTF-8", "cut at a character"),
        ("content before redaction", f"{intake.READ_LIMIT_CHARS:,} characters", "the rest is dropped"),
        ("title", f"{TITLE_LIMIT_CHARS:,} characters", "refused"),
        ("type", f"{intake.TYPE_LIMIT_CHARS} characters", "refused"),
        ("topic key", f"{TOPIC_KEY_LIMIT_CHARS} characters", "cut"),
        (
            "aliases",
            f"{intake.MAX_ALIASES} of {intake.NAME_LIMIT_CHARS} characters",
            "more are left out, longer ones refused",
        ),
        ("files of an observation", f"{MOST_ANCHORS}", "left out, with a note"),
        ("a file that is compared", f"{MAX_FILE // 1024} KB", "not compared, with a note"),
        ("lines of a file that git compares", f"{MAX_CONTEXT}", "the file's last change is named"),
        ("time of git for one answer", f"{TIMEOUT_SECONDS} s", "no author is shown; asked again after 10 minutes"),
        ("operation id, tool name", f"{intake.NAME_LIMIT_CHARS} characters", "refused"),
        ("session id", f"{SESSION_ID_LIMIT} characters", "refused"),
        ("project name", f"{MAX_NAME} characters", "refused"),
        ("reason, evidence of a verdict", f"{relations.NOTE_LIMIT_CHARS:,} characters", "refused"),
        ("reasoning of `mem_compare`", f"{relations.REASONING_LIMIT_CHARS} characters", "refused"),
        (
            "query",
            f"{MAX_QUERY_CHARS:,} characters, {MAX_WORDS} words",
            "the beginning and its most specific words are used, with a note",
        ),
        ("search results", f"1 to {search.MOST}", "clamped, with a note"),
        ("timeline, each side", f"0 to {reading.TIMELINE_MOST}", "clamped, with a note"),
        ("context", f"{context.LEAST_BYTES} to {context.MOST_BYTES:,} bytes", "clamped, with a note"),
        ("context, default", f"{context.DEFAULT_BYTES:,} bytes", ""),
        *(
            (
                f"context, mode `{mode}`",
                f"{least:,} to {most:,} tokens of 4 bytes, default {default:,}",
                "clamped",
            )
            for mode, (default, least, most) in context.TOKENS.items()
            if mode != "session"
        ),
        ("overrides in a context", f"{providers.MOST_OVERRIDES}", "the oldest are shown"),
        (
            "time that a context is cached",
            f"{context.KEPT_FOR.seconds} s",
            "unless something was written",
        ),
        ("due reviews in a list", f"1 to {reading.REVIEW_MOST}", "clamped"),
        ("prompts in a list", f"1 to {PROMPTS_MOST}", "clamped"),
        ("sessions in a list", f"1 to {sessions.SESSIONS_MOST}", "clamped"),
        ("pending relations in a list", f"1 to {relations.PENDING_MOST}", "clamped"),
        ("versions on a page", f"{reading.HISTORY_PAGE}", "the answer names the next page"),
        ("question of `engram eval`", f"{evaluation.QUESTION_LIMIT_CHARS:,} characters", "refused"),
        ("index that a hard delete cleans at once", f"{MERGED_AT_ONCE:,} rows", "`engram reindex` does it"),
        (
            "time of a hook",
            ", ".join(f"{_events(limit)} {limit / 1000:g} s" for limit in sorted(set(entry.LIMITS_MS.values()))),
            "empty answer, exit code 0, a line in `hooks.log`",
        ),
        ("input of a hook", f"{hook_request.MOST_INPUT_BYTES // 1024**2} MB", "empty answer, logged"),
        ("context of a subagent", f"{hook_handlers.SUBAGENT_TOKENS} tokens", "cut"),
        ("memories of a file before an edit", f"{session.FILE_BYTES} bytes", "cut"),
        (
            "transcript seen for the first time",
            f"the last {transcripts.FIRST_SIGHT_BYTES // 1024**2} MB",
            "earlier messages are not read",
        ),
        ("transcript read by one hook", f"{transcripts.MOST_AT_ONCE // 1024**2} MB", "the next hook continues"),
        ("turn of a transcript", f"{TURN_LIMIT_CHARS:,} characters", "cut"),
        (
            "push to `engram cloud serve`",
            f"{incoming.MOST_ENTRIES} entries, {DEFAULTS['cloud_max_push_bytes'] // 1024**2} MB",
            "413, nothing is taken",
        ),
        ("row that is pushed", f"{PAYLOAD_LIMIT_BYTES:,} bytes of JSON", "refused; the others are taken"),
        (
            "page of a pull",
            f"{chunks.MOST_PULLED:,} rows, about {chunks.PAGE_BYTES // 1024**2} MB",
            "the next page continues",
        ),
        (
            "requests at once",
            f"{gate.MOST_REQUESTS}, of one account {gate.MOST_REQUESTS_EACH}",
            "429, `Retry-After: 1`",
        ),
        ("chunk of `engram sync`", f"{chunk.CHUNK_BYTES // 1024**2} MB before it is packed", "another chunk"),
        (
            "chunk that is read",
            f"{chunk.MOST_PACKED_BYTES // 1024**2} MB, {chunk.MOST_PLAIN_BYTES // 1024**2} MB unpacked, "
            f"{chunk.MOST_VALUES:,} values",
            "refused; the others are read",
        ),
        (
            "batch sent to a server",
            f"{push.MOST_ROWS} rows, about {push.MOST_BYTES // 1024**2} MB",
            "the next batch; a server that takes less gets halves",
        ),
        ("answer of a server", f"{client.MOST_BYTES // 1024**2} MB unpacked", "asked for in smaller pages"),
        ("wait between tries of a server", f"{schedule.LONGEST_SECONDS / 60:.0f} minutes", ""),
        ("turns kept", f"{transcripts.MOST_TURNS:,}", "the oldest are dropped"),
        ("injections, citations kept", f"{citations.MOST_KEPT:,} each", "the oldest are dropped"),
        (
            "answers not yet counted for `engram cost`",
            f"{ledger.LONGEST_WAIT_SECONDS:g} s or {ledger.MOST_WAITING} answers",
            "a killed process loses these",
        ),
        ("counters of `engram cost` kept", f"{ledger.MOST_ROWS:,} rows", "the oldest are dropped"),
        ("days of `engram cost`", f"1 to {costs.MOST_DAYS:,}", "clamped"),
        ("prompts in the spool", f"{spooling.MOST_FILES:,}", "dropped, logged"),
        ("`hooks.log`", f"{hook_log.MOST_BYTES // 1024} KB", "the older half is dropped"),
        ("review date", reviews, "other types have none"),
        ("`.engram.json`", f"{MAX_SIZE // 1024} KB", "ignored, with a note"),
        ("wait for another process's write", f"{LOCK_TIMEOUT_SECONDS:.0f} s", "`store_busy`"),
    ]
