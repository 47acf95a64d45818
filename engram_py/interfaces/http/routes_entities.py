"""Entities and what is known of them: names, edges, facts."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from engram_py.app import Engram
from engram_py.entities.values import (
    Edge,
    EntityChanged,
    EntityDetail,
    EntityLine,
    EntityList,
    Graph,
    Linked,
    Mention,
    Reached,
)
from engram_py.interfaces.http.request_project import CwdQuery, ScopeBody, ScopeQuery
from engram_py.interfaces.http.response_models import shown
from engram_py.interfaces.http.routing import MaybeTime, Needed, Path, operation
from engram_py.observations.listing import Fact
from engram_py.observations.values import RelationNote, Saved


class EntityPath(Path):
    entity: str = Field(description="Its name, an alias or its slug.")


class EntitiesQuery(ScopeQuery):
    candidates: bool = Field(default=False, description="Names that are mentioned too seldom as well.")
    archived: bool = Field(default=False, description="Those put away as well.")


class GraphQuery(ScopeQuery):
    depth: int = Field(default=2, description="Edges away, 1 to 4.")


class LinkBody(ScopeBody):
    predicate: Needed = Field(description="snake_case, as in works_at.")
    object: Needed
    fact: str | None = Field(default=None, description="The sentence that says so.")
    kind: str | None = None
    object_kind: str | None = None


class AliasBody(ScopeBody):
    aliases: list[str] = Field(default_factory=list)


class MergeBody(ScopeBody):
    into: Needed


class ArchiveBody(ScopeBody):
    restore: bool | None = None


class FactBody(ScopeBody):
    entity: Needed
    text: Needed
    validate_: bool | None = Field(default=None, alias="validate", description="false keeps it unchecked.")


class FactsQuery(ScopeQuery):
    entity: Needed = Field(description="Its name or slug.")
    past: bool = Field(default=False, description="Those that were replaced as well.")


EntityOut = shown(
    EntityLine,
    "slug name kind state id aliases facts mentions has_summary last_updated",
    name="EntityOut",
    has_summary=bool,
    last_updated=MaybeTime,
)
EntitiesOut = shown(EntityList, "entities without_summary project warnings", entities=[EntityOut], name="EntitiesOut")
EdgeOut = shown(Edge, "subject predicate object fact said")
EntityFactOut = shown(Fact, "id text said_at", name="EntityFactOut")
EntityDetailOut = shown(
    EntityDetail,
    "entity summary facts edges mentioned warnings",
    entity=EntityOut,
    facts=[EntityFactOut],
    edges=[EdgeOut],
    mentioned=[shown(Mention, "id type title created_at")],
)
ReachedOut = shown(Reached, "slug name depth path", path=[EdgeOut])
GraphOut = shown(Graph, "slug depth reached warnings", reached=[ReachedOut])
LinkedOut = shown(Linked, "edge outcome sync_id warnings", edge=EdgeOut)
EntityChangedOut = shown(
    EntityChanged,
    "slug id done aliases merged warnings",
    "`done` is aliases, merged, archived, restored or unchanged.",
)
FactOut = shown(Fact, "id about text said_at past")
FactSavedOut = shown(
    Saved,
    "id outcome about title project likeness replaced warnings",
    "`outcome` is added, deduped (an older fact says it, by `likeness`) or superseded (it replaces older ones).",
    name="FactSavedOut",
    replaced=[shown(RelationNote, "id title", name="ReplacedOut")],
)


@operation("GET", "/entities", EntitiesOut, errors=(409,))
def list_entities(app: Engram, query: EntitiesQuery) -> object:
    """The entities of a project, by slug."""
    return app.entities.listed(candidates=query.candidates, archived=query.archived, **query.where)


@operation("GET", "/entities/{entity}", EntityDetailOut, errors=(404, 409))
def show_entity(app: Engram, path: EntityPath, query: ScopeQuery) -> object:
    """One entity: its summary, facts, edges, and what mentions it."""
    return app.entities.show(path.entity, **query.where)


@operation("GET", "/entities/{entity}/graph", GraphOut, errors=(404, 409))
def entity_graph(app: Engram, path: EntityPath, query: GraphQuery) -> object:
    """What edges lead to from an entity, the nearest first."""
    return app.entities.graph(path.entity, depth=query.depth, **query.where)


@operation("POST", "/entities/{entity}/links", LinkedOut, status=201, errors=(409,))
def link_entity(app: Engram, path: EntityPath, query: CwdQuery, body: LinkBody) -> object:
    """Connect it with another; the fact that says so is kept as well, and while it holds the edge does."""
    kinds: dict[str, Any] = {"kind": body.kind, "object_kind": body.object_kind}
    return app.entities.link(path.entity, body.predicate, body.object, fact=body.fact, **kinds, **body.where)


@operation("POST", "/entities/{entity}/aliases", EntityChangedOut, errors=(404, 409))
def alias_entity(app: Engram, path: EntityPath, query: CwdQuery, body: AliasBody) -> object:
    """Give it other names, by which it is found as well."""
    return app.entities.alias(path.entity, body.aliases, **body.where)


@operation("POST", "/entities/{entity}/merge", EntityChangedOut, errors=(404, 409))
def merge_entity(app: Engram, path: EntityPath, query: CwdQuery, body: MergeBody) -> object:
    """Say that it is another one, which has the names, facts and edges of both."""
    return app.entities.merge(path.entity, body.into, **body.where)


@operation("POST", "/entities/{entity}/archive", EntityChangedOut, errors=(404, 409))
def archive_entity(app: Engram, path: EntityPath, query: CwdQuery, body: ArchiveBody) -> object:
    """Put it away, or bring it back; its facts stay."""
    return app.entities.archive(path.entity, restore=bool(body.restore), **body.where)


@operation("POST", "/facts", FactSavedOut, status=201, errors=(409,))
def save_fact(app: Engram, query: CwdQuery, body: FactBody) -> object:
    """Keep a sentence about an entity. A new value replaces the old one; too short or passing is refused."""
    return app.facts.add(body.entity, body.text, checked=body.validate_ is not False, **body.where)


@operation("GET", "/facts", [FactOut], errors=(409,))
def list_facts(app: Engram, query: FactsQuery) -> object:
    """The facts about an entity, latest change first."""
    return app.facts.of(query.entity, past=query.past, **query.where).items
