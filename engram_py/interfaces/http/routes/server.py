"""Routes of the server itself: health, counts, diagnosis, and the description of all routes."""

from __future__ import annotations

from typing import Literal

from engram_py.app import Engram
from engram_py.interfaces.http.answers import Answer, shown
from engram_py.interfaces.http.parameters import Projects, selected
from engram_py.interfaces.http.routing import operation
from engram_py.observations.listing import Stats
from engram_py.upkeep.values import Check, Report
from engram_py.version import __version__

_SEVERITY = {"ok": "info", "warning": "warning", "error": "error"}


class Capabilities(Answer):
    """What Engram's plugins ask for before they use it: a session of another project beside one's own, one that goes
    on after its end, and finding the session of an agent's own id."""

    isolated_session_registration: bool = True
    root_session_resume: bool = True
    runtime_session_resolution: bool = True


class HealthOut(Answer):
    status: Literal["ok"]
    service: Literal["engram"]
    version: str
    instance_id: str
    capabilities: Capabilities = Capabilities()


CheckOut = shown(
    Check,
    "check_id result severity reason_code message evidence safe_next_step requires_confirmation",
    severity=str,
    reason_code=str,
    safe_next_step=str,
    requires_confirmation=bool,
)


DoctorOut = shown(Report, "status project summary checks", name="DoctorOut", project=str, checks=[CheckOut])
StatsOut = shown(Stats, "total_sessions total_observations total_prompts total_relations projects types database_bytes")


@operation("GET", "/health", HealthOut)
def health(app: Engram) -> object:
    """Whether the database answers, and which database it is."""
    return HealthOut(status="ok", service="engram", version=__version__, instance_id=app.browsing.instance())


@operation("GET", "/stats", StatsOut, errors=(404, 409))
def stats(app: Engram, projects: Projects) -> object:
    """Counts of what is kept."""
    where = selected(app, projects)
    return app.contexts.stats(None if where.all_projects else where.name)


@operation("GET", "/doctor", DoctorOut, errors=(404, 409))
def doctor(app: Engram, projects: Projects, check: str | None = None) -> object:
    """Diagnose the database; nothing is changed. `check` runs one alone. Engram's checks are among them."""
    where = selected(app, projects)
    report = app.doctor.examine(check=(check or "").strip() or None, engram=True)
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
    return DoctorOut.of(report, project=where.name, summary=report.summary | {"blocked": 0}, checks=checks)


@operation("GET", "/openapi.json")
def openapi(app: Engram) -> object:
    """This description."""
    from engram_py.interfaces.http.openapi import document

    return document()
