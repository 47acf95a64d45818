"""Projects, and what Engram's server says about them and about sync."""

from __future__ import annotations

from pydantic import Field

from engram_py.app import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.http.errors import UnsupportedScopeError
from engram_py.interfaces.http.request_project import CwdQuery, ProjectQuery, selected
from engram_py.interfaces.http.routing import Answer, Body, Needed, operation
from engram_py.projects.names import normalize_project

RESCUE_BODY = 8 * 1024


class RescueBody(Body):
    target_project: Needed
    confirmed: bool
    observation_ids: list[int] | None = None
    session_ids: list[str] | None = None
    prompt_ids: list[int] | None = None


class CurrentOut(Answer):
    project: str
    project_source: str
    project_path: str
    cwd: str
    available_projects: list[str]
    warning: str | None = None
    error_hint: str | None = None


class ProjectOut(Answer):
    name: str
    observations: int
    sessions: int
    prompts: int
    aliases: list[str]


class ProjectsOut(Answer):
    projects: list[ProjectOut]
    count: int


class SyncOut(Answer):
    enabled: bool
    message: str
    phase: str
    last_error: str
    consecutive_failures: int
    reason_code: str
    reason_message: str
    deferred_count: int
    dead_count: int
    upgrade: dict[str, str]
    backoff_until: str | None = None
    last_sync_at: str | None = None


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
    reconciliation_status: str = Field(default="nothing to reconcile: every record has an owner")


@operation("GET", "/project/current", CurrentOut)
def current_project(app: Engram, query: CwdQuery) -> object:
    """Which project a directory belongs to. Several candidates are no error: the body says so."""
    found = app.projects.current()
    return CurrentOut(
        project=found.project or "",
        project_source="process_override" if found.project_source == "override" else found.project_source,
        project_path=found.project_path,
        cwd=query.cwd or found.project_path,
        available_projects=list(found.candidates),
        warning="; ".join(found.warnings) or None,
        error_hint=found.hint,
    )


@operation("GET", "/projects", ProjectsOut)
def list_projects(app: Engram) -> object:
    """All projects with memory, the most recently active first."""
    lines = app.projects.list()
    return {"projects": lines, "count": len(lines)}


@operation("GET", "/sync/status", SyncOut, errors=(404, 409))
def sync_status(app: Engram, query: ProjectQuery) -> object:
    """How sync with a server is, in the background of this machine's servers."""
    if selected(app, query).all_projects:
        raise UnsupportedScopeError
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


def _rescue(app: Engram, body: RescueBody) -> RescueOut:
    observations, sessions, prompts = body.observation_ids or [], body.session_ids or [], body.prompt_ids or []
    blocked = app.browsing.unowned(body.target_project, observations=observations, sessions=sessions, prompts=prompts)
    if not body.confirmed:
        raise InvalidArgumentError("confirmed", body.confirmed, expected="true")
    chosen = len({*observations}) + len({*sessions}) + len({*prompts})
    return RescueOut(
        status="partially_rescued" if blocked else "rescued",
        complete=not blocked,
        blocked=[BlockedOut.of(one) for one in blocked],
        target_project=normalize_project(body.target_project),
        conflicting_records=len(blocked),
        skipped_records=chosen - len(blocked),
    )


@operation("POST", "/projects/rescue-ownership", RescueOut, most_body=RESCUE_BODY, guarded=True, errors=(503,))
def rescue_ownership(app: Engram, body: RescueBody) -> object:
    """Give records without an owner to a project. Here every record has one from its first moment, so nothing moves:
    the answer says of each selected record whether it is the target's."""
    return _rescue(app, body)


@operation("POST", "/projects/migrate", RescueOut, most_body=RESCUE_BODY, guarded=True, errors=(503,))
def migrate_project(app: Engram, body: RescueBody) -> object:
    """The older name of /projects/rescue-ownership."""
    return _rescue(app, body)
