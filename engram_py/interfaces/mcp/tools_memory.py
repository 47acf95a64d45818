"""The tools that keep and find observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from engram_py.interfaces.mcp.tool_registry import (
    DELETES,
    QUIET,
    READS,
    SETTLES,
    WRITES,
    Field,
    ObservationId,
    ObservationOrDocument,
    tool,
)
from engram_py.interfaces.operations import CONTEXT, SAVE, SEARCH, SUGGEST_TOPIC_KEY, TIMELINE, UPDATE

# The list of tools is answered before anything of the memory is imported: that is a tenth of a server's start.
if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.guidance.context.values import Context
    from engram_py.memory.observations.listing import Suggestion
    from engram_py.memory.observations.values import Changed, Detail, Saved, Timeline
    from engram_py.recall.documents.values import Opened, OpenedSeveral
    from engram_py.recall.layers import Layered, LayerResults

Project = Annotated[str | None, Field(description="Default: the current one.")]
SessionId = Annotated[str | None, Field(description="Default: this run of the server.")]
Scope = Annotated[str | None, Field(description="project, personal (yours, every project) or global.")]


@tool(title="Save memory", hints=WRITES, aliases={"observation": "content"}, of=SAVE)
def mem_save(app: Engram, capture_prompt: Annotated[bool, QUIET] = True, **given: Any) -> Saved:
    """Keep one decision, bug fix with its cause, pattern, gotcha or preference for later sessions. Call it right
    after each, unasked."""
    return SAVE(app, given)


@tool(title="Search memory", hints=READS, formats=("compact", "full", "json"), of=SEARCH)
def mem_search(app: Engram, **given: Any) -> LayerResults | Layered:
    """Find what earlier sessions learned, best match first. Call it before deciding, debugging or asking the user
    something they may have said."""
    return SEARCH(app, given)


@tool(
    title="Session context",
    hints=READS,
    nothing="The prompt needs no memory, or none is near enough; mem_search searches anyway.",
    of=CONTEXT,
)
def mem_context(app: Engram, **given: Any) -> Context:
    """What earlier sessions left: pinned, recent sessions, observations, prompts. Call it once at the start."""
    return CONTEXT(app, given)


@tool(title="Open a memory", hints=READS, aliases={"observation_id": "id"})
def mem_get_observation(
    app: Engram,
    id: ObservationOrDocument,
    include_history: Annotated[bool, Field(description="With earlier versions.")] = False,
    history_cursor: Annotated[int | None, Field(description="From the last answer.")] = None,
) -> Detail | Opened | OpenedSeveral:
    """The whole text of one observation."""
    return app.open(id, history=include_history, cursor=history_cursor)


@tool(title="Correct a memory", hints=WRITES, aliases={"observation_id": "id"}, of=UPDATE)
def mem_update(app: Engram, **given: Any) -> Changed:
    """Correct an observation that is wrong; its old text stays in its history."""
    return UPDATE(app, given)


@tool(title="Delete a memory", hints=DELETES, aliases={"observation_id": "id"})
def mem_delete(
    app: Engram,
    id: ObservationId,
    hard_delete: Annotated[bool, Field(description="Destroy it and its history.")] = False,
) -> Changed:
    """Hide an observation that is wrong."""
    return app.observations.delete(id, hard=hard_delete)


@tool(title="Timeline", hints=READS, aliases={"id": "observation_id"}, of=TIMELINE)
def mem_timeline(app: Engram, project: Annotated[str | None, QUIET] = None, **given: Any) -> Timeline:
    """What was saved before and after an observation in its session."""
    return TIMELINE(app, given)


@tool(title="Pin a memory", hints=SETTLES, aliases={"observation_id": "id"})
def mem_pin(app: Engram, id: ObservationId) -> Changed:
    """Keep an observation on top of every session's context."""
    return app.observations.pin(id)


@tool(title="Unpin a memory", hints=SETTLES, aliases={"observation_id": "id"})
def mem_unpin(app: Engram, id: ObservationId) -> Changed:
    """Stop keeping an observation on top of the context."""
    return app.observations.pin(id, pinned=False)


@tool(title="Suggest a topic key", hints=READS, of=SUGGEST_TOPIC_KEY)
def mem_suggest_topic_key(app: Engram, **given: Any) -> Suggestion:
    """A stable topic_key for something that will evolve, and what holds it already. Call it before mem_save."""
    return SUGGEST_TOPIC_KEY(app, given)
