"""Tools that take over conversations and search them. The profile ``layers`` offers them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.mcp.argument_types import Before, Field
from engram_py.interfaces.mcp.tool_registry import READS, SETTLES, tool
from engram_py.interfaces.mcp.tools_memory import Project

# As in tools_memory: what only a call needs is imported by the call.
if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.distill.ingesting import Ingested
    from engram_py.recall.layers import Found, Layered

SCOPES = ("pinned", "episodes", "transcript")


def _read(value: object) -> object:
    """Some hosts send a list as the JSON text of one."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("a list of {user, assistant} or {role, content}") from None


Turns = Annotated[list[dict[str, Any]], Before(_read), Field(description="{user, assistant} or {role, content} each.")]


@tool(title="Take over a conversation", hints=SETTLES)
def mem_ingest(
    app: Engram,
    conversation_id: Annotated[str, Field(description="The same again replaces it.")],
    turns: Turns,
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
    query: Annotated[str, Field(description="Words or a question.")],
    limit: Annotated[int | None, Field(description="Default 10.")] = None,
    project: Project = None,
) -> Found | Layered:
    """Find memories (pinned), summaries of sessions (episodes), or what was said word for word (transcript)."""
    if scope not in SCOPES:
        raise InvalidArgumentError("scope", scope, expected=f"one of {', '.join(SCOPES)}")
    return app.search_in(scope, query, limit=limit, project=project)
