"""The tool of entities. The profile ``layers`` offers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram_py.errors import EmptyFieldError
from engram_py.interfaces.mcp.argument_types import Field
from engram_py.interfaces.mcp.tool_registry import WRITES, tool
from engram_py.interfaces.mcp.tools_memory import Project, Scope, SessionId

# As in tools_memory: what only a call needs is imported by the call.
if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.entities.values import EntityChanged, EntityDetail, EntityList, Graph, Linked

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
    kind: Annotated[str | None, Field(description="link: person, service, library.")] = None,
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
    if action == "list":
        return service.listed(
            candidates=candidates, archived=archived, scope=scope, project=project, session_id=session_id
        )
    name = _given("entity", entity)
    match action:
        case "graph":
            return service.graph(name, depth=depth, scope=scope, project=project, session_id=session_id)
        case "link":
            return service.link(
                name,
                _given("predicate", predicate),
                _given("other", other),
                fact=fact,
                kind=kind,
                scope=scope,
                project=project,
                session_id=session_id,
            )
        case "alias":
            return service.alias(name, (_given("other", other),), scope=scope, project=project, session_id=session_id)
        case "merge":
            return service.merge(name, _given("other", other), scope=scope, project=project, session_id=session_id)
        case "archive" | "restore":
            restore = action == "restore"
            return service.archive(name, restore=restore, scope=scope, project=project, session_id=session_id)
    return service.show(name, scope=scope, project=project, session_id=session_id)


def _given(name: str, value: str | None) -> str:
    if value is None or not value.strip():
        raise EmptyFieldError(name)
    return value
