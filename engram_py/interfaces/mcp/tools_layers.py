"""The tools of the layers above observations: entities, the person, an agent's state, conversations, facts, notes, the
files of a vault, upkeep (the profile ``layers`` offers them); and those about sessions, prompts, verdicts, reviews and
projects.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from engram_py.base.errors import EmptyFieldError, InvalidArgumentError
from engram_py.interfaces.mcp.tool_registry import (
    DELETES,
    QUIET,
    READS,
    REPLACES,
    SETTLES,
    WRITES,
    Before,
    Field,
    ObservationId,
    tool,
)
from engram_py.interfaces.mcp.tools_memory import Project, Scope, SessionId
from engram_py.interfaces.operations import (
    ADD_FACT,
    ADD_NOTE,
    CAPTURE,
    COMPARE,
    JUDGE,
    LIST_FACTS,
    LIST_FILES,
    LIST_NOTES,
    READ_FILE,
    SAVE_PROMPT,
    WRITE_FILE,
)
from engram_py.memory.observations.listing import Listing
from engram_py.memory.observations.values import Changed

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.memory.entities.values import EntityChanged, EntityDetail, EntityList, Graph, Linked
    from engram_py.memory.identity.table import Profile
    from engram_py.memory.observations.listing import Stats
    from engram_py.memory.observations.values import Saved
    from engram_py.memory.projects.values import CurrentProject, Merged
    from engram_py.memory.relations.values import Relation
    from engram_py.memory.sessions.values import (
        CapturedLearnings,
        Checkpoint,
        CheckpointLine,
        PromptSaved,
        SessionState,
    )
    from engram_py.recall.layers import Layered, LayerResults
    from engram_py.sharing.vault.values import FileList, FileText, FileWritten
    from engram_py.upkeep.distill.ingesting import Ingested
    from engram_py.upkeep.values import Maintained, Report


# As in tools_memory: what only a call needs is imported by the call.

ACTIONS = ("list", "show", "graph", "link", "alias", "merge", "archive", "restore")


@tool(title="Entities", hints=REPLACES)
def mem_entity(
    app: Engram,
    action: Annotated[str, Field(enum=ACTIONS)] = "list",
    entity: Annotated[str | None, Field(description="Its name or an alias; not for list.")] = None,
    other: Annotated[
        str | None, Field(description="link: the object. alias: the other name. merge: the one that stays.")
    ] = None,
    predicate: Annotated[str | None, Field(description="link: snake_case, as in works_at, depends_on.")] = None,
    fact: Annotated[str | None, Field(description="link: the sentence that says so.")] = None,
    kind: Annotated[str | None, Field(description="link, list: person, service, library.")] = None,
    depth: Annotated[int, Field(description="graph: edges away, 1 to 4.")] = 2,
    candidates: Annotated[bool, Field(description="list: include names mentioned too seldom.")] = False,
    archived: Annotated[bool, Field(description="list: include archived ones.")] = False,
    scope: Scope = None,
    project: Project = None,
    session_id: SessionId = None,
) -> EntityList | EntityDetail | Graph | Linked | EntityChanged:
    """People, services, libraries and modules: list them, show one, follow its edges, connect two, add an alias, merge
    two, archive one."""
    service = app.entities
    where: dict[str, Any] = {"scope": scope, "project": project, "session_id": session_id}
    if action == "list":
        return service.listed(candidates=candidates, archived=archived, kind=kind, **where)
    name = _given("entity", entity)
    match action:
        case "graph":
            return service.graph(name, depth=depth, **where)
        case "link":
            predicate, other = _given("predicate", predicate), _given("other", other)
            return service.link(name, predicate, other, fact=fact, kind=kind, **where)
        case "alias":
            return service.alias(name, (_given("other", other),), **where)
        case "merge":
            return service.merge(name, _given("other", other), **where)
        case "archive" | "restore":
            return service.archive(name, restore=action == "restore", **where)
    return service.show(name, **where)


def _given(name: str, value: str | None) -> str:
    if value is None or not value.strip():
        raise EmptyFieldError(name)
    return value


@tool(title="Who the user is", hints=REPLACES, aliases={"content": "text"})
def mem_identity(
    app: Engram,
    action: Annotated[str, Field(description="list, add, remove or profile.")] = "list",
    text: Annotated[
        str | None,
        Field(description="add: one sentence; remove: it or its id; profile: the new text; without it, read."),
    ] = None,
    scope: Annotated[str | None, Field(description="personal (every project, the default) or project.")] = None,
    project: Project = None,
    session_id: SessionId = None,
) -> Saved | Listing | Changed | Profile:
    """Keep what is always true of the user ("answer in German"), and their profile; every context begins with it. Scope
    project: how to work with them here."""
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
    session: Annotated[str | None, Field(description="Default: this run; for load, the latest here.")] = None,
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


SCOPES = ("pinned", "episodes", "transcript")


def _read(value: object) -> object:
    """Some hosts send a list as the JSON text of one, and a strict one every property that is listed, null or not."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError("a list of {user, assistant} or {role, content}") from None
    return list(map(_given_parts, value)) if isinstance(value, list) else value


def _given_parts(turn: object) -> object:
    return {name: one for name, one in turn.items() if one is not None} if isinstance(turn, dict) else turn


Turns = Annotated[
    list[dict[str, Any]],
    Before(_read),
    Field(description="{user, assistant} or {role, content} each.", texts=("user", "assistant", "role", "content")),
]


@tool(title="Take over a conversation", hints=DELETES)
def mem_ingest(
    app: Engram,
    conversation_id: Annotated[
        str,
        Field(
            description="Its unique name. Sent again: the same adds nothing, a longer one continues it, another one "
            "replaces it."
        ),
    ],
    turns: Turns,
    agent_id: Annotated[str | None, Field(description="Its agent; default: you.")] = None,
    session_date: Annotated[str | None, Field(description="When it took place.")] = None,
    skip_extraction: Annotated[bool, Field(description="Store only the messages, without a summary.")] = False,
    flush: Annotated[bool | None, Field(description="Wait for the summary.")] = None,
    project: Project = None,
) -> Ingested:
    """Keep a whole conversation from elsewhere, word for word, with a summary."""
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
) -> LayerResults | Layered:
    """Find memories (pinned), summaries of sessions (episodes), or what was said word for word (transcript)."""
    if scope not in SCOPES:
        raise InvalidArgumentError("scope", scope, expected=f"one of {', '.join(SCOPES)}")
    return app.search_in(scope, query, limit=limit, project=project)


@tool(title="Facts about an entity", hints=WRITES, aliases={"fact": "text"}, of=(ADD_FACT, LIST_FACTS))
def mem_fact(
    app: Engram, unchecked: Annotated[bool, Field(description="Keep any text.")] = False, **given: Any
) -> Saved | Listing:
    """Keep one fact about something with a name. A new value ("runs on", "works at", "version is") replaces the old
    one. Repeated, temporary or vague facts are not kept."""
    if given["text"] is None:
        return LIST_FACTS(app, given)
    return ADD_FACT(app, given, checked=not unchecked)


PASSES = ("distill", "heartbeat", "consolidate", "synthesize")


@tool(title="Tend the memory", hints=SETTLES, aliases={"pass": "name"})
def mem_maintain(
    app: Engram,
    name: Annotated[str | None, Field(enum=PASSES, description="Default: what is due.")] = None,
) -> Maintained:
    """Run upkeep now; servers do it by themselves."""
    return app.maintenance.run(name)


@tool(title="Note of the day", hints=WRITES, aliases={"note": "text"}, of=(ADD_NOTE, LIST_NOTES))
def mem_note(app: Engram, **given: Any) -> Saved | Listing:
    """Append a note to today's notes: passing things, not decisions. The next session's start shows the notes of today
    and yesterday."""
    if given["text"] is None:
        return LIST_NOTES(app, given)
    return ADD_NOTE(app, given, origin="agent")


@tool(title="Write a file of the vault", hints=REPLACES, of=WRITE_FILE)
def mem_write(app: Engram, **given: Any) -> FileWritten:
    """Write or append a Markdown, text or JSON file of the person's vault, with the folders it needs."""
    return WRITE_FILE(app, given)


@tool(title="Read a file of the vault", hints=READS, of=(READ_FILE, LIST_FILES))
def mem_get(app: Engram, **given: Any) -> FileText | FileList:
    """Read a file of the person's vault, or list its files."""
    return LIST_FILES(app, given) if given["path"] is None else READ_FILE(app, given)


@tool(title="Session summary", hints=WRITES)
def mem_session_summary(
    app: Engram,
    content: Annotated[
        str, Field(description="## Goal, Instructions, Discoveries, Accomplished, Next Steps, Relevant Files.")
    ],
    session_id: SessionId = None,
    project: Project = None,
) -> Saved:
    """Keep what the next session needs. Call it before you finish and after a compaction."""
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


@tool(title="Save the prompt", hints=WRITES, of=SAVE_PROMPT)
def mem_save_prompt(app: Engram, **given: Any) -> PromptSaved:
    """Keep what the user asked for."""
    return SAVE_PROMPT(app, given)


@tool(title="Capture learnings", hints=WRITES, of=CAPTURE)
def mem_capture_passive(app: Engram, **given: Any) -> CapturedLearnings:
    """Keep each item of a text's Key Learnings section as an observation of its own."""
    return CAPTURE(app, given)


@tool(title="Judge a relation", hints=SETTLES, of=JUDGE)
def mem_judge(app: Engram, **given: Any) -> Relation:
    """Give the verdict that mem_save asked for."""
    return JUDGE(app, given)


@tool(title="Compare two memories", hints=SETTLES, of=COMPARE)
def mem_compare(app: Engram, **given: Any) -> Relation:
    """Record how two observations relate."""
    return COMPARE(app, given)


@tool(title="Review stale memory", hints=SETTLES, aliases={"id": "observation_id"})
def mem_review(
    app: Engram,
    action: Annotated[str, Field(enum=("list", "mark_reviewed"))],
    project: Project = None,
    limit: Annotated[int, Field(description="For list; at most 100.")] = 10,  # observations/observations.py
    observation_id: Annotated[ObservationId | None, Field(description="For mark_reviewed.")] = None,
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
    """The project of this folder, and why."""
    return app.projects.current()


@tool(title="List projects", hints=READS)
def mem_list_projects(app: Engram) -> Listing:
    """All projects with memory, the most recently active first."""
    return Listing("projects", app.projects.list())


@tool(title="Merge projects", hints=DELETES)
def mem_merge_projects(
    app: Engram,
    from_: Annotated[str, Field(description="Comma-separated names of the same project.")],
    to: Annotated[str, Field(description="The name that stays.")],
) -> Merged:
    """Merge projects; the old names keep working."""
    return app.merging.merge(from_.split(","), to)


@tool(title="Memory statistics", hints=READS)
def mem_stats(app: Engram, project: Annotated[str | None, Field(description="Default: all.")] = None) -> Stats:
    """Counts of the memory's rows."""
    return app.statistics.count(project)


@tool(title="Memory health", hints=READS)
def mem_doctor(
    app: Engram,
    project: Annotated[str | None, QUIET] = None,
    check: Annotated[str | None, Field(description="Only this one, e.g. search_index.")] = None,
) -> Report:
    """Diagnose the memory's database; changes nothing."""
    return app.doctor.examine(check=check)
