"""Notes, and the vault and its files."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from engram_py.app import Engram
from engram_py.interfaces.http.request_project import CwdQuery
from engram_py.interfaces.http.routes_sessions import needed
from engram_py.interfaces.http.routing import Answer, Body, Time, operation


class NoteBody(Body):
    NEEDS: ClassVar = ("text",)

    text: str | None = None
    project: str | None = None
    session_id: str | None = None


class NotesQuery(CwdQuery):
    day: str | None = Field(default=None, description="2026-03-14, today (the default) or yesterday.")
    project: str | None = None


class NoteSavedOut(Answer):
    id: int
    outcome: str
    project: str
    warnings: list[str]


class NoteOut(Answer):
    id: int
    text: str
    said_at: Time


class VaultBody(Body):
    prune: bool | None = Field(default=None, description="Delete what is missing of an edited file.")
    dry_run: bool | None = None
    project: str | None = None


class VaultQuery(CwdQuery):
    project: str | None = None


class AppliedOut(Answer):
    path: str
    action: str
    outcome: str
    title: str
    id: int | None = None
    said: str


class ExportedOut(Answer):
    files: int
    written: list[str]
    removed: list[str]


class ImportedOut(Answer):
    applied: list[AppliedOut]
    dry_run: bool


class VaultOut(Answer):
    """`edited`: by a person since the last export. `behind`: the memory changed since. `own`: files of the person."""

    project: str
    files: int
    edited: list[str]
    behind: list[str]
    own: int


class FileBody(Body):
    NEEDS: ClassVar = ("path", "content")

    path: str | None = None
    content: str | None = None
    append: bool | None = None
    project: str | None = None


class FileQuery(CwdQuery):
    path: str | None = Field(default=None, description="Left out, the files are listed.")
    under: str = Field(default="", description="List this folder only.")
    project: str | None = None


class FileWrittenOut(Answer):
    path: str
    bytes: int
    applied: list[AppliedOut]


class FileOut(Answer):
    """A file, or with `files` the list. A missing file has no text, and `near` names similar ones."""

    path: str | None = None
    found: bool | None = None
    text: str | None = None
    near: list[str] | None = None
    files: list[str] | None = None


@operation("POST", "/notes", status=201, errors=(409,))
def save_note(app: Engram, query: CwdQuery, body: NoteBody) -> NoteSavedOut:
    """Append a note to today's."""
    saved = app.notes.add(needed("text", body.text), project=body.project or None, session_id=body.session_id)
    return NoteSavedOut.of(saved)


@operation("GET", "/notes", errors=(409,))
def list_notes(app: Engram, query: NotesQuery) -> list[NoteOut]:
    """The notes of a day, the first first."""
    return [NoteOut.of(one) for one in app.notes.of_day(query.day, project=query.project or None).items]


@operation("GET", "/vault", errors=(404, 409))
def vault_status(app: Engram, query: VaultQuery) -> VaultOut:
    """What of the vault is not taken in or not written yet."""
    return VaultOut.of(app.vault.status(project=query.project or None))


@operation("POST", "/vault/export", errors=(404, 409))
def export_vault(app: Engram, query: CwdQuery, body: VaultBody) -> ExportedOut:
    """Write the memory into the vault."""
    return ExportedOut.of(app.vault.export(project=body.project or None))


@operation("POST", "/vault/import", errors=(404, 409))
def import_vault(app: Engram, query: CwdQuery, body: VaultBody) -> ImportedOut:
    """Take in what was edited in the vault."""
    done = app.vault.take_in(prune=bool(body.prune), dry_run=bool(body.dry_run), project=body.project or None)
    return ImportedOut(applied=[AppliedOut.of(one) for one in done.applied], dry_run=done.dry_run)


@operation("POST", "/memory/file", status=201, errors=(409,))
def write_file(app: Engram, query: CwdQuery, body: FileBody) -> FileWrittenOut:
    """Write or append a file of the vault."""
    done = app.vault_files.write(
        needed("path", body.path),
        needed("content", body.content),
        append=bool(body.append),
        project=body.project or None,
    )
    return FileWrittenOut(path=done.path, bytes=done.bytes, applied=[AppliedOut.of(one) for one in done.applied])


@operation("GET", "/memory/file", errors=(409,))
def read_file(app: Engram, query: FileQuery) -> FileOut:
    """Read a file of the vault, or list its files."""
    project = query.project or None
    if query.path is None:
        return FileOut(files=list(app.vault_files.list(query.under, project=project).files))
    return FileOut.of(app.vault_files.read(query.path, project=project))
