"""The passes of upkeep."""

from __future__ import annotations

from engram_py.app import Engram
from engram_py.interfaces.http.request_project import CwdQuery
from engram_py.interfaces.http.routing import Answer, Path, Time, Whole, operation
from engram_py.upkeep.values import Maintained


class PassPath(Path):
    name: str


class StepOut(Answer):
    name: str
    counts: dict[str, float]
    ms: int
    error: str


class PassOut(Answer):
    name: str
    status: str
    steps: list[StepOut]
    ms: int


class MaintainedOut(Answer):
    """`busy`: nothing was done, because another process is at it."""

    passes: list[PassOut]
    busy: bool


class RunsQuery(CwdQuery):
    name: str | None = None
    limit: Whole = None


class RunOut(Answer):
    id: int
    name: str
    status: str
    detail: str
    counts: dict[str, float]
    ms: int
    tokens: int
    at: Time


class HotQuery(CwdQuery):
    limit: Whole = None
    project: str | None = None


class HotOut(Answer):
    id: int
    title: str
    kind: str
    access_count: int
    tier: str


class HotReportOut(Answer):
    observations: list[HotOut]
    entities: list[HotOut]
    total: int


@operation("POST", "/api/heartbeat")
def heartbeat(app: Engram, query: CwdQuery) -> MaintainedOut:
    """Run the heartbeat: each step with its counts; one that fails does not stop the others."""
    return _told(app.maintenance.run("heartbeat"))


@operation("POST", "/maintain/{name}")
def maintain(app: Engram, path: PassPath, query: CwdQuery) -> MaintainedOut:
    """Run a pass of upkeep: heartbeat, consolidate or synthesize."""
    return _told(app.maintenance.run(path.name))


@operation("GET", "/runs")
def list_runs(app: Engram, query: RunsQuery) -> list[RunOut]:
    """The latest runs of upkeep, newest first."""
    return [RunOut.of(one) for one in app.upkeep_reports.runs(name=query.name or None, limit=query.limit or 20).runs]


@operation("GET", "/hot", errors=(409,))
def hot(app: Engram, query: HotQuery) -> HotReportOut:
    """The memories and the entities that are used most."""
    found = app.upkeep_reports.hot(limit=query.limit or 10, project=query.project or None)
    rows = [HotOut.of(one) for one in found.observations]
    return HotReportOut(observations=rows, entities=[HotOut.of(one) for one in found.entities], total=found.total)


def _told(done: Maintained) -> MaintainedOut:
    passes = [PassOut.of(one, steps=[StepOut.of(step) for step in one.steps]) for one in done.passes]
    return MaintainedOut(passes=passes, busy=done.busy)
