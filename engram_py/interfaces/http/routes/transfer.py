"""Routes of export and import."""

from __future__ import annotations

from io import BytesIO

from engram_py.app import Engram
from engram_py.interchange.results import Counts, Imported
from engram_py.interfaces.http.answers import shown, whole
from engram_py.interfaces.http.parameters import Projects, selected
from engram_py.interfaces.http.routing import operation

IMPORT_BODY = 50 * 1024 * 1024
_ATTACHED = {"Content-Disposition": "attachment; filename=engram-export.json"}

_KINDS = ("sessions", "observations", "prompts", "relations")
ImportedOut = shown(
    Imported,
    "sessions_imported observations_imported prompts_imported relations_imported skipped_stale version redacted "
    "counts warnings",
    sessions_imported=int,
    observations_imported=int,
    prompts_imported=int,
    relations_imported=int,
    skipped_stale=int,
    counts=dict[str, whole(Counts)],  # type: ignore[misc]
)


@operation("GET", "/export", errors=(404, 409), headers=_ATTACHED)
def export(app: Engram, projects: Projects) -> object:
    """A project, or with `all_projects` everything, in Engram's export format 0.2.0."""
    where = selected(app, projects)
    if where.all_projects:
        return app.transfer.document()
    return app.transfer.document(project=app.projects.existing(where.name))


@operation("POST", "/import", ImportedOut, most_body=IMPORT_BODY)
def import_export(app: Engram, raw: bytes) -> object:
    """Read an export of Engram (0.1.0, 0.2.0) or of this program: all of it or nothing. Twice changes nothing.
    `skipped_stale` are observations that were here already, as new or newer."""
    done = app.transfer.import_file(BytesIO(raw))
    counts = {kind: getattr(done, kind) for kind in (*_KINDS, "versions", "tombstones")}
    taken = {f"{kind}_imported": counts[kind].new + counts[kind].newer for kind in _KINDS}
    return ImportedOut.of(done, **taken, skipped_stale=done.observations.skipped, counts=counts)
