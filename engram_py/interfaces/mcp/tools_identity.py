"""The tools about the person and about an agent's own state. The profile ``layers`` offers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from engram_py.errors import EmptyFieldError, InvalidArgumentError
from engram_py.interfaces.mcp.argument_types import Field
from engram_py.interfaces.mcp.tool_registry import WRITES, tool
from engram_py.interfaces.mcp.tools_memory import Project, SessionId

# As in tools_memory: what only a call needs is imported by the call.
if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.checkpoints.values import Checkpoint, CheckpointLine
    from engram_py.identity.values import Profile
    from engram_py.observations.listing import Listing
    from engram_py.observations.values import Deleted, Saved


@tool(title="Who the user is", hints=WRITES, aliases={"content": "text"})
def mem_identity(
    app: Engram,
    action: Annotated[str, Field(description="list, add, remove or profile.")] = "list",
    text: Annotated[
        str | None, Field(description="add: one sentence; remove: it or its id; profile: the new one, else it is read.")
    ] = None,
    scope: Annotated[str | None, Field(description="personal (every project, the default) or project.")] = None,
    project: Project = None,
    session_id: SessionId = None,
) -> Saved | Listing | Deleted | Profile:
    """What holds of the user always ("answer in German"), which every context begins with, and their profile; with
    scope project how to work with them here. Add what they say once and for all."""
    chosen = action.strip().lower()
    where: dict[str, Any] = {"project": project, "session_id": session_id}
    if chosen == "list":
        return app.identity.listed(scope=scope, **where)
    if chosen == "profile":
        if text is None:
            return app.identity.profile(scope=scope, **where)
        return app.identity.write_profile(text, scope=scope, **where)
    if chosen not in ("add", "remove"):
        raise InvalidArgumentError("action", action, expected="list, add, remove or profile")
    if text is None:
        raise EmptyFieldError("text")
    return app.identity.remove(text, **where) if chosen == "remove" else app.identity.add(text, scope=scope, **where)


@tool(title="Checkpoint", hints=WRITES, aliases={"state": "content"})
def mem_checkpoint(
    app: Engram,
    action: Annotated[str, Field(description="save, load or list.")],
    content: Annotated[str | None, Field(description="save: your state, as text or JSON.")] = None,
    session: Annotated[str | None, Field(description="Default: save in this run, load the latest here.")] = None,
    project: Project = None,
) -> CheckpointLine | Checkpoint | Listing:
    """Keep your working state before a long step or a compaction, and get it back byte for byte. No search finds it."""
    # Not `session_id`, which hooks fill in with the session that calls: what is loaded is mostly of an earlier one.
    chosen = action.strip().lower()
    if chosen == "save":
        return app.checkpoints.save((content or "").encode(), session_id=session, project=project)
    if chosen == "load":
        return app.checkpoints.load(session_id=session, project=project)
    if chosen == "list":
        return app.checkpoints.listed(session_id=session, project=project)
    raise InvalidArgumentError("action", action, expected="save, load or list")
