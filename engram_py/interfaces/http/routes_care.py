"""The memory as a whole: health, counts, diagnosis, export and import, and the description of these routes."""

from __future__ import annotations

from io import BytesIO
from typing import Any, Literal

from engram_py.app import Engram
from engram_py.interfaces.http.request_project import ProjectQuery, selected
from engram_py.interfaces.http.response_models import shown
from engram_py.interfaces.http.routing import Answer, operation
from engram_py.observations.listing import Stats
from engram_py.version import __version__

IMPORT_BODY = 50 * 1024 * 1024

_SEVERITY = {"ok": "info", "warning": "warning", "error": "error"}


class DoctorQuery(ProjectQuery):
    check: str | None = None


class HealthOut(Answer):
    status: Literal["ok"]
    service: Literal["engram"]
    version: str
    instance_id: str


class CheckOut(Answer):
    check_id: str
    result: str
    severity: str
    reason_code: str
    message: str
    evidence: dict[str, Any]
    safe_next_step: str
    requires_confirmation: bool


class SummaryOut(Answer):
    total: int
    ok: int
    warnings: int
    blocked: int
    errors: int


class DoctorOut(Answer):
    status: str
    project: str
    summary: SummaryOut
    checks: list[CheckOut]


class CountsOut(Answer):
    """`read` is the sum of the four after it; `reasons` says why rows were skipped or invalid."""

    read: int
    new: int
    newer: int
    skipped: int
    invalid: int
    reasons: dict[str, int]


class ImportedOut(Answer):
    """`skipped_stale` are observations that were here already, as new or newer."""

    sessions_imported: int
    observations_imported: int
    prompts_imported: int
    relations_imported: int
    skipped_stale: int
    version: str
    redacted: int
    counts: dict[str, CountsOut]
    warnings: list[str]


StatsOut = shown(Stats, "total_sessions total_observations total_prompts total_relations projects types database_bytes")


@operation("GET", "/health", HealthOut)
def health(app: Engram) -> object:
    """Whether the database answers, and which database it is."""
    return HealthOut(status="ok", service="engram", version=__version__, instance_id=app.browsing.instance())


@operation("GET", "/stats", StatsOut, errors=(404, 409))
def stats(app: Engram, query: ProjectQuery) -> object:
    """Counts of what is kept."""
    where = selected(app, query)
    return app.contexts.stats(None if where.all_projects else where.name)


@operation("GET", "/doctor", DoctorOut, errors=(404, 409))
def doctor(app: Engram, query: DoctorQuery) -> object:
    """Diagnose the database; nothing is changed. `check` runs one alone. Engram's checks are among them."""
    where = selected(app, query)
    report = app.doctor.examine(check=(query.check or "").strip() or None, engram=True)
    checks = [
        CheckOut.of(
            one,
            severity=_SEVERITY[one.result],
            reason_code=one.check_id if one.result != "ok" else "",
            safe_next_step=one.safe_next_step or "",
            requires_confirmation=one.fixable,
        )
        for one in report.checks
    ]
    summary = SummaryOut(**report.summary, blocked=0)
    return DoctorOut(status=report.status, project=where.name, summary=summary, checks=checks)


@operation(
    "GET",
    "/export",
    errors=(404, 409),
    headers={"Content-Disposition": "attachment; filename=engram-export.json"},
)
def export(app: Engram, query: ProjectQuery) -> object:
    """A project, or with `all_projects` everything, in Engram's export format 0.2.0."""
    where = selected(app, query)
    if where.all_projects:
        return app.transfer.document()
    return app.transfer.document(project=app.projects.existing(where.name))


@operation("POST", "/import", ImportedOut, most_body=IMPORT_BODY, raw=True)
def import_export(app: Engram, body: bytes) -> object:
    """Read an export of Engram (0.1.0, 0.2.0) or of this program: all of it or nothing. Twice changes nothing."""
    done = app.transfer.import_file(BytesIO(body))
    parts = {"sessions": done.sessions, "observations": done.observations, "prompts": done.prompts}
    parts["relations"] = done.relations
    rest = {"versions": done.versions, "tombstones": done.tombstones}
    taken = {f"{name}_imported": one.new + one.newer for name, one in parts.items()}
    return ImportedOut.of(done, **taken, skipped_stale=done.observations.skipped, counts=parts | rest)


@operation("GET", "/openapi.json")
def openapi(app: Engram) -> object:
    """This description."""
    from engram_py.interfaces.http.openapi import document

    return document()
