"""Notes, and the vault and its files."""

from __future__ import annotations

from pydantic import Field

from engram_py.app import Engram
from engram_py.interfaces.http.request_project import CwdQuery, PlaceBody, PlaceQuery, ProjectBody
from engram_py.interfaces.http.response_models import shown
from engram_py.interfaces.http.routing import Answer, Needed, operation
from engram_py.observations.listing import Note
from engram_py.observations.values import Saved
from engram_py.vault.values import Applied, Exported, FileWritten, Imported, VaultStatus


class NoteBody(PlaceBody):
    text: Needed


class NotesQuery(PlaceQuery):
    day: str | None = Field(default=None, description="2026-03-14, today (the default) or yesterday.")


class VaultBody(ProjectBody):
    prune: bool | None = Field(default=None, description="Delete what is missing of an edited file.")
    dry_run: bool | None = None


class FileBody(ProjectBody):
    path: Needed
    content: Needed
    append: bool | None = None


class FileQuery(PlaceQuery):
    path: str | None = Field(default=None, description="Left out, the files are listed.")
    under: str = Field(default="", description="List this folder only.")


NoteSavedOut = shown(Saved, "id outcome project warnings", name="NoteSavedOut")
NoteOut = shown(Note, "id text said_at")
AppliedOut = shown(Applied, "path action outcome title id said")
ExportedOut = shown(Exported, "files written removed", name="VaultExportedOut")
ImportedOut = shown(Imported, "applied dry_run", applied=[AppliedOut], name="VaultImportedOut")
VaultOut = shown(
    VaultStatus,
    "project files edited behind own",
    "`edited`: by a person since the last export. `behind`: the memory changed since. `own`: files of the person.",
    name="VaultOut",
)
FileWrittenOut = shown(FileWritten, "path bytes applied", applied=[AppliedOut])


class FileOut(Answer):
    """A file, or with `files` the list. A missing file has no text, and `near` names similar ones."""

    path: str | None = None
    found: bool | None = None
    text: str | None = None
    near: list[str] | None = None
    files: list[str] | None = None


@operation("POST", "/notes", NoteSavedOut, status=201, errors=(409,))
def save_note(app: Engram, query: CwdQuery, body: NoteBody) -> object:
    """Append a note to today's."""
    return app.notes.add(body.text, **body.where)


@operation("GET", "/notes", [NoteOut], errors=(409,))
def list_notes(app: Engram, query: NotesQuery) -> object:
    """The notes of a day, the first first."""
    return app.notes.of_day(query.day, **query.where).items


@operation("GET", "/vault", VaultOut, errors=(404, 409))
def vault_status(app: Engram, query: PlaceQuery) -> object:
    """What of the vault is not taken in or not written yet."""
    return app.vault.status(**query.where)


@operation("POST", "/vault/export", ExportedOut, errors=(404, 409))
def export_vault(app: Engram, query: CwdQuery, body: VaultBody) -> object:
    """Write the memory into the vault."""
    return app.vault.export(project=body.project)


@operation("POST", "/vault/import", ImportedOut, errors=(404, 409))
def import_vault(app: Engram, query: CwdQuery, body: VaultBody) -> object:
    """Take in what was edited in the vault."""
    return app.vault.take_in(prune=bool(body.prune), dry_run=bool(body.dry_run), project=body.project)


@operation("POST", "/memory/file", FileWrittenOut, status=201, errors=(409,))
def write_file(app: Engram, query: CwdQuery, body: FileBody) -> object:
    """Write or append a file of the vault."""
    return app.vault_files.write(body.path, body.content, append=bool(body.append), project=body.project)


@operation("GET", "/memory/file", FileOut, errors=(409,))
def read_file(app: Engram, query: FileQuery) -> object:
    """Read a file of the vault, or list its files."""
    if query.path is None:
        return app.vault_files.list(query.under, **query.where)
    return app.vault_files.read(query.path, **query.where)
