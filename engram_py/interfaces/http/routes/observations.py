"""Routes of observations: saved, listed, read, corrected, pinned and deleted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from engram_py.app import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.http.answers import Answer, DeletedOut, ObservationOut, shown
from engram_py.interfaces.http.errors import ProjectMismatchError, SaveResultNotFoundError
from engram_py.interfaces.http.notes import Notes, limited
from engram_py.interfaces.http.parameters import Id, InSession, Listed, Needed, Query, Switch, selected
from engram_py.interfaces.http.routing import operation
from engram_py.observations.browse import MOST
from engram_py.observations.lookup import replacement
from engram_py.observations.repeated_saves import committed
from engram_py.observations.values import Change, Draft, Pinned, Saved
from engram_py.projects.errors import InvalidProjectError
from engram_py.projects.names import normalize_project
from engram_py.sessions.values import Captured

NEWEST_FIRST = "created_at:desc"

Scope = Annotated[str | None, Field(description="project, personal or global.")]


class Owner(Query):
    expected_project: str | None = Field(
        default=None, description="Refuse when the observation belongs to another project."
    )


SavedOut = shown(
    Saved,
    "id status outcome sync_id project session_id scope topic_key revision_count duplicate_count redacted "
    "judgment_required candidates warnings",
    status=str,
)
CapturedOut = shown(Captured, "extracted saved duplicates ids project warnings")


@operation("POST", "/observations", SavedOut, status=201, errors=(409,))
def save_observation(
    app: Engram,
    place: InSession,
    title: Needed,
    content: Needed,
    type: str | None = None,
    tool_name: str | None = None,
    scope: str | None = None,
    topic_key: str | None = None,
    operation_id: str | None = None,
    aliases: list[str] | None = None,
    files: list[str] | None = None,
) -> object:
    """Save an observation, or fold it into what says it already: `outcome` is added, updated or duplicate. A session
    that is not there is made."""
    draft = Draft(
        title,
        content,
        type or "manual",
        scope=scope,
        topic_key=topic_key,
        aliases=tuple(aliases or ()),
        tool_name=tool_name,
        operation_id=operation_id or None,
        files=tuple(files or ()),
    )
    return SavedOut.of(app.observations.save(draft, **place.where), status="saved")


@operation("POST", "/observations/passive", CapturedOut, errors=(409,))
def capture_passive(app: Engram, place: InSession, content: str | None = None, source: str | None = None) -> object:
    """Keep the items of a text's Key Learnings section; a text without one saves nothing."""
    return app.episodes.capture(content or "", source=source, **place.where)


@operation("GET", "/observations", [ObservationOut], errors=(404, 409))
def list_observations(
    app: Engram,
    listed: Listed,
    notes: Notes,
    scope: Scope = None,
    sort: Annotated[
        str | None, Field(description=f"{NEWEST_FIRST}: those saved last; else those changed last.")
    ] = None,
) -> object:
    """The observations changed last, or saved last with `sort`, 20 unless `limit` says otherwise, at most 500."""
    if sort not in (None, "", NEWEST_FIRST):
        raise InvalidArgumentError("sort", sort, expected=NEWEST_FIRST)
    where, limit = selected(app, listed), limited(listed.limit, 20, MOST, notes)
    rows = app.browsing.recent(
        where.named, newest=sort == NEWEST_FIRST, all_projects=where.all_projects, scope=scope, limit=limit
    )
    replaced = app.browsing.replacements(rows)
    return [ObservationOut.of(row, superseded_by=replaced.get(row.id)) for row in rows]


@operation("GET", "/observations/recent", [ObservationOut], errors=(404, 409))
def recent_observations(app: Engram, listed: Listed, notes: Notes, scope: Scope = None) -> object:
    """The observations changed last, 20 unless `limit` says otherwise, at most 500."""
    return list_observations(app, listed, notes, scope)


class SaveResult(Answer):
    id: int
    status: Literal["committed"] = "committed"


@operation("GET", "/observations/save-result", SaveResult, errors=(404, 410))
def save_result(app: Engram, operation_id: Needed) -> object:
    """What a save under an `operation_id` became, for whoever lost its answer; 410 where it was deleted since."""
    found = committed(app.store, operation_id)
    if found is None:
        raise SaveResultNotFoundError
    return SaveResult(id=found)


@operation("GET", "/observations/{id}", ObservationOut, errors=(404,))
def get_observation(app: Engram, id: Id) -> object:
    """One observation whole."""
    found = app.observations.get(id)
    return ObservationOut.of(found.observation, state=found.state, superseded_by=replacement(found.relations))


@operation("PATCH", "/observations/{id}", ObservationOut, errors=(404, 409))
def update_observation(
    app: Engram,
    id: Id,
    owner: Owner,
    title: str | None = None,
    content: str | None = None,
    type: str | None = None,
    project: str | None = None,
    scope: str | None = None,
    topic_key: str | None = None,
    find: str | None = None,
    replace: str | None = None,
    archived: bool | None = None,
    salience: float | None = None,
    expires_at: str | None = None,
) -> object:
    """Correct an observation; its old text stays in its history. The project never changes."""
    check_owner(app, id, owner.expected_project)
    check_owner(app, id, project or None)
    change = Change(
        title,
        content,
        type,
        scope,
        topic_key,
        find,
        replace,
        archived=archived,
        salience=salience,
        expires_at=expires_at,
    )
    app.observations.update(id, change)
    return _whole(app, id)


def _whole(app: Engram, observation_id: int) -> ObservationOut:
    rows = app.browsing.whole([observation_id])
    return ObservationOut.of(rows[0], superseded_by=app.browsing.replacements(rows).get(observation_id))


@operation("DELETE", "/observations/{id}", DeletedOut, errors=(404, 409))
def delete_observation(
    app: Engram,
    id: Id,
    owner: Owner,
    hard: Annotated[Switch, Field(description="Destroy it and its history; otherwise it is hidden.")] = None,
) -> object:
    """Hide an observation, or destroy it with `hard`."""
    check_owner(app, id, owner.expected_project)
    deleted = app.observations.delete(id, hard=bool(hard))
    return DeletedOut(id=deleted.id, status="deleted", hard_delete=deleted.hard)


@operation("POST", "/observations/{id}/undelete", ObservationOut, errors=(404, 409))
def undelete_observation(app: Engram, id: Id) -> object:
    """Bring back an observation that was deleted, but not destroyed. Doing it twice changes nothing."""
    app.observations.undelete(id)
    return _whole(app, id)


PinnedOut = shown(Pinned, "id pinned")


@operation("PUT", "/observations/{id}/pin", PinnedOut, errors=(404,))
def pin_observation(app: Engram, id: Id) -> object:
    """Keep an observation on top of every context. Pinning twice changes nothing."""
    return app.observations.pin(id)


@operation("DELETE", "/observations/{id}/pin", PinnedOut, errors=(404,))
def unpin_observation(app: Engram, id: Id) -> object:
    """Stop keeping an observation on top."""
    return app.observations.pin(id, pinned=False)


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
