"""The tools about sessions, prompts, verdicts, reviews and projects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.mcp.tool_registry import DELETES, QUIET, READS, SETTLES, WRITES, Field, ObservationId, tool
from engram_py.interfaces.mcp.tools_memory import Project, SessionId
from engram_py.observations.listing import Listing
from engram_py.observations.values import Changed
from engram_py.relations.values import VERBS

# As in tools_memory: what only a call needs is imported by the call.
if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.observations.listing import Stats
    from engram_py.observations.values import Saved
    from engram_py.projects.values import CurrentProject, Merged
    from engram_py.relations.values import Relation
    from engram_py.sessions.values import CapturedLearnings, PromptSaved, SessionState
    from engram_py.upkeep.values import Report

Verb = Annotated[str, Field(enum=VERBS)]


@tool(title="Session summary", hints=WRITES)
def mem_session_summary(
    app: Engram,
    content: Annotated[
        str, Field(description="## Goal, Instructions, Discoveries, Accomplished, Next Steps, Relevant Files.")
    ],
    session_id: SessionId = None,
    project: Project = None,
) -> Saved:
    """Leave the next session what it needs to go on. Call it before you finish and after a compaction."""
    return app.episodes.summarize(content, project=project, session_id=session_id)


@tool(title="Start a session", hints=SETTLES)
def mem_session_start(
    app: Engram,
    id: Annotated[str, Field(description="Any name of your own; the same one continues it.")],
    directory: Annotated[str | None, Field(description="Repository root, when it is not the current one.")] = None,
    project: Annotated[str | None, QUIET] = None,
) -> SessionState:
    """Register a session; later saves belong to it. An ended one is opened again."""
    return app.sessions.start(id, directory=directory, project=project)


@tool(title="End a session", hints=SETTLES)
def mem_session_end(app: Engram, id: str, summary: str | None = None) -> SessionState:
    """Close a session."""
    return app.sessions.end(id, summary=summary)


@tool(title="Save the prompt", hints=WRITES)
def mem_save_prompt(app: Engram, content: str, session_id: SessionId = None, project: Project = None) -> PromptSaved:
    """Keep what the user asked for."""
    return app.prompts.save(content, project=project, session_id=session_id)


@tool(title="Capture learnings", hints=WRITES)
def mem_capture_passive(
    app: Engram,
    content: Annotated[str, Field(description="Text with a ## Key Learnings list.")],
    session_id: SessionId = None,
    source: Annotated[str | None, Field(description="Where the text came from, e.g. subagent-stop.")] = None,
    project: Annotated[str | None, QUIET] = None,
) -> CapturedLearnings:
    """Keep each item of a text's Key Learnings section as an observation of its own."""
    return app.episodes.capture(content, session_id=session_id, source=source, project=project)


@tool(title="Judge a relation", hints=SETTLES)
def mem_judge(
    app: Engram,
    judgment_id: Annotated[str, Field(description="As mem_save gave it.")],
    relation: Annotated[Verb, Field(description="new ... old.")],
    reason: str | None = None,
    evidence: str | None = None,
    confidence: Annotated[float | None, Field(description="0 to 1; below 0.7 ask the user first.")] = None,
    session_id: Annotated[str | None, QUIET] = None,
) -> Relation:
    """Give the verdict mem_save asked for: how the new observation relates to the older one."""
    return app.relations.judge(
        judgment_id, relation, reason=reason, evidence=evidence, confidence=confidence, session_id=session_id
    )


@tool(title="Compare two memories", hints=SETTLES)
def mem_compare(
    app: Engram,
    memory_id_a: ObservationId,
    memory_id_b: ObservationId,
    relation: Annotated[Verb, Field(description="a ... b.")],
    confidence: Annotated[float, Field(description="0 to 1.")],
    reasoning: Annotated[str, Field(description="At most 200 characters.")],
    model: Annotated[str | None, Field(description="Which model judged.")] = None,
) -> Relation:
    """Record how observation a relates to observation b."""
    return app.relations.compare(
        memory_id_a, memory_id_b, relation, confidence=confidence, reasoning=reasoning, model=model
    )


@tool(title="Review stale memory", hints=SETTLES, aliases={"id": "observation_id"})
def mem_review(
    app: Engram,
    action: Annotated[str, Field(enum=("list", "mark_reviewed"))],
    project: Project = None,
    limit: Annotated[int, Field(description="Of list; most 100.")] = 10,  # observations/observations.py
    observation_id: Annotated[ObservationId | None, Field(description="Of mark_reviewed.")] = None,
) -> Listing | Changed:
    """List observations that are due for review or whose files changed, or confirm that one still holds."""
    if action == "list":
        return app.observations.due_for_review(project, limit=limit)
    if action != "mark_reviewed":
        raise InvalidArgumentError("action", action, expected="list or mark_reviewed")
    if observation_id is None:
        raise InvalidArgumentError("observation_id", None, expected="given with mark_reviewed")
    return app.observations.mark_reviewed(observation_id)


@tool(title="Current project", hints=READS)
def mem_current_project(app: Engram) -> CurrentProject:
    """Which project saves go to here, and why."""
    return app.projects.current()


@tool(title="List projects", hints=READS)
def mem_list_projects(app: Engram) -> Listing:
    """All projects with memory, the most recently active first."""
    return Listing("projects", app.projects.list())


@tool(title="Merge projects", hints=DELETES)
def mem_merge_projects(
    app: Engram,
    from_: Annotated[str, Field(description="Comma-separated names that are really one project.")],
    to: Annotated[str, Field(description="The name that stays.")],
) -> Merged:
    """Join project names that drifted apart; the old names go on working."""
    return app.merging.merge(from_.split(","), to)


@tool(title="Memory statistics", hints=READS)
def mem_stats(app: Engram, project: Annotated[str | None, Field(description="Default: all of them.")] = None) -> Stats:
    """Counts of what is kept."""
    return app.statistics.count(project)


@tool(title="Memory health", hints=READS)
def mem_doctor(
    app: Engram,
    project: Annotated[str | None, QUIET] = None,
    check: Annotated[str | None, Field(description="Only this one, e.g. search_index.")] = None,
) -> Report:
    """Diagnose the memory's database; changes nothing."""
    return app.doctor.examine(check=check)
