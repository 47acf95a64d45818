"""Routes of projects, of the server itself, of export and import, and of upkeep."""

from __future__ import annotations

from io import BytesIO
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from engram_py import __version__
from engram_py.app import Engram
from engram_py.base.database.runs import Run
from engram_py.base.errors import InvalidArgumentError
from engram_py.interfaces.http.answers import Answer, Time, in_words, shown, whole
from engram_py.interfaces.http.errors import HttpError
from engram_py.interfaces.http.parameters import InProject, Needed, ProjectsQuery, Whole, selected
from engram_py.interfaces.http.routing import route
from engram_py.interfaces.wording.reasons import spelled
from engram_py.memory.observations.listing import Stats
from engram_py.memory.projects.values import ProjectLine, normalize_project
from engram_py.sharing.interchange.results import Counts, Imported
from engram_py.sharing.sync.autosync.table import CloudStatus
from engram_py.upkeep.maintenance import PASSES
from engram_py.upkeep.values import Check, Hot, HotReport, Maintained, Report

RESCUE_BODY = 8 * 1024

ProjectOut = shown(ProjectLine, "name observations sessions prompts aliases", name="ProjectOut")
SyncOut = shown(
    CloudStatus,
    "enabled message phase last_error consecutive_failures reason_code reason_message deferred_count dead_count "
    "upgrade backoff_until last_sync_at",
    name="SyncOut",
    message=str,
    last_error=str,
    deferred_count=int,
    dead_count=int,
    upgrade=dict[str, str],
    backoff_until=str | None,
    last_sync_at=str | None,
)


class Rescue(BaseModel):
    target_project: Needed
    confirmed: bool
    observation_ids: list[int] = []
    session_ids: list[str] = []
    prompt_ids: list[int] = []


class CurrentOut(Answer):
    project: str
    project_source: str
    project_path: str
    cwd: str
    available_projects: list[str]
    warning: str | None = None
    error_hint: str | None = None


class BlockedOut(Answer):
    kind: str
    id: str
    reason: str
    owned_by: str


class RescueOut(Answer):
    status: str
    complete: bool
    blocked: list[BlockedOut]
    target_project: str
    rescued_observations: int = 0
    rescued_sessions: int = 0
    rescued_prompts: int = 0
    conflicting_records: int
    skipped_records: int
    journaled_local: bool = False
    reconciliation_status: str = "nothing to reconcile: every record has an owner"


@route("GET", "/project/current", CurrentOut)
def current_project(app: Engram, cwd: str | None = None) -> object:
    """Which project a directory belongs to. Several candidates are no error: the body says so."""
    found = app.projects.current()
    return CurrentOut(
        project=found.project or "",
        project_source="process_override" if found.project_source == "override" else found.project_source,
        project_path=found.project_path,
        cwd=cwd or found.project_path,
        available_projects=list(found.candidates),
        warning="; ".join(in_words(found.warnings)) or None,
        error_hint=spelled(found.hint, "http") if found.hint else None,
    )


class ProjectsOut(Answer):
    projects: list[ProjectOut]  # type: ignore[valid-type]
    count: int


@route("GET", "/projects", ProjectsOut)
def list_projects(app: Engram) -> object:
    """All projects with memory, the most recently active first."""
    lines = app.projects.list()
    return {"projects": lines, "count": len(lines)}


@route("GET", "/sync/status", SyncOut, errors=(404, 409))
def sync_status(app: Engram, projects: ProjectsQuery) -> object:
    """The state of background sync with a server."""
    if selected(app, projects).all_projects:
        raise HttpError(
            "all_projects is not supported for sync status",
            hint="leave it out, or name one project",
            code="unsupported_project_scope",
        )
    status = app.autosync.status()
    return SyncOut.of(
        status,
        message=f"syncs with {status.server}" if status.server else "background sync is not configured",
        phase=status.phase if status.server else "idle",
        last_error=status.reason_message,
        deferred_count=status.deferred,
        dead_count=status.dead,
        upgrade={"stage": "", "reason_code": "", "reason_message": ""},
        last_sync_at=status.last_success_at,
    )


class MergedOut(Answer):
    canonical: str
    sources_merged: list[str]
    observations_updated: int = 0
    sessions_updated: int = 0
    prompts_updated: int = 0
    warnings: list[str] | None = None


class MergeAsked(BaseModel):
    """Which projects become one; `confirmed` says that the caller asked the user."""

    from_: Annotated[list[Needed], Field(alias="from", min_length=1)]
    to: Needed
    confirmed: bool


@route("POST", "/projects/merge", MergedOut, most_body=RESCUE_BODY, errors=(404,))
def merge_projects(app: Engram, asked: MergeAsked) -> object:
    """Move all of some projects into another; the old names go on working."""
    if not asked.confirmed:
        raise InvalidArgumentError("confirmed", asked.confirmed, expected="true")
    target = normalize_project(asked.to)
    names = [name for name in asked.from_ if app.projects.existing(name) != target]
    if not names:
        return MergedOut(canonical=app.projects.existing(target), sources_merged=[])
    done = app.merging.merge(names, target)
    return MergedOut(
        canonical=done.into,
        sources_merged=list(done.merged),
        observations_updated=done.observations,
        sessions_updated=done.sessions,
        prompts_updated=done.prompts,
        warnings=in_words(done.warnings) or None,
    )


@route("POST", "/projects/rescue-ownership", RescueOut, most_body=RESCUE_BODY)
def rescue_ownership(app: Engram, rescue: Rescue) -> object:
    """For clients of the original Engram: here every record has an owner, so nothing moves. The answer says of each
    selected record whether it is the target's."""
    observations, sessions, prompts = rescue.observation_ids, rescue.session_ids, rescue.prompt_ids
    blocked = app.browsing.unowned(rescue.target_project, observations=observations, sessions=sessions, prompts=prompts)
    if not rescue.confirmed:
        raise InvalidArgumentError("confirmed", rescue.confirmed, expected="true")
    return RescueOut(
        status="partially_rescued" if blocked else "rescued",
        complete=not blocked,
        blocked=[BlockedOut.of(one) for one in blocked],
        target_project=normalize_project(rescue.target_project),
        conflicting_records=len(blocked),
        skipped_records=sum(len({*ids}) for ids in (observations, sessions, prompts)) - len(blocked),
    )


@route("POST", "/projects/migrate", RescueOut, most_body=RESCUE_BODY)
def migrate_project(app: Engram, rescue: Rescue) -> object:
    """The older name of /projects/rescue-ownership."""
    return rescue_ownership(app, rescue)


# --- the server itself ----------------------------------------------------------------------------------------

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


@route("GET", "/health", HealthOut)
def health(app: Engram) -> object:
    """Whether the database answers, and which database it is."""
    return HealthOut(status="ok", service="engram", version=__version__, instance_id=app.browsing.instance())


@route("GET", "/stats", StatsOut, errors=(404, 409))
def stats(app: Engram, projects: ProjectsQuery) -> object:
    """Counts of what is kept."""
    where = selected(app, projects)
    return app.statistics.count(None if where.all_projects else where.name)


@route("GET", "/doctor", DoctorOut, errors=(404, 409))
def doctor(app: Engram, projects: ProjectsQuery, check: str | None = None) -> object:
    """Diagnose the database; nothing is changed. `check` runs only one. The original Engram's checks are included."""
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


# --- export and import ----------------------------------------------------------------------------------------

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


@route("GET", "/export", errors=(404, 409), headers=_ATTACHED)
def export(app: Engram, projects: ProjectsQuery) -> object:
    """A project, or with `all_projects` everything, in Engram's export format 0.2.0."""
    where = selected(app, projects)
    if where.all_projects:
        return app.transfer.document()
    return app.transfer.document(project=app.projects.existing(where.name))


@route("POST", "/import", ImportedOut, most_body=IMPORT_BODY)
def import_export(app: Engram, raw: bytes) -> object:
    """Read an export of Engram (0.1.0, 0.2.0) or of this program: all of it or nothing. Importing it again
    changes nothing.
    `skipped_stale` are observations that were here already, as new or newer."""
    done = app.transfer.import_file(BytesIO(raw))
    counts = {kind: getattr(done, kind) for kind in (*_KINDS, "versions", "tombstones")}
    taken = {f"{kind}_imported": counts[kind].new + counts[kind].newer for kind in _KINDS}
    return ImportedOut.of(done, **taken, skipped_stale=done.observations.skipped, counts=counts)


# --- upkeep ---------------------------------------------------------------------------------------------------

MaintainedOut = shown(Maintained, "passes busy")
RunOut = shown(Run, "id name status detail counts ms tokens at", at=Time)
HotOut = shown(Hot, "id title kind access_count tier")
HotReportOut = shown(HotReport, "observations entities total", observations=[HotOut], entities=[HotOut])


@route("POST", "/api/heartbeat", MaintainedOut)
def heartbeat(app: Engram) -> object:
    """Run the upkeep pass `heartbeat`: each step with its counts; one that fails does not stop the others."""
    return app.maintenance.run("heartbeat")


@route("POST", "/maintain/{name}", MaintainedOut)
def maintain(app: Engram, name: Annotated[str, Field(json_schema_extra={"enum": ["distill", *PASSES]})]) -> object:
    """Run a pass of upkeep: distill, heartbeat, consolidate or synthesize."""
    return app.maintenance.run(name)


@route("GET", "/runs", [RunOut])
def list_runs(app: Engram, name: str | None = None, limit: Whole = None) -> object:
    """The latest runs of upkeep, newest first."""
    return app.upkeep_reports.runs(name=name or None, limit=limit or 20).runs


@route("GET", "/hot", HotReportOut, errors=(409,))
def hot(app: Engram, place: InProject, limit: Whole = None) -> object:
    """The memories and the entities that are used most."""
    return app.upkeep_reports.hot(limit=limit or 10, **place.where)
