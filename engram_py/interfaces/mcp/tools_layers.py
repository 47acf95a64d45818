"""The tools of the layers above observations: facts and entities. The profile ``layers`` offers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram_py.interfaces.mcp.argument_types import Field
from engram_py.interfaces.mcp.tool_registry import WRITES, tool
from engram_py.interfaces.mcp.tools_memory import Project, Scope, SessionId

# As in tools_memory: what only a call needs is imported by the call.
if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.observations.listing import Listing
    from engram_py.observations.values import Saved


@tool(title="Facts about an entity", hints=WRITES, aliases={"text": "fact"})
def mem_fact(
    app: Engram,
    entity: Annotated[str, Field(description="A person, service, library, repository.")],
    fact: Annotated[
        str | None, Field(description="One sentence that will hold; left out, the facts are listed.")
    ] = None,
    past: Annotated[bool, Field(description="List those that were replaced as well.")] = False,
    unchecked: Annotated[bool, Field(description="Keep it whatever it says.")] = False,
    scope: Scope = None,
    project: Project = None,
    session_id: SessionId = None,
) -> Saved | Listing:
    """Keep one fact about something with a name. A new value ("runs on", "works at", "version is") replaces the old
    one; what is said already, passing or vague is not kept."""
    if fact is None:
        return app.facts.of(entity, past=past, scope=scope, project=project, session_id=session_id)
    return app.facts.add(entity, fact, checked=not unchecked, scope=scope, project=project, session_id=session_id)
