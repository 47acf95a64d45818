"""Routes of the passes of upkeep, their runs, and what is used most."""

from __future__ import annotations

from engram_py.app import Engram
from engram_py.database.runs import Run
from engram_py.interfaces.http.answers import Time, shown
from engram_py.interfaces.http.parameters import InProject, Whole
from engram_py.interfaces.http.routing import operation
from engram_py.upkeep.values import Hot, HotReport, Maintained

MaintainedOut = shown(Maintained, "passes busy")
RunOut = shown(Run, "id name status detail counts ms tokens at", at=Time)
HotOut = shown(Hot, "id title kind access_count tier")
HotReportOut = shown(HotReport, "observations entities total", observations=[HotOut], entities=[HotOut])


@operation("POST", "/api/heartbeat", MaintainedOut)
def heartbeat(app: Engram) -> object:
    """Run the heartbeat: each step with its counts; one that fails does not stop the others."""
    return app.maintenance.run("heartbeat")


@operation("POST", "/maintain/{name}", MaintainedOut)
def maintain(app: Engram, name: str) -> object:
    """Run a pass of upkeep: heartbeat, consolidate or synthesize."""
    return app.maintenance.run(name)


@operation("GET", "/runs", [RunOut])
def list_runs(app: Engram, name: str | None = None, limit: Whole = None) -> object:
    """The latest runs of upkeep, newest first."""
    return app.upkeep_reports.runs(name=name or None, limit=limit or 20).runs


@operation("GET", "/hot", HotReportOut, errors=(409,))
def hot(app: Engram, place: InProject, limit: Whole = None) -> object:
    """The memories and the entities that are used most."""
    return app.upkeep_reports.hot(limit=limit or 10, **place.where)
