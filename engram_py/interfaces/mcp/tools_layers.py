"""The tools of the layers above observations: entities, the person, an agent's state, conversations, facts, notes, the
files of a vault, upkeep. The profile ``layers`` offers them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from engram_py.errors import EmptyFieldError, InvalidArgumentError
from engram_py.interfaces.mcp.tool_registry import READS, SETTLES, WRITES, Before, Field, tool
from engram_py.interfaces.mcp.tools_memory import Project, Scope, SessionId

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.distill.ingesting import Ingested
    from engram_py.entities.values import EntityChanged, EntityDetail, EntityList, Graph, Linked
    from engram_py.identity.table import Profile
    from engram_py.observations.listing import Listing
    from engram_py.observations.values import Changed, Saved
    from engram_py.recall.layers import Layered, LayerResults
    from engram_py.sessions.values import Checkpoint, CheckpointLine
    from engram_py.upkeep.values import Maintained
    from engram_py.vault.values import FileList, FileText, FileWritten


# As in tools_memory: what only a call needs is imported by the call.

ACTIONS = ("list", "show", "graph", "link", "alias", "merge", "archive", "restore")


@tool(title="Entities", hints=WRITES)
def mem_entity(
    app: Engram,
    action: Annotated[str, Field(enum=ACTIONS)] = "list",
    entity: Annotated[str | None, Field(description="Its name or an alias; list needs none.")] = None,
    other: Annotated[
        str | None, Field(description="link: the object. alias: the other name. merge: the one that stays.")
    ] = None,
    predicate: Annotated[str | None, Field(description="link: snake_case, as in works_at, depends_on.")] = None,
    fact: Annotated[str | None, Field(description="link: the sentence that says so.")] = None,
    kind: Annotated[str | None, Field(description="link, list: person, service, library.")] = None,
    depth: Annotated[int, Field(description="graph: edges away, 1 to 4.")] = 2,
    candidates: Annotated[bool, Field(description="list: also names mentioned too seldom.")] = False,
    archived: Annotated[bool, Field(description="list: also those put away.")] = False,
    scope: Scope = None,
    project: Project = None,
    session_id: SessionId = None,
) -> EntityList | EntityDetail | Graph | Linked | EntityChanged:
    """People, services, libraries, modules that have a name here: list them, show one, walk its edges, connect two,
    give other names, join two that are one, put one away."""
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
) -> Saved | Listing | Changed | Profile:
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
) -> LayerResults | Layered:
    """Find memories (pinned), summaries of sessions (episodes), or what was said word for word (transcript)."""
    if scope not in SCOPES:
        raise InvalidArgumentError("scope", scope, expected=f"one of {', '.join(SCOPES)}")
    return app.search_in(scope, query, limit=limit, project=project)


@tool(title="Facts about an entity", hints=WRITES, aliases={"fact": "text"})
def mem_fact(
    app: Engram,
    entity: Annotated[str, Field(description="A person, service, library, repository.")],
    text: Annotated[
        str | None, Field(description="One sentence that will hold; left out, the facts are listed.")
    ] = None,
    kind: Annotated[str | None, Field(description="What it is: person, service.")] = None,
    category: Annotated[str | None, Field(description="milestone, status, preference, ...")] = None,
    source: Annotated[str | None, Field(description="Where it is from: meeting.")] = None,
    source_ref: Annotated[str | None, Field(description="Which one.")] = None,
    date: Annotated[str | None, Field(description="When it held first.")] = None,
    past: Annotated[bool, Field(description="List those that were replaced as well.")] = False,
    unchecked: Annotated[bool, Field(description="Keep it whatever it says.")] = False,
    scope: Scope = None,
    project: Project = None,
    session_id: SessionId = None,
) -> Saved | Listing:
    """Keep one fact about something with a name. A new value ("runs on", "works at", "version is") replaces the old
    one; what is said already, passing or vague is not kept."""
    where: dict[str, Any] = {"scope": scope, "project": project, "session_id": session_id}
    if text is None:
        return app.facts.of(entity, past=past, **where)
    return app.facts.add(
        entity,
        text,
        checked=not unchecked,
        kind=kind,
        category=category,
        source=source,
        source_ref=source_ref,
        date=date,
        **where,
    )


# As in tools_memory: what only a call needs is imported by the call.

PASSES = ("distill", "heartbeat", "consolidate", "synthesize")


@tool(title="Tend the memory", hints=SETTLES, aliases={"pass": "name"})
def mem_maintain(
    app: Engram,
    name: Annotated[str | None, Field(enum=PASSES, description="Left out: what is due.")] = None,
) -> Maintained:
    """Run a pass of upkeep now; servers do that by themselves."""
    return app.maintenance.run(name)


# As in tools_memory: what only a call needs is imported by the call.

Path = Annotated[str, Field(description="Relative to the vault: knowledge/databases.md.")]


@tool(title="Note of the day", hints=WRITES, aliases={"note": "text"})
def mem_note(
    app: Engram,
    text: Annotated[str | None, Field(description="Left out, the notes of the day are listed.")] = None,
    day: Annotated[str | None, Field(description="2026-03-14, today or yesterday.")] = None,
    project: Project = None,
    session_id: SessionId = None,
) -> Saved | Listing:
    """Append a note to today's: passing things that are no decision. Notes are never changed; the next session's start
    shows those of today and yesterday."""
    if text is None:
        return app.notes.of_day(day, project=project)
    return app.notes.add(text, project=project, session_id=session_id, origin="agent")


@tool(title="Write a file of the vault", hints=SETTLES)
def mem_write(
    app: Engram,
    path: Path,
    content: Annotated[str, Field(description="The whole text, or what to append.")],
    append: Annotated[bool, Field(description="Put it behind what is there.")] = False,
    project: Project = None,
) -> FileWritten:
    """Write or append a Markdown, text or JSON file of the person's vault, with the folders it needs."""
    return app.vault_files.write(path, content, append=append, project=project)


@tool(title="Read a file of the vault", hints=READS)
def mem_get(
    app: Engram,
    path: Annotated[str | None, Field(description="Left out, the files are listed.")] = None,
    under: Annotated[str, Field(description="List this folder only.")] = "",
    project: Project = None,
) -> FileText | FileList:
    """Read a file of the person's vault, or list its files."""
    if path is None:
        return app.vault_files.list(under, project=project)
    return app.vault_files.read(path, project=project)
