"""Routes of notes, and of the vault and its files."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engram_py.app import Engram
from engram_py.interfaces.http.answers import shown
from engram_py.interfaces.http.parameters import InProject, InSession, Needed
from engram_py.interfaces.http.routing import operation
from engram_py.observations.listing import Note
from engram_py.observations.values import Saved
from engram_py.vault.values import Exported, FileText, FileWritten, Imported, VaultStatus

NoteSavedOut = shown(Saved, "id outcome project warnings", name="NoteSavedOut")
ExportedOut = shown(Exported, "files written removed", name="VaultExportedOut")
ImportedOut = shown(Imported, "applied dry_run", name="VaultImportedOut")
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
    """The notes of a day, the first first."""
    return app.notes.of_day(day, **place.where).items


@operation("GET", "/vault", VaultOut, errors=(404, 409))
def vault_status(app: Engram, place: InProject) -> object:
    """What of the vault is not taken in or not written yet. `edited`: by a person since the last export. `behind`: the
    memory changed since. `own`: files of the person."""
    return app.vault.status(**place.where)


@operation("POST", "/vault/export", ExportedOut, errors=(404, 409))
def export_vault(app: Engram, place: InProject) -> object:
    """Write the memory into the vault."""
    return app.vault.export(**place.where)


@operation("POST", "/vault/import", ImportedOut, errors=(404, 409))
def import_vault(
    app: Engram,
    place: InProject,
    prune: Annotated[bool | None, Field(description="Delete what is missing of an edited file.")] = None,
    dry_run: bool | None = None,
) -> object:
    """Take in what was edited in the vault."""
    return app.vault.take_in(prune=bool(prune), dry_run=bool(dry_run), **place.where)


@operation("POST", "/memory/file", FileWrittenOut, status=201, errors=(409,))
def write_file(app: Engram, place: InProject, path: Needed, content: Needed, append: bool | None = None) -> object:
    """Write or append a Markdown, text or JSON file of the vault; none that is hidden."""
    return app.vault_files.write(path, content, append=bool(append), **place.where)


@operation("GET", "/memory/file", FileOut, errors=(409,))
def read_file(
    app: Engram,
    place: InProject,
    path: Annotated[str | None, Field(description="Left out, the files are listed.")] = None,
    under: Annotated[str, Field(description="List this folder only.")] = "",
) -> object:
    """Read a file of the vault, or list its files. A missing file has no text, and `near` names similar ones."""
    if path is None:
        return app.vault_files.list(under, **place.where)
    return app.vault_files.read(path, **place.where)
