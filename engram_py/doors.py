"""Name an operation in the syntax of the door that the caller came in by: a command, a tool, a route or a method.

A tool is named only where the core profile offers it; elsewhere an agent is told the command, which is there for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Door = Literal["python", "cli", "mcp", "http"]

_DOORS: tuple[Door, ...] = ("python", "cli", "mcp", "http")

# operation → its name from Python, on the command line, as a tool and as a route
_SYNTAX: dict[str, tuple[str, str, str, str]] = {
    "get": ("get({id})", "`engram get {id}`", "mem_get_observation(id={id})", "GET /observations/{id}"),
    "open": (
        'documents.open("{source}")',
        "`engram get {source}`",
        "`engram get {source}`",
        "GET /documents/{source}",
    ),
    "history": (
        "get({id}, history=True)",
        "`engram history {id}`",
        "mem_get_observation(id={id}, include_history=true)",
        "GET /observations/{id}",
    ),
    "older": (
        "get({id}, history=True, cursor={cursor})",
        "`engram history {id} --cursor {cursor}`",
        "mem_get_observation(id={id}, include_history=true, history_cursor={cursor})",
        "GET /observations/{id}",
    ),
    "search": ("search()", "`engram search`", "mem_search", "GET /search"),
    "search for": (
        'search("{query}")',
        "`engram search '{query}'`",
        'mem_search("{query}")',
        "GET /search with q={query}",
    ),
    "everywhere": ("all_projects=True", "`--all`", "all_projects=true", "all_projects=true"),
    "save": ("save()", "`engram save`", "mem_save", "POST /observations"),
    "context": ("contexts.assemble()", "`engram context`", "mem_context", "GET /context"),
    "judge": ("relations.judge()", "`engram judge`", "mem_judge", "POST /conflicts/judge"),
    "unjudged": ("relations.pending()", "`engram judge`", "`engram judge`", "GET /conflicts?status=pending"),
    "deleted": ("bulk.listed(deleted=True)", *("`engram list --deleted`",) * 3),
    "undelete": ("undelete(ID)", *("`engram undelete ID`",) * 3),
    "destroy": ("hard=True", "`--hard`", "hard_delete=true", "hard=true"),
    "topic": ('topic_key="{key}"', "`--topic {key}`", "topic_key={key}", "topic_key={key}"),
    "project": ("project=NAME", "`--project NAME`", "project=NAME", "project=NAME"),
    "identity": ("identity.listed()", "`engram identity list`", "`engram identity list`", "GET /identity"),
    "checkpoints": ("checkpoints.listed()", *("`engram checkpoint list`",) * 2, "GET /checkpoints"),
    "profile": (
        "identity.write_profile()",
        *("`engram identity profile TEXT`",) * 2,
        "PUT /identity/profile",
    ),
    "sessions": ("sessions.recent()", "`engram sessions`", "`engram sessions`", "GET /sessions/recent"),
    "agents": ("agents(app.store)", "`engram agents`", "`engram agents`", "GET /agents"),
    "prompts": ("prompts.recent()", "`engram prompts`", "`engram prompts`", "GET /prompts/recent"),
    "vault init": ("vault.init(PATH)", *("`engram vault init PATH`",) * 3),
    "vault import": ("vault.take_in()", "`engram vault import`", "`engram vault import`", "POST /vault/import"),
    "vault export": ("vault.export()", "`engram vault export`", "`engram vault export`", "POST /vault/export"),
    "projects": ("projects.list()", "`engram projects`", "`engram projects`", "GET /projects"),
}

_door: ContextVar[Door] = ContextVar("door", default="python")


@contextmanager
def through(door: Door) -> Iterator[None]:
    """Name operations as ``door`` does, in this thread or task."""
    before = _door.set(door)
    try:
        yield
    finally:
        _door.reset(before)


def here() -> Door:
    """Return the door that the caller came in by; ``python`` where no other was named."""
    return _door.get()


def call(operation: str, **values: object) -> str:
    """Return the operation as this door spells it, with ``values`` in their places."""
    return _SYNTAX[operation][_DOORS.index(_door.get())].format(**values)
