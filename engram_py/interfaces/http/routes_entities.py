"""Routes of entities and facts, of what is known of the person, and of the vault."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from pydantic import Field

from engram_py.app import Engram
from engram_py.interfaces.http.answers import Answer, DeletedOut, shown
from engram_py.interfaces.http.parameters import InProject, InScope, InScopeOfSession, InSession
from engram_py.interfaces.http.routing import route
from engram_py.interfaces.operations import (
    ADD_FACT,
    ADD_NOTE,
    ADD_STATEMENT,
    ALIAS_ENTITY,
    ARCHIVE_ENTITY,
    ENTITY_GRAPH,
    IMPORT_VAULT,
    LINK_ENTITIES,
    LIST_ENTITIES,
    LIST_FACTS,
    LIST_FILES,
    LIST_NOTES,
    LIST_STATEMENTS,
    MERGE_ENTITIES,
    READ_FILE,
    REMOVE_STATEMENT,
    SHOW_ENTITY,
    SHOW_PROFILE,
    WRITE_FILE,
    WRITE_PROFILE,
)
from engram_py.memory.entities.values import EntityChanged, EntityDetail, EntityLine, EntityList, Graph, Linked
from engram_py.memory.identity.table import Profile, Statement
from engram_py.memory.observations.listing import Fact, Note
from engram_py.memory.observations.values import RelationNote, Saved
from engram_py.sharing.vault.values import FileText, FileWritten, MemoryPath, VaultExported, VaultImported, VaultStatus

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


@route("GET", "/entities", EntitiesOut, errors=(409,), of=LIST_ENTITIES)
def list_entities(app: Engram, place: InScope, **given: Any) -> object:
    """The entities of a project, by slug."""
    return LIST_ENTITIES(app, given | place.where)


@route("GET", "/entities/{entity}", EntityDetailOut, errors=(404, 409), of=SHOW_ENTITY)
def show_entity(app: Engram, place: InScope, **given: Any) -> object:
    """One entity: its summary, facts, edges, and what mentions it."""
    return SHOW_ENTITY(app, given | place.where)


@route("GET", "/entities/{entity}/graph", Graph, errors=(404, 409), of=ENTITY_GRAPH)
def entity_graph(app: Engram, place: InScope, **given: Any) -> object:
    """The entities connected to one, the nearest first."""
    return ENTITY_GRAPH(app, given | place.where)


@route("POST", "/entities/{entity}/links", Linked, status=201, errors=(409,), of=LINK_ENTITIES)
def link_entity(app: Engram, place: InScopeOfSession, **given: Any) -> object:
    """Connect it with another; the fact that says so is kept too, and the edge lasts as long as the fact."""
    return LINK_ENTITIES(app, given | place.where)


@route("POST", "/entities/{entity}/aliases", EntityChanged, errors=(404, 409), of=ALIAS_ENTITY)
def alias_entity(app: Engram, place: InScopeOfSession, aliases: list[str] | None = None, **given: Any) -> object:
    """Give it more names; each of them finds it."""
    return ALIAS_ENTITY(app, given | place.where | {"aliases": aliases or []})


@route("POST", "/entities/{entity}/merge", EntityChanged, errors=(404, 409), of=MERGE_ENTITIES)
def merge_entity(app: Engram, place: InScopeOfSession, **given: Any) -> object:
    """Merge it into another one, which gets the names, facts and edges of both."""
    return MERGE_ENTITIES(app, given | place.where)


@route("POST", "/entities/{entity}/archive", EntityChanged, errors=(404, 409), of=ARCHIVE_ENTITY)
def archive_entity(app: Engram, place: InScopeOfSession, **given: Any) -> object:
    """Archive it, or restore it; its facts stay."""
    return ARCHIVE_ENTITY(app, given | place.where)


@route("POST", "/facts", FactSavedOut, status=201, errors=(409,), of=ADD_FACT)
def save_fact(
    app: Engram,
    place: InScopeOfSession,
    validate_: Annotated[bool | None, Field(description="false: keep any text.")] = None,
    **given: Any,
) -> object:
    """Keep a sentence about an entity. A new value replaces the old one; short or temporary ones are refused."""
    return ADD_FACT(app, given | place.where, checked=validate_ is not False)


@route("GET", "/facts", [Fact], errors=(409,), of=LIST_FACTS)
def list_facts(app: Engram, place: InScope, **given: Any) -> object:
    """The facts about an entity, the latest first."""
    return LIST_FACTS(app, given | place.where).items


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


@route("GET", "/identity", [Statement], errors=(409,), of=LIST_STATEMENTS)
def list_identity(app: Engram, place: InProject, scope: Scope = None, **given: Any) -> object:
    """The statements about the user: those for every project, then this project's."""
    return LIST_STATEMENTS(app, given | place.where | {"scope": scope}).items


@route("POST", "/identity", StatementSavedOut, status=201, errors=(409,), of=ADD_STATEMENT)
def add_identity(app: Engram, place: InSession, scope: Scope = None, **given: Any) -> object:
    """Keep a sentence that every context begins with; a repeated one is kept once."""
    return ADD_STATEMENT(app, given | place.where | {"scope": scope})


@route("DELETE", "/identity/{statement}", DeletedOut, errors=(404, 409), of=REMOVE_STATEMENT)
def remove_identity(app: Engram, place: InProject, scope: Scope = None, **given: Any) -> object:
    """Hide a statement, by its id or its text."""
    return DeletedOut(id=REMOVE_STATEMENT(app, given | place.where).id, status="deleted", hard_delete=False)


@route("GET", "/identity/profile", ProfileOut, errors=(409,), of=SHOW_PROFILE)
def read_profile(app: Engram, place: InProject, scope: Scope = None, **given: Any) -> object:
    """The user in a few lines, or with scope project how to work with them there."""
    return SHOW_PROFILE(app, given | place.where | {"scope": scope})


@route("PUT", "/identity/profile", StatementSavedOut, errors=(409,), of=WRITE_PROFILE)
def write_profile(app: Engram, place: InSession, scope: Scope = None, **given: Any) -> object:
    """Write the profile anew; upkeep does not change it then."""
    return WRITE_PROFILE(app, given | place.where | {"scope": scope})


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


@route("POST", "/notes", NoteSavedOut, status=201, errors=(409,), of=ADD_NOTE)
def save_note(app: Engram, place: InSession, **given: Any) -> object:
    """Append a note to today's."""
    return ADD_NOTE(app, given | place.where)


@route("GET", "/notes", [Note], errors=(409,), of=LIST_NOTES)
def list_notes(app: Engram, place: InProject, **given: Any) -> object:
    """The notes of a day, oldest first."""
    return LIST_NOTES(app, given | place.where).items


@route("GET", "/vault", VaultOut, errors=(404, 409))
def vault_status(app: Engram, place: InProject) -> object:
    """What is not imported from the vault yet, or not written to it. `edited`: by a person since the last export.
    `behind`: the memory changed since. `own`: files of the person."""
    return app.vault.status(**place.where)


@route("POST", "/vault/export", ExportedOut, errors=(404, 409))
def export_vault(app: Engram, place: InProject) -> object:
    """Write the memory into the vault."""
    return app.vault.export(**place.where)


@route("POST", "/vault/import", ImportedOut, errors=(404, 409), of=IMPORT_VAULT)
def import_vault(app: Engram, place: InProject, **given: Any) -> object:
    """Import what was edited in the vault."""
    return IMPORT_VAULT(app, given | place.where)


class MemoryOut(Answer):
    entities: list[EntityOut]  # type: ignore[valid-type]
    notes: list[str]
    counts: dict[str, int]


@route("GET", "/api/memory", MemoryOut, errors=(404, 409))
def memory_overview(app: Engram, place: InProject) -> object:
    """An overview for clients of the program Aurelius: entities, days with notes, and counts of each kind."""
    found = app.entities.listed(archived=True, **place.where)
    days = sorted((path[7:17] for path in app.vault.texts(**place.where) if path.startswith("memory/")), reverse=True)
    kinds = Counter("archived" if one.state == "archived" else one.kind or "unknown" for one in found.entities)
    entities = [EntityOut.of(one) for one in found.entities]
    return MemoryOut(entities=entities, notes=days, counts={**kinds, "notes": len(days)})


@route("GET", "/api/memory/{path}", MemoryPath, errors=(404, 409))
def memory_path(
    app: Engram, path: Annotated[str, Field(description="As in life/areas/people/alice/items.json.")], place: InProject
) -> object:
    """A file of the vault (JSON as a value) or the list of a folder, even without a vault."""
    return app.vault_files.at(path, **place.where)


@route("POST", "/memory/file", FileWrittenOut, status=201, errors=(409,), of=WRITE_FILE)
def write_file(app: Engram, place: InProject, **given: Any) -> object:
    """Write or append a Markdown, text or JSON file of the vault; none that is hidden."""
    return WRITE_FILE(app, given | place.where)


@route("GET", "/memory/file", FileOut, errors=(409,), of=LIST_FILES)
def read_file(
    app: Engram,
    place: InProject,
    path: Annotated[str | None, Field(description="Without it, the files are listed.")] = None,
    **given: Any,
) -> object:
    """Read a file of the vault, or list its files. A missing file has no text, and `near` names similar ones."""
    if path is None:
        return LIST_FILES(app, given | place.where)
    return READ_FILE(app, {"path": path} | place.where)
