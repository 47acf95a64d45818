"""Routes of projects, and of the sync that Engram's server reports for them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from engram_py.app import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.http.answers import Answer, shown
from engram_py.interfaces.http.errors import UnsupportedScopeError
from engram_py.interfaces.http.parameters import Needed, Projects, selected
from engram_py.interfaces.http.routing import operation
from engram_py.projects.names import normalize_project
from engram_py.projects.values import ProjectLine
from engram_py.sync.autosync.values import CloudStatus

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


@operation("GET", "/project/current", CurrentOut)
def current_project(app: Engram, cwd: str | None = None) -> object:
    """Which project a directory belongs to. Several candidates are no error: the body says so."""
    found = app.projects.current()
    return CurrentOut(
        project=found.project or "",
        project_source="process_override" if found.project_source == "override" else found.project_source,
        project_path=found.project_path,
        cwd=cwd or found.project_path,
        available_projects=list(found.candidates),
        warning="; ".join(found.warnings) or None,
        error_hint=found.hint,
    )


class ProjectsOut(Answer):
    projects: list[ProjectOut]  # type: ignore[valid-type]
    count: int


@operation("GET", "/projects", ProjectsOut)
def list_projects(app: Engram) -> object:
    """All projects with memory, the most recently active first."""
    lines = app.projects.list()
    return {"projects": lines, "count": len(lines)}


@operation("GET", "/sync/status", SyncOut, errors=(404, 409))
def sync_status(app: Engram, projects: Projects) -> object:
    """How sync with a server is, in the background of this machine's servers."""
    if selected(app, projects).all_projects:
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


@operation("POST", "/projects/merge", MergedOut, most_body=RESCUE_BODY, errors=(404,))
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
        warnings=list(done.warnings) or None,
    )


@operation("POST", "/projects/rescue-ownership", RescueOut, most_body=RESCUE_BODY)
def rescue_ownership(app: Engram, rescue: Rescue) -> object:
    """Give records without an owner to a project. Here every record has one from its first moment, so nothing moves:
    the answer says of each selected record whether it is the target's."""
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


@operation("POST", "/projects/migrate", RescueOut, most_body=RESCUE_BODY)
def migrate_project(app: Engram, rescue: Rescue) -> object:
    """The older name of /projects/rescue-ownership."""
    return rescue_ownership(app, rescue)
