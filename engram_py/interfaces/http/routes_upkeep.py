"""The passes of upkeep."""

from __future__ import annotations

from engram_py.app import Engram
from engram_py.database.runs import Run
from engram_py.interfaces.http.request_project import CwdQuery, PlaceQuery
from engram_py.interfaces.http.response_models import shown
from engram_py.interfaces.http.routing import Path, Time, Whole, operation
from engram_py.upkeep.values import Hot, HotReport, Maintained, PassDone, StepDone


class PassPath(Path):
    name: str


class RunsQuery(CwdQuery):
    name: str | None = None
    limit: Whole = None


class HotQuery(PlaceQuery):
    limit: Whole = None


StepOut = shown(StepDone, "name counts ms error", name="StepOut")
PassOut = shown(PassDone, "name status steps ms", steps=[StepOut], name="PassOut")
MaintainedOut = shown(
    Maintained, "passes busy", "`busy`: nothing was done, because another process is at it.", passes=[PassOut]
)
RunOut = shown(Run, "id name status detail counts ms tokens at", at=Time)
HotOut = shown(Hot, "id title kind access_count tier")
HotReportOut = shown(HotReport, "observations entities total", observations=[HotOut], entities=[HotOut])


@operation("POST", "/api/heartbeat", MaintainedOut)
def heartbeat(app: Engram, query: CwdQuery) -> object:
    """Run the heartbeat: each step with its counts; one that fails does not stop the others."""
    return app.maintenance.run("heartbeat")


@operation("POST", "/maintain/{name}", MaintainedOut)
def maintain(app: Engram, path: PassPath, query: CwdQuery) -> object:
    """Run a pass of upkeep: heartbeat, consolidate or synthesize."""
    return app.maintenance.run(path.name)


@operation("GET", "/runs", [RunOut])
def list_runs(app: Engram, query: RunsQuery) -> object:
    """The latest runs of upkeep, newest first."""
    return app.upkeep_reports.runs(name=query.name or None, limit=query.limit or 20).runs


@operation("GET", "/hot", HotReportOut, errors=(409,))
def hot(app: Engram, query: HotQuery) -> object:
    """The memories and the entities that are used most."""
    return app.upkeep_reports.hot(limit=query.limit or 10, project=query.project)
