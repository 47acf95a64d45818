"""Spell an operation in the syntax of the interface that a reader came by: a command, a tool, a route or a method.

A tool is named only where the core profile offers it; elsewhere an agent is told the command, which is there for all.
"""

from __future__ import annotations

from typing import Literal

from engram_py.reasons import Operation, Reason, Sentence, Told, operation

Door = Literal["python", "cli", "mcp", "http"]

_OTHERS: tuple[Door, ...] = ("cli", "mcp", "http")

# operation → its name on the command line, as a tool and as a route
_SYNTAX: dict[str, tuple[str, str, str]] = {
    "get": ("`engram get {id}`", "mem_get_observation(id={id})", "GET /observations/{id}"),
    "open": ("`engram get {source}`", "`engram get {source}`", "GET /documents/{source}"),
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
    "unjudged": ("`engram judge`", "`engram judge`", "GET /conflicts?status=pending"),
    "deleted": ("`engram list --deleted`",) * 3,
    "undelete": ("`engram undelete ID`",) * 3,
    "destroy": ("`--hard`", "hard_delete=true", "hard=true"),
    "topic": ("`--topic {key}`", "topic_key={key}", "topic_key={key}"),
    "project": ("`--project NAME`", "project=NAME", "project=NAME"),
    "identity": ("`engram identity list`", "`engram identity list`", "GET /identity"),
    "checkpoints": ("`engram checkpoint list`", "`engram checkpoint list`", "GET /checkpoints"),
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
        from engram_py.interfaces.wording.reasons import words_of

        return spelled(words_of(said), door)
    if isinstance(said, Sentence):
        return "".join(spelled(part, door) for part in said.parts)
    if isinstance(said, str) or door == "python":
        return str(said)
    return _SYNTAX[said.name][_OTHERS.index(door)].format(**dict(said.values))
