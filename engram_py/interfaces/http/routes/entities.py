"""Routes of entities and what is known of them: names, edges, facts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engram_py.app import Engram
from engram_py.entities.values import EntityChanged, EntityDetail, EntityLine, EntityList, Graph, Linked
from engram_py.interfaces.http.answers import shown
from engram_py.interfaces.http.parameters import InScope, InScopeOfSession, Needed
from engram_py.interfaces.http.routing import operation
from engram_py.observations.listing import Fact
from engram_py.observations.values import RelationNote, Saved

Name = Annotated[str, Field(description="Its name, an alias or its slug.")]

EntityOut = shown(EntityLine, "slug name kind state id aliases facts mentions has_summary last_updated")
EntitiesOut = shown(EntityList, "entities without_summary project warnings", entities=[EntityOut])
EntityDetailOut = shown(
    EntityDetail,
    "entity summary facts edges mentioned warnings",
    entity=EntityOut,
    facts=[shown(Fact, "id text said_at", name="EntityFactOut")],
)
FactSavedOut = shown(
    Saved,
    "id outcome about title project likeness replaced warnings",
    name="FactSavedOut",
    replaced=[shown(RelationNote, "id title", name="ReplacedOut")],
)


@operation("GET", "/entities", EntitiesOut, errors=(409,))
def list_entities(
    app: Engram,
    place: InScope,
    candidates: Annotated[bool, Field(description="Names that are mentioned too seldom as well.")] = False,
    archived: Annotated[bool, Field(description="Those put away as well.")] = False,
) -> object:
    """The entities of a project, by slug."""
    return app.entities.listed(candidates=candidates, archived=archived, **place.where)


@operation("GET", "/entities/{entity}", EntityDetailOut, errors=(404, 409))
def show_entity(app: Engram, entity: Name, place: InScope) -> object:
    """One entity: its summary, facts, edges, and what mentions it."""
    return app.entities.show(entity, **place.where)


@operation("GET", "/entities/{entity}/graph", Graph, errors=(404, 409))
def entity_graph(
    app: Engram,
    entity: Name,
    place: InScope,
    depth: Annotated[int, Field(description="Edges away, 1 to 4.")] = 2,
) -> object:
    """What edges lead to from an entity, the nearest first."""
    return app.entities.graph(entity, depth=depth, **place.where)


@operation("POST", "/entities/{entity}/links", Linked, status=201, errors=(409,))
def link_entity(
    app: Engram,
    entity: Name,
    place: InScopeOfSession,
    predicate: Annotated[Needed, Field(description="snake_case, as in works_at.")],
    object: Needed,
    fact: Annotated[str | None, Field(description="The sentence that says so.")] = None,
    kind: str | None = None,
    object_kind: str | None = None,
) -> object:
    """Connect it with another; the fact that says so is kept as well, and while it holds the edge does."""
    return app.entities.link(entity, predicate, object, fact=fact, kind=kind, object_kind=object_kind, **place.where)


@operation("POST", "/entities/{entity}/aliases", EntityChanged, errors=(404, 409))
def alias_entity(app: Engram, entity: Name, place: InScopeOfSession, aliases: list[str] | None = None) -> object:
    """Give it other names, by which it is found as well."""
    return app.entities.alias(entity, aliases or [], **place.where)


@operation("POST", "/entities/{entity}/merge", EntityChanged, errors=(404, 409))
def merge_entity(app: Engram, entity: Name, place: InScopeOfSession, into: Needed) -> object:
    """Say that it is another one, which has the names, facts and edges of both."""
    return app.entities.merge(entity, into, **place.where)


@operation("POST", "/entities/{entity}/archive", EntityChanged, errors=(404, 409))
def archive_entity(app: Engram, entity: Name, place: InScopeOfSession, restore: bool | None = None) -> object:
    """Put it away, or bring it back; its facts stay."""
    return app.entities.archive(entity, restore=bool(restore), **place.where)


@operation("POST", "/facts", FactSavedOut, status=201, errors=(409,))
def save_fact(
    app: Engram,
    place: InScopeOfSession,
    entity: Needed,
    text: Needed,
    validate_: Annotated[bool | None, Field(description="false keeps it unchecked.")] = None,
) -> object:
    """Keep a sentence about an entity. A new value replaces the old one; too short or passing is refused."""
    return app.facts.add(entity, text, checked=validate_ is not False, **place.where)


@operation("GET", "/facts", [Fact], errors=(409,))
def list_facts(
    app: Engram,
    place: InScope,
    entity: Annotated[Needed, Field(description="Its name or slug.")],
    past: Annotated[bool, Field(description="Those that were replaced as well.")] = False,
) -> object:
    """The facts about an entity, latest change first."""
    return app.facts.of(entity, past=past, **place.where).items
