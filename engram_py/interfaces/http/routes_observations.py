"""Routes of observations and of the relations between them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from engram_py.app import Engram
from engram_py.base.errors import InvalidArgumentError
from engram_py.interfaces.http.answers import Answer, DeletedOut, Notes, ObservationOut, Text, limited, shown
from engram_py.interfaces.http.errors import HttpError
from engram_py.interfaces.http.parameters import (
    Id,
    InSession,
    Listed,
    Most,
    Needed,
    ProjectsQuery,
    Start,
    Switch,
    selected,
)
from engram_py.interfaces.http.routing import route
from engram_py.interfaces.operations import CAPTURE, COMPARE, JUDGE, SAVE, UPDATE
from engram_py.interfaces.wording import render
from engram_py.memory.observations.arguments import check_owner
from engram_py.memory.observations.browse import MOST
from engram_py.memory.observations.values import Saved
from engram_py.memory.relations.relations import DEFAULT, STATUSES
from engram_py.memory.relations.relations import MOST as MOST_RELATIONS
from engram_py.memory.relations.table import replacement
from engram_py.memory.relations.values import Relation, RelationPage, RelationStats, Scanned
from engram_py.memory.sessions.values import CapturedLearnings
from engram_py.memory.writing.save import committed

NEWEST_FIRST = "created_at:desc"

Scope = Annotated[str | None, Field(description="project, personal or global.")]
Owner = Annotated[str | None, Field(description="Refuse when the observation belongs to another project.")]


SavedOut = shown(
    Saved,
    "id status outcome sync_id project session_id scope topic_key revision_count duplicate_count redacted "
    "judgment_required candidates warnings",
    status=str,
)
CapturedOut = shown(CapturedLearnings, "extracted saved duplicates ids project warnings", name="CapturedOut")


@route("POST", "/observations", SavedOut, status=201, errors=(409,), of=SAVE)
def save_observation(app: Engram, place: InSession, **given: Any) -> object:
    """Save an observation, or add it to one that says the same: `outcome` is added, updated or duplicate. A missing
    session is created."""
    return SavedOut.of(SAVE(app, given | place.where), status="saved")


@route("POST", "/observations/passive", CapturedOut, errors=(409,), of=CAPTURE)
def capture_passive(app: Engram, place: InSession, content: str | None = None, **given: Any) -> object:
    """Keep the items of a text's Key Learnings section; a text without one saves nothing."""
    return CAPTURE(app, given | place.where | {"content": content or ""})


@route("GET", "/observations", [ObservationOut], errors=(404, 409))
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
    rows = app.browsing.recent(**where.asked, newest=sort == NEWEST_FIRST, scope=scope, limit=limit)
    replaced = app.relations.replacements(rows)
    return [ObservationOut.of(row, superseded_by=replaced.get(row.id)) for row in rows]


@route("GET", "/observations/recent", [ObservationOut], errors=(404, 409))
def recent_observations(app: Engram, listed: Listed, notes: Notes, scope: Scope = None) -> object:
    """The observations changed last, 20 unless `limit` says otherwise, at most 500."""
    return list_observations(app, listed, notes, scope)


class SaveResult(Answer):
    id: int
    status: Literal["committed"] = "committed"


@route("GET", "/observations/save-result", SaveResult, errors=(404, 410))
def save_result(app: Engram, operation_id: Needed) -> object:
    """The result of the save with this `operation_id`, if its answer was lost; 410 if it was deleted since."""
    found = committed(app.store, operation_id)
    if found is None:
        raise HttpError(
            "no save has this operation_id",
            hint="send the save again",
            code="observation_save_result_not_found",
            status=404,
        )
    return SaveResult(id=found)


@route("GET", "/observations/{id}", ObservationOut, errors=(404,))
def get_observation(app: Engram, id: Id) -> object:
    """One whole observation."""
    found = app.observations.get(id)
    return ObservationOut.of(found.observation, state=found.state, superseded_by=replacement(found.relations))


@route("PATCH", "/observations/{id}", ObservationOut, errors=(404, 409), of=UPDATE)
def update_observation(
    app: Engram, id: Id, project: str | None = None, expected_project: Owner = None, **given: Any
) -> object:
    """Correct an observation; its old text stays in its history. The project never changes."""
    _check_owner(app, id, expected_project)
    _check_owner(app, id, project or None)
    UPDATE(app, given | {"id": id})
    return _whole(app, id)


def _check_owner(app: Engram, observation_id: int, expected: str | None) -> None:
    if expected is not None:
        check_owner(app.store, observation_id, expected)


def _whole(app: Engram, observation_id: int) -> ObservationOut:
    rows = app.browsing.whole([observation_id])
    return ObservationOut.of(rows[0], superseded_by=app.relations.replacements(rows).get(observation_id))


@route("DELETE", "/observations/{id}", DeletedOut, errors=(404, 409))
def delete_observation(
    app: Engram,
    id: Id,
    expected_project: Owner = None,
    hard: Annotated[Switch, Field(description="Destroy it and its history; otherwise it is hidden.")] = None,
) -> object:
    """Hide an observation, or destroy it with `hard`."""
    _check_owner(app, id, expected_project)
    deleted = app.observations.delete(id, hard=bool(hard))
    return DeletedOut(id=deleted.id, status="deleted", hard_delete=deleted.hard)


@route("POST", "/observations/{id}/undelete", ObservationOut, errors=(404, 409))
def undelete_observation(app: Engram, id: Id) -> object:
    """Bring back an observation that was deleted, but not destroyed. Doing it twice changes nothing."""
    app.observations.undelete(id)
    return _whole(app, id)


class PinnedOut(Answer):
    id: int
    pinned: bool


@route("PUT", "/observations/{id}/pin", PinnedOut, errors=(404,))
def pin_observation(app: Engram, id: Id) -> object:
    """Keep an observation on top of every context. Pinning twice changes nothing."""
    return app.observations.pin(id)


@route("DELETE", "/observations/{id}/pin", PinnedOut, errors=(404,))
def unpin_observation(app: Engram, id: Id) -> object:
    """Stop keeping an observation on top."""
    return app.observations.pin(id, pinned=False)


# --- relations ------------------------------------------------------------------------------------------------

CAPPED = "max_insert reached: repeat the request with the same cursor to store the rest"

_ENDS = "created_at updated_at"
RelationOut = shown(
    Relation,
    f"id sync_id relation judgment_status source_id source_title target_id target_title {_ENDS}",
    name="RelationOut",
    source_title=Text,
    target_title=Text,
)
RelationDetail = shown(
    Relation,
    f"relation_id sync_id relation judgment_status source_id source_snippet target_id target_snippet {_ENDS}",
    name="RelationDetail",
    relation_id=int,
    source_snippet=Text,
    target_snippet=Text,
)
RelationsOut = shown(RelationPage, "total limit offset relations", relations=[RelationOut])
RelationStatsOut = shown(
    RelationStats, "project by_relation by_judgment_status deferred dead", project=str, deferred=int, dead=int
)
ScannedOut = shown(
    Scanned,
    "project inspected ranked_queries candidates_found already_related inserted capped dry_run semantic_judged "
    "semantic_skipped semantic_errors next_cursor warning",
    project=str,
    ranked_queries=int,
    warning=str | None,
    semantic_judged=int,
    semantic_skipped=int,
    semantic_errors=int,
)


class JudgedOut(Answer):
    relation: dict[str, Any]


class ComparedOut(Answer):
    sync_id: str


class DeferredOut(Answer):
    total: int
    limit: int
    rows: list[dict[str, Any]]


class ReplayedOut(Answer):
    retried: int
    succeeded: int
    failed: int
    dead: int


@route("GET", "/conflicts", RelationsOut, errors=(404, 409))
def list_conflicts(
    app: Engram,
    listed: Listed,
    notes: Notes,
    status: Annotated[str | None, Field(description="pending, judged, orphaned or ignored.")] = None,
    since: Annotated[str | None, Field(description="RFC 3339; only those made since then.")] = None,
    offset: Annotated[Start, Field(description="How many to skip.")] = None,
) -> object:
    """Relations, newest first, 50 unless `limit` says otherwise; those found to be no conflict are left out."""
    where = selected(app, listed)
    if status and status not in STATUSES:
        notes.append(f"status {status[:40]!r} is not one of {', '.join(STATUSES)}")
    return app.relations.page(
        **where.asked,
        status=status,
        since=since,
        limit=limited(listed.limit, DEFAULT, MOST_RELATIONS, notes),
        offset=offset or 0,
    )


@route("GET", "/conflicts/stats", RelationStatsOut, errors=(404, 409))
def conflict_stats(app: Engram, projects: ProjectsQuery) -> object:
    """How many relations there are of each verb and of each state."""
    where = selected(app, projects)
    found = app.relations.stats(**where.asked)
    counts = {state: app.autosync.deferred(status=state, limit=0)[0] for state in ("deferred", "dead")}
    return RelationStatsOut.of(found, project=where.name, **counts)


@route("GET", "/conflicts/deferred", DeferredOut)
def list_deferred(
    app: Engram, notes: Notes, status: str | None = None, limit: Most = None, offset: Start = None
) -> object:
    """What sync could not apply: `deferred` waits for what it depends on, `dead` cannot be read. Without the text."""
    limit = limited(limit, DEFAULT, MOST_RELATIONS, notes)
    if status not in (None, "", "deferred", "dead"):
        raise InvalidArgumentError("status", status, expected="deferred or dead")
    total, rows = app.autosync.deferred(status=status or None, limit=limit, offset=offset or 0)
    return DeferredOut(total=total, limit=limit, rows=rows)


@route("POST", "/conflicts/deferred/replay", ReplayedOut)
def replay_deferred(app: Engram) -> object:
    """Apply what sync could not apply yet."""
    return app.autosync.replay()


@route("POST", "/conflicts/judge", JudgedOut, errors=(404,), of=JUDGE)
def judge_conflict(app: Engram, **given: Any) -> object:
    """Give a verdict on a relation that a save asked about."""
    return JudgedOut(relation=render.to_json(JUDGE(app, given), "http"))


@route("POST", "/conflicts/compare", ComparedOut, errors=(404,), of=COMPARE)
def compare_memories(app: Engram, **given: Any) -> object:
    """Give a verdict on any two observations of one project."""
    return COMPARE(app, given)


@route("POST", "/conflicts/scan", ScannedOut, errors=(404, 409))
def scan_conflicts(
    app: Engram,
    project: str | None = None,
    all_projects: bool | None = None,
    since: str | None = None,
    apply: bool | None = None,
    max_insert: int | None = None,
    limit: int | None = None,
    cursor: int | None = None,
    semantic: bool | None = None,
    concurrency: int | None = None,
    timeout_per_call_seconds: int | None = None,
    max_semantic: int | None = None,
) -> object:
    """Look for pairs of observations that may say the same or the opposite; `apply` keeps each as pending."""
    if semantic:
        said = "semantic is not supported: this server runs no model"
        raise InvalidArgumentError("semantic", said=said, step="leave it out; POST /conflicts/judge takes verdicts")
    where = selected(app, ProjectsQuery.of(project or None, all_projects=all_projects))
    done = app.conflicts.scan(
        **where.asked,
        since=since,
        apply=bool(apply),
        limit=100 if limit is None else limit,
        cursor=cursor or 0,
        max_insert=max_insert or 0,
    )
    more = {"project": where.name, "ranked_queries": done.inspected, "warning": CAPPED if done.capped else None}
    return ScannedOut.of(done, **more, semantic_judged=0, semantic_skipped=0, semantic_errors=0)


@route("GET", "/conflicts/{relation_id}", RelationDetail, errors=(404,))
def get_conflict(app: Engram, relation_id: Id) -> object:
    """One relation with the titles of both ends."""
    found = app.relations.get(relation_id)
    titles = {"source_snippet": found.source_title, "target_snippet": found.target_title}
    return RelationDetail.of(found, relation_id=found.id, **titles)
