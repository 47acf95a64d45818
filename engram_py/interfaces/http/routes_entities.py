"""Routes of entities and facts, of what is known of the person, and of the vault."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from pydantic import Field

from engram_py.app import Engram
from engram_py.interfaces.http.answers import Answer, DeletedOut, shown
from engram_py.interfaces.http.routing import InProject, InScope, InScopeOfSession, InSession, Needed, operation
from engram_py.memory.entities.values import EntityChanged, EntityDetail, EntityLine, EntityList, Graph, Linked
from engram_py.memory.identity.table import Profile, Statement
from engram_py.memory.observations.listing import Fact, Note
from engram_py.memory.observations.values import RelationNote, Saved
from engram_py.sharing.vault.values import FileText, FileWritten, MemoryPath, VaultExported, VaultImported, VaultStatus

Name = Annotated[str, Field(description="Its name, an alias or its slug.")]

EntityOut = shown(EntityLine, "slug name kind state id aliases facts mentions has_summary last_updated")
EntitiesOut = shown(EntityList, "entities without_summary project warnings", entities=[EntityOut])
EntityDetailOut = shown(
    EntityDetail,
    "entity summary facts edges mentioned warnings",
    entity=EntityOut,
    facts=[shown(Fact, "id text said_at category source source_ref", name="EntityFactOut")],
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
    candidates: Annotated[
        bool, Field(description="Also list names that are mentioned too seldom to have a page.")
    ] = False,
    archived: Annotated[bool, Field(description="Also list archived ones.")] = False,
    kind: Annotated[str | None, Field(description="Only this kind, as in person.")] = None,
) -> object:
    """The entities of a project, by slug."""
    return app.entities.listed(candidates=candidates, archived=archived, kind=kind, **place.where)


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
    """The entities connected to one, the nearest first."""
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
    """Connect it with another; the fact that says so is kept too, and the edge lasts as long as the fact."""
    return app.entities.link(entity, predicate, object, fact=fact, kind=kind, object_kind=object_kind, **place.where)


@operation("POST", "/entities/{entity}/aliases", EntityChanged, errors=(404, 409))
def alias_entity(app: Engram, entity: Name, place: InScopeOfSession, aliases: list[str] | None = None) -> object:
    """Give it more names; each of them finds it."""
    return app.entities.alias(entity, aliases or [], **place.where)


@operation("POST", "/entities/{entity}/merge", EntityChanged, errors=(404, 409))
def merge_entity(app: Engram, entity: Name, place: InScopeOfSession, into: Needed) -> object:
    """Merge it into another one, which gets the names, facts and edges of both."""
    return app.entities.merge(entity, into, **place.where)


@operation("POST", "/entities/{entity}/archive", EntityChanged, errors=(404, 409))
def archive_entity(app: Engram, entity: Name, place: InScopeOfSession, restore: bool | None = None) -> object:
    """Archive it, or restore it; its facts stay."""
    return app.entities.archive(entity, restore=bool(restore), **place.where)


@operation("POST", "/facts", FactSavedOut, status=201, errors=(409,))
def save_fact(
    app: Engram,
    place: InScopeOfSession,
    entity: Needed,
    text: Needed,
    validate_: Annotated[bool | None, Field(description="false: keep any text.")] = None,
    kind: Annotated[str | None, Field(description="What the entity is: person, service.")] = None,
    category: Annotated[str | None, Field(description="As in milestone, status, preference.")] = None,
    source: Annotated[str | None, Field(description="The source: meeting.")] = None,
    source_ref: Annotated[str | None, Field(description="The id of the source.")] = None,
    date: Annotated[str | None, Field(description="Since when it is true.")] = None,
) -> object:
    """Keep a sentence about an entity. A new value replaces the old one; short or temporary ones are refused."""
    return app.facts.add(
        entity,
        text,
        checked=validate_ is not False,
        kind=kind,
        category=category,
        source=source,
        source_ref=source_ref,
        date=date,
        **place.where,
    )


@operation("GET", "/facts", [Fact], errors=(409,))
def list_facts(
    app: Engram,
    place: InScope,
    entity: Annotated[Needed, Field(description="Its name or slug.")],
    past: Annotated[bool, Field(description="Also list replaced facts.")] = False,
) -> object:
    """The facts about an entity, the latest first."""
    return app.facts.of(entity, past=past, **place.where).items


# --- the person -----------------------------------------------------------------------------------------------

Scope = Annotated[
    str | None,
    Field(
        description="personal (every project, the default) or project.",
        json_schema_extra={"enum": ["", "personal", "project", None]},
    ),
]

StatementSavedOut = shown(Saved, "id outcome scope project warnings", name="StatementSavedOut")
ProfileOut = shown(Profile, "id text scope project origin written_at")


@operation("GET", "/identity", [Statement], errors=(409,))
def list_identity(app: Engram, place: InProject, scope: Scope = None) -> object:
    """The statements about the user: those for every project, then this project's."""
    return app.identity.listed(scope=scope, **place.where).items


@operation("POST", "/identity", StatementSavedOut, status=201, errors=(409,))
def add_identity(app: Engram, place: InSession, text: Needed, scope: Scope = None) -> object:
    """Keep a sentence that every context begins with; a repeated one is kept once."""
    return app.identity.add(text, scope=scope, **place.where)


@operation("DELETE", "/identity/{what}", DeletedOut, errors=(404, 409))
def remove_identity(
    app: Engram, what: Annotated[str, Field(description="Its id or its text.")], place: InProject, scope: Scope = None
) -> object:
    """Hide a statement, by its id or its text."""
    return DeletedOut(id=app.identity.remove(what, **place.where).id, status="deleted", hard_delete=False)


@operation("GET", "/identity/profile", ProfileOut, errors=(409,))
def read_profile(app: Engram, place: InProject, scope: Scope = None) -> object:
    """The user in a few lines, or with scope project how to work with them there."""
    return app.identity.profile(scope=scope, **place.where)


@operation("PUT", "/identity/profile", StatementSavedOut, errors=(409,))
def write_profile(app: Engram, place: InSession, text: Needed, scope: Scope = None) -> object:
    """Write the profile anew; upkeep does not change it then."""
    return app.identity.write_profile(text, scope=scope, **place.where)


# --- notes, and the vault -------------------------------------------------------------------------------------

NoteSavedOut = shown(Saved, "id outcome project warnings", name="NoteSavedOut")
ExportedOut = shown(VaultExported, "files written removed", name="VaultExportedOut")
ImportedOut = shown(VaultImported, "applied dry_run", name="VaultImportedOut")
VaultOut = shown(VaultStatus, "project files edited behind own")
FileWrittenOut = shown(FileWritten, "path bytes applied")
FileOut = shown(
    FileText,
    "path found text near files",
    name="FileOut",
    path=str | None,
    found=bool | None,
    text=str | None,
    near=list[str] | None,
    files=list[str] | None,
)


@operation("POST", "/notes", NoteSavedOut, status=201, errors=(409,))
def save_note(app: Engram, place: InSession, text: Needed) -> object:
    """Append a note to today's."""
    return app.notes.add(text, **place.where)


@operation("GET", "/notes", [Note], errors=(409,))
def list_notes(
    app: Engram,
    place: InProject,
    day: Annotated[str | None, Field(description="2026-03-14, today (the default) or yesterday.")] = None,
) -> object:
    """The notes of a day, oldest first."""
    return app.notes.of_day(day, **place.where).items


@operation("GET", "/vault", VaultOut, errors=(404, 409))
def vault_status(app: Engram, place: InProject) -> object:
    """What is not imported from the vault yet, or not written to it. `edited`: by a person since the last export.
    `behind`: the memory changed since. `own`: files of the person."""
    return app.vault.status(**place.where)


@operation("POST", "/vault/export", ExportedOut, errors=(404, 409))
def export_vault(app: Engram, place: InProject) -> object:
    """Write the memory into the vault."""
    return app.vault.export(**place.where)


@operation("POST", "/vault/import", ImportedOut, errors=(404, 409))
def import_vault(
    app: Engram,
    place: InProject,
    prune: Annotated[bool | None, Field(description="Delete memories whose bullet was removed.")] = None,
    dry_run: bool | None = None,
) -> object:
    """Import what was edited in the vault."""
    return app.vault.take_in(prune=bool(prune), dry_run=bool(dry_run), **place.where)


class MemoryOut(Answer):
    entities: list[EntityOut]  # type: ignore[valid-type]
    notes: list[str]
    counts: dict[str, int]


@operation("GET", "/api/memory", MemoryOut, errors=(404, 409))
def memory_overview(app: Engram, place: InProject) -> object:
    """An overview for clients of the program Aurelius: entities, days with notes, and counts of each kind."""
    found = app.entities.listed(archived=True, **place.where)
    days = sorted((path[7:17] for path in app.vault.texts(**place.where) if path.startswith("memory/")), reverse=True)
    kinds = Counter("archived" if one.state == "archived" else one.kind or "unknown" for one in found.entities)
    entities = [EntityOut.of(one) for one in found.entities]
    return MemoryOut(entities=entities, notes=days, counts={**kinds, "notes": len(days)})


@operation("GET", "/api/memory/{path}", MemoryPath, errors=(404, 409))
def memory_path(
    app: Engram, path: Annotated[str, Field(description="As in life/areas/people/alice/items.json.")], place: InProject
) -> object:
    """A file of the vault (JSON as a value) or the list of a folder, even without a vault."""
    return app.vault_files.at(path, **place.where)


@operation("POST", "/memory/file", FileWrittenOut, status=201, errors=(409,))
def write_file(app: Engram, place: InProject, path: Needed, content: Needed, append: bool | None = None) -> object:
    """Write or append a Markdown, text or JSON file of the vault; none that is hidden."""
    return app.vault_files.write(path, content, append=bool(append), **place.where)


@operation("GET", "/memory/file", FileOut, errors=(409,))
def read_file(
    app: Engram,
    place: InProject,
    path: Annotated[str | None, Field(description="Without it, the files are listed.")] = None,
    under: Annotated[str, Field(description="List only this folder.")] = "",
) -> object:
    """Read a file of the vault, or list its files. A missing file has no text, and `near` names similar ones."""
    if path is None:
        return app.vault_files.list(under, **place.where)
    return app.vault_files.read(path, **place.where)
