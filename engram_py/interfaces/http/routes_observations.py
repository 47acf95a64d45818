"""Observations: saved, listed, read, corrected, pinned and deleted."""

from __future__ import annotations

from pydantic import Field

from engram_py.app import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.http.errors import ProjectMismatchError
from engram_py.interfaces.http.request_project import CwdQuery, PlaceBody, selected
from engram_py.interfaces.http.response_models import ObservationOut, shown
from engram_py.interfaces.http.response_notes import Notes, held
from engram_py.interfaces.http.routes_sessions import ListQuery
from engram_py.interfaces.http.routing import Answer, Body, Id, Needed, Path, Query, Switch, operation
from engram_py.observations.browse import MOST
from engram_py.observations.lookup import replacement
from engram_py.observations.values import Candidate, Change, Draft, Pinned, Saved
from engram_py.projects.errors import InvalidProjectError
from engram_py.projects.names import normalize_project
from engram_py.sessions.values import Captured

NEWEST_FIRST = "created_at:desc"


class ObservationPath(Path):
    id: Id


class RecentQuery(ListQuery):
    scope: str | None = Field(default=None, description="project, personal or global.")


class SortedQuery(RecentQuery):
    sort: str | None = Field(default=None, description=f"{NEWEST_FIRST}: those saved last; else those changed last.")


class OwnerQuery(Query):
    expected_project: str | None = Field(
        default=None, description="Refuse when the observation belongs to another project."
    )


class DeleteQuery(OwnerQuery):
    hard: Switch = Field(default=None, description="Destroy it and its history; otherwise it is hidden.")


class ObservationBody(PlaceBody):
    title: Needed
    content: Needed
    type: str | None = None
    tool_name: str | None = None
    scope: str | None = None
    topic_key: str | None = None
    operation_id: str | None = None
    aliases: list[str] | None = None
    files: list[str] | None = None


class UpdateBody(Body):
    title: str | None = None
    content: str | None = None
    type: str | None = None
    project: str | None = None
    scope: str | None = None
    topic_key: str | None = None
    find: str | None = None
    replace: str | None = None
    archived: bool | None = None
    salience: float | None = None
    expires_at: str | None = None


class PassiveBody(PlaceBody):
    content: str | None = None
    source: str | None = None


CandidateOut = shown(Candidate, "id sync_id title type topic_key score judgment_id")
SavedOut = shown(
    Saved,
    "id status outcome sync_id project session_id scope topic_key revision_count duplicate_count redacted "
    "judgment_required candidates warnings",
    "`outcome` says what the save decided: added, updated or duplicate.",
    status=str,
    judgment_required=bool,
    candidates=[CandidateOut],
)
CapturedOut = shown(Captured, "extracted saved duplicates ids project warnings")
PinnedOut = shown(Pinned, "id pinned")


class DeletedOut(Answer):
    id: int
    status: str
    hard_delete: bool


@operation("POST", "/observations", SavedOut, status=201, errors=(409,))
def save_observation(app: Engram, query: CwdQuery, body: ObservationBody) -> object:
    """Save an observation, or fold it into what says it already. A session that is not there is made."""
    draft = Draft(
        body.title,
        body.content,
        body.type or "manual",
        scope=body.scope,
        topic_key=body.topic_key,
        aliases=tuple(body.aliases or ()),
        tool_name=body.tool_name,
        operation_id=body.operation_id or None,
        files=tuple(body.files or ()),
    )
    saved = app.observations.save(draft, project=body.project, session_id=body.session_id)
    return SavedOut.of(saved, status="saved")


@operation("POST", "/observations/passive", CapturedOut, errors=(409,))
def capture_passive(app: Engram, query: CwdQuery, body: PassiveBody) -> object:
    """Keep the items of a text's Key Learnings section; a text without one saves nothing."""
    return app.episodes.capture(body.content or "", source=body.source, **body.where)


@operation("GET", "/observations", [ObservationOut], errors=(404, 409))
def list_observations(app: Engram, query: SortedQuery, notes: Notes) -> object:
    """The observations changed last, or saved last with `sort`, 20 unless `limit` says otherwise, at most 500."""
    if query.sort not in (None, "", NEWEST_FIRST):
        raise InvalidArgumentError("sort", query.sort, expected=NEWEST_FIRST)
    return _listed(app, query, notes, newest=query.sort == NEWEST_FIRST)


@operation("GET", "/observations/recent", [ObservationOut], errors=(404, 409))
def recent_observations(app: Engram, query: RecentQuery, notes: Notes) -> object:
    """The observations changed last, 20 unless `limit` says otherwise, at most 500."""
    return _listed(app, query, notes, newest=False)


def _listed(app: Engram, query: RecentQuery, notes: Notes, *, newest: bool) -> list[ObservationOut]:
    where, limit = selected(app, query), held(query.limit, 20, MOST, notes)
    named = {"newest": newest, "all_projects": where.all_projects}
    rows = app.browsing.recent(where.named, **named, scope=query.scope, limit=limit)
    replaced = app.browsing.replacements(rows)
    return [ObservationOut.of(row, superseded_by=replaced.get(row.id)) for row in rows]


@operation("GET", "/observations/{id}", ObservationOut, errors=(404,))
def get_observation(app: Engram, path: ObservationPath) -> object:
    """One observation whole."""
    found = app.observations.get(path.id)
    return ObservationOut.of(found.observation, state=found.state, superseded_by=replacement(found.relations))


@operation("PATCH", "/observations/{id}", ObservationOut, errors=(404, 409))
def update_observation(app: Engram, path: ObservationPath, query: OwnerQuery, body: UpdateBody) -> object:
    """Correct an observation; its old text stays in its history. The project never changes."""
    check_owner(app, path.id, query.expected_project)
    check_owner(app, path.id, body.project or None)
    app.observations.update(path.id, Change(**body.model_dump(exclude={"project"})))
    return _whole(app, path.id)


def _whole(app: Engram, observation_id: int) -> ObservationOut:
    rows = app.browsing.whole([observation_id])
    return ObservationOut.of(rows[0], superseded_by=app.browsing.replacements(rows).get(observation_id))


@operation("DELETE", "/observations/{id}", DeletedOut, errors=(404, 409))
def delete_observation(app: Engram, path: ObservationPath, query: DeleteQuery) -> object:
    """Hide an observation, or destroy it with `hard`."""
    check_owner(app, path.id, query.expected_project)
    deleted = app.observations.delete(path.id, hard=bool(query.hard))
    return DeletedOut(id=deleted.id, status="deleted", hard_delete=deleted.hard)


@operation("POST", "/observations/{id}/undelete", ObservationOut, errors=(404, 409))
def undelete_observation(app: Engram, path: ObservationPath) -> object:
    """Bring back an observation that was deleted, but not destroyed. Doing it twice changes nothing."""
    app.observations.undelete(path.id)
    return _whole(app, path.id)


@operation("PUT", "/observations/{id}/pin", PinnedOut, errors=(404,))
def pin_observation(app: Engram, path: ObservationPath) -> object:
    """Keep an observation on top of every context. Pinning twice changes nothing."""
    return app.observations.pin(path.id)


@operation("DELETE", "/observations/{id}/pin", PinnedOut, errors=(404,))
def unpin_observation(app: Engram, path: ObservationPath) -> object:
    """Stop keeping an observation on top."""
    return app.observations.pin(path.id, pinned=False)


def check_owner(app: Engram, observation_id: int, expected: str | None) -> None:
    """Raises ProjectMismatchError when the observation is there and another project's, InvalidProjectError."""
    if expected is None:
        return
    if not expected.strip():
        raise InvalidProjectError(expected, "it is blank")
    wanted = normalize_project(expected)
    for row in app.browsing.whole([observation_id]):
        if row.project != wanted:
            raise ProjectMismatchError(observation_id, row.project, wanted)
