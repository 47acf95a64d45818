"""Entities: what has a name, its other names, its edges."""

from __future__ import annotations

from pydantic import Field

from engram_py.app import Engram
from engram_py.interfaces.http.request_project import CwdQuery
from engram_py.interfaces.http.routes_sessions import needed
from engram_py.interfaces.http.routing import Answer, Body, Path, Time, operation


class EntityPath(Path):
    entity: str = Field(description="Its name, an alias or its slug.")


class EntityQuery(CwdQuery):
    scope: str | None = None
    project: str | None = None


class EntitiesQuery(EntityQuery):
    candidates: bool = Field(default=False, description="Names that are mentioned too seldom as well.")
    archived: bool = Field(default=False, description="Those put away as well.")


class GraphQuery(EntityQuery):
    depth: int = Field(default=2, description="Edges away, 1 to 4.")


class _Where(Body):
    scope: str | None = None
    project: str | None = None
    session_id: str | None = None


class LinkBody(_Where):
    NEEDS = ("predicate", "object")

    predicate: str | None = Field(default=None, description="snake_case, as in works_at.")
    object: str | None = None
    fact: str | None = Field(default=None, description="The sentence that says so.")
    kind: str | None = None
    object_kind: str | None = None


class AliasBody(_Where):
    aliases: list[str] = Field(default_factory=list)


class MergeBody(_Where):
    NEEDS = ("into",)

    into: str | None = None


class ArchiveBody(_Where):
    restore: bool | None = None


class EntityOut(Answer):
    slug: str
    name: str
    kind: str | None = None
    state: str
    id: int | None = None
    aliases: list[str]
    facts: int
    mentions: int
    has_summary: bool
    last_updated: Time | None = None


class EntitiesOut(Answer):
    entities: list[EntityOut]
    without_summary: int
    project: str
    warnings: list[str]


class EdgeOut(Answer):
    subject: str
    predicate: str
    object: str
    fact: int
    said: str


class EntityFactOut(Answer):
    id: int
    text: str
    said_at: Time


class MentionOut(Answer):
    id: int
    type: str
    title: str
    created_at: Time


class EntityDetailOut(Answer):
    entity: EntityOut
    summary: str
    facts: list[EntityFactOut]
    edges: list[EdgeOut]
    mentioned: list[MentionOut]
    warnings: list[str]


class ReachedOut(Answer):
    slug: str
    name: str
    depth: int
    path: list[EdgeOut]


class GraphOut(Answer):
    slug: str
    depth: int
    reached: list[ReachedOut]
    warnings: list[str]


class LinkedOut(Answer):
    edge: EdgeOut
    outcome: str
    sync_id: str
    warnings: list[str]


class EntityChangedOut(Answer):
    """`done` is aliases, merged, archived, restored or unchanged."""

    slug: str
    id: int
    done: str
    aliases: list[str]
    merged: str | None = None
    warnings: list[str]


@operation("GET", "/entities", errors=(409,))
def list_entities(app: Engram, query: EntitiesQuery) -> EntitiesOut:
    """The entities of a project, by slug."""
    found = app.entities.listed(
        candidates=query.candidates, archived=query.archived, scope=query.scope, project=query.project or None
    )
    return EntitiesOut.of(found, entities=[EntityOut.of(one) for one in found.entities])


@operation("GET", "/entities/{entity}", errors=(404, 409))
def show_entity(app: Engram, path: EntityPath, query: EntityQuery) -> EntityDetailOut:
    """One entity: its summary, facts, edges, and what mentions it."""
    found = app.entities.show(path.entity, scope=query.scope, project=query.project or None)
    return EntityDetailOut.of(
        found,
        entity=EntityOut.of(found.entity),
        facts=[EntityFactOut.of(one) for one in found.facts],
        edges=[EdgeOut.of(one) for one in found.edges],
        mentioned=[MentionOut.of(one) for one in found.mentioned],
    )


@operation("GET", "/entities/{entity}/graph", errors=(404, 409))
def entity_graph(app: Engram, path: EntityPath, query: GraphQuery) -> GraphOut:
    """What edges lead to from an entity, the nearest first."""
    found = app.entities.graph(path.entity, depth=query.depth, scope=query.scope, project=query.project or None)
    reached = [ReachedOut.of(one, path=[EdgeOut.of(edge) for edge in one.path]) for one in found.reached]
    return GraphOut.of(found, reached=reached)


@operation("POST", "/entities/{entity}/links", status=201, errors=(409,))
def link_entity(app: Engram, path: EntityPath, query: CwdQuery, body: LinkBody) -> LinkedOut:
    """Connect it with another; the fact that says so is kept as well, and while it holds the edge does."""
    done = app.entities.link(
        path.entity,
        needed("predicate", body.predicate),
        needed("object", body.object),
        fact=body.fact,
        kind=body.kind,
        object_kind=body.object_kind,
        scope=body.scope,
        project=body.project or None,
        session_id=body.session_id,
    )
    return LinkedOut.of(done, edge=EdgeOut.of(done.edge))


@operation("POST", "/entities/{entity}/aliases", errors=(404, 409))
def alias_entity(app: Engram, path: EntityPath, query: CwdQuery, body: AliasBody) -> EntityChangedOut:
    """Give it other names, by which it is found as well."""
    return EntityChangedOut.of(app.entities.alias(path.entity, body.aliases, **_where(body)))


@operation("POST", "/entities/{entity}/merge", errors=(404, 409))
def merge_entity(app: Engram, path: EntityPath, query: CwdQuery, body: MergeBody) -> EntityChangedOut:
    """Say that it is another one, which has the names, facts and edges of both."""
    return EntityChangedOut.of(app.entities.merge(path.entity, needed("into", body.into), **_where(body)))


@operation("POST", "/entities/{entity}/archive", errors=(404, 409))
def archive_entity(app: Engram, path: EntityPath, query: CwdQuery, body: ArchiveBody) -> EntityChangedOut:
    """Put it away, or bring it back; its facts stay."""
    return EntityChangedOut.of(app.entities.archive(path.entity, restore=bool(body.restore), **_where(body)))


def _where(body: _Where) -> dict[str, str | None]:
    return {"scope": body.scope, "project": body.project or None, "session_id": body.session_id}
