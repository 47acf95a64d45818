"""Tools that take over conversations and search them. The profile ``layers`` offers them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.mcp.argument_types import KINDS, Field
from engram_py.interfaces.mcp.tool_registry import READS, SETTLES, tool
from engram_py.interfaces.mcp.tools_memory import Project

# As in tools_memory: what only a call needs is imported by the call.
if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.distill.ingesting import Ingested
    from engram_py.recall.layers import Found, Layered

SCOPES = ("pinned", "episodes", "transcript")


class Turns(list[Any]):
    """A list of turns, or the JSON text of one, as some hosts send it."""


def _turns(name: str, value: object) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, list):
        raise InvalidArgumentError(name, value, expected="a list of {user, assistant} or {role, content}")
    return value


KINDS[Turns] = ({"type": "array", "items": {"type": "object"}}, _turns)


@tool(title="Take over a conversation", hints=SETTLES)
def mem_ingest(
    app: Engram,
    conversation_id: Annotated[str, Field(description="The same again replaces it.")],
    turns: Annotated[Turns, Field(description="{user, assistant} or {role, content} each.")],
    agent_id: Annotated[str | None, Field(description="Whose it is; default: you.")] = None,
    session_date: Annotated[str | None, Field(description="When it took place.")] = None,
    skip_extraction: Annotated[bool, Field(description="Keep the turns alone.")] = False,
    flush: Annotated[bool | None, Field(description="Wait for the summary.")] = None,
    project: Project = None,
) -> Ingested:
    """Keep a whole conversation that took place elsewhere, word for word, and its summary."""
    return app.ingest(
        conversation_id,
        turns,
        agent_id=agent_id,
        session_date=session_date,
        skip_extraction=skip_extraction,
        flush=flush,
        project=project,
    )


@tool(title="Search a layer of memory", hints=READS)
def search_memory(
    app: Engram,
    scope: Annotated[str, Field(enum=SCOPES)],
    query: str,
    limit: int | None = None,
    project: Project = None,
) -> Found | Layered:
    """Find memories (pinned), summaries of sessions (episodes), or what was said word for word (transcript)."""
    if scope not in SCOPES:
        raise InvalidArgumentError("scope", scope, expected=f"one of {', '.join(SCOPES)}")
    return app.search_in(scope, query, limit=limit, project=project)
