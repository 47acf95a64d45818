"""Relations between observations: listed, judged, looked for."""

from __future__ import annotations

from typing import Any

from pydantic import Field, StrictFloat, StrictInt

from engram_py.app import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.http.request_project import CwdQuery, ProjectQuery, selected
from engram_py.interfaces.http.response_models import shown
from engram_py.interfaces.http.response_notes import Notes, held
from engram_py.interfaces.http.routes_sessions import ListQuery
from engram_py.interfaces.http.routing import Answer, Body, Id, Most, Needed, Path, Query, Start, Text, Time, operation
from engram_py.interfaces.wording import render
from engram_py.observations.conflicts import DEFAULT, MOST, STATUSES
from engram_py.observations.relation_values import Relation, RelationPage, Scanned

CAPPED = "cap reached: this page has no continuation; rerun from the same cursor with a higher applicable cap"


class RelationPath(Path):
    relation_id: Id


class ConflictsQuery(ListQuery):
    status: str | None = Field(default=None, description="pending, judged, orphaned or ignored.")
    since: str | None = Field(default=None, description="RFC 3339; those made since then.")
    offset: Start = Field(default=None, description="How many to pass over.")


class DeferredQuery(Query):
    status: str | None = None
    limit: Most = None
    offset: Start = None


class JudgeBody(Body):
    judgment_id: Needed
    relation: Needed
    reason: str | None = None
    evidence: str | None = None
    confidence: StrictFloat | StrictInt | None = None
    session_id: str | None = None


class CompareBody(Body):
    memory_id_a: int
    memory_id_b: int
    relation: Needed
    confidence: StrictFloat | StrictInt
    reasoning: Needed
    model: str | None = None


class ScanBody(Body):
    project: str | None = None
    all_projects: bool | None = None
    since: str | None = None
    apply: bool | None = None
    max_insert: int | None = None
    limit: int | None = None
    cursor: int | None = None
    semantic: bool | None = None
    concurrency: int | None = None
    timeout_per_call_seconds: int | None = None
    max_semantic: int | None = None


class RelationDetail(Answer):
    relation_id: int
    sync_id: str
    relation: str
    judgment_status: str
    source_id: str
    source_snippet: Text
    target_id: str
    target_snippet: Text
    created_at: Time
    updated_at: Time


class RelationStatsOut(Answer):
    project: str
    by_relation: dict[str, int]
    by_judgment_status: dict[str, int]
    deferred: int
    dead: int


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


RelationOut = shown(
    Relation,
    "id sync_id relation judgment_status source_id source_title target_id target_title created_at updated_at",
    name="RelationOut",
    source_title=Text,
    target_title=Text,
)
RelationsOut = shown(RelationPage, "total limit offset relations", relations=[RelationOut], name="RelationsOut")
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


@operation("GET", "/conflicts", RelationsOut, errors=(404, 409))
def list_conflicts(app: Engram, query: ConflictsQuery, notes: Notes) -> object:
    """Relations, newest first, 50 unless `limit` says otherwise; those found to be no conflict are left out."""
    where = selected(app, query)
    if query.status and query.status not in STATUSES:
        notes.append(f"status {query.status[:40]!r} is not one of {', '.join(STATUSES)}")
    return app.conflicts.page(
        where.named,
        all_projects=where.all_projects,
        status=query.status,
        since=query.since,
        limit=held(query.limit, DEFAULT, MOST, notes),
        offset=query.offset or 0,
    )


@operation("GET", "/conflicts/stats", RelationStatsOut, errors=(404, 409))
def conflict_stats(app: Engram, query: ProjectQuery) -> object:
    """How many relations there are of each verb and of each state."""
    where = selected(app, query)
    found = app.conflicts.stats(where.named, all_projects=where.all_projects)
    counts = {state: app.autosync.deferred(status=state, limit=0)[0] for state in ("deferred", "dead")}
    return RelationStatsOut.of(found, project=where.name, **counts)


@operation("GET", "/conflicts/deferred", DeferredOut)
def list_deferred(app: Engram, query: DeferredQuery, notes: Notes) -> object:
    """What sync could not apply: `deferred` waits for what it depends on, `dead` cannot be read. Without the text."""
    limit = held(query.limit, DEFAULT, MOST, notes)
    if query.status not in (None, "", "deferred", "dead"):
        raise InvalidArgumentError("status", query.status, expected="deferred or dead")
    total, rows = app.autosync.deferred(status=query.status or None, limit=limit, offset=query.offset or 0)
    return DeferredOut(total=total, limit=limit, rows=rows)


@operation("POST", "/conflicts/deferred/replay", ReplayedOut)
def replay_deferred(app: Engram) -> object:
    """Apply what sync could not apply yet."""
    return app.autosync.replay()


@operation("POST", "/conflicts/judge", JudgedOut, errors=(404,))
def judge_conflict(app: Engram, body: JudgeBody) -> object:
    """Give a verdict on a relation that a save asked about."""
    return JudgedOut(relation=render.to_json(app.relations.judge(**body.model_dump())))


@operation("POST", "/conflicts/compare", ComparedOut, errors=(404,))
def compare_memories(app: Engram, body: CompareBody) -> object:
    """Give a verdict on any two observations of one project."""
    verdict = body.model_dump(include={"confidence", "reasoning", "model"})
    return app.relations.compare(body.memory_id_a, body.memory_id_b, body.relation, **verdict)


@operation("POST", "/conflicts/scan", ScannedOut, errors=(404, 409))
def scan_conflicts(app: Engram, query: CwdQuery, body: ScanBody) -> object:
    """Look for pairs of observations that may say the same or the opposite; `apply` keeps each as pending."""
    if body.semantic:
        expected = "false or left out: this server starts no model; give verdicts with POST /conflicts/judge"
        raise InvalidArgumentError("semantic", True, expected=expected)
    where = selected(app, ProjectQuery.of(project=body.project or None, all_projects=bool(body.all_projects)))
    done = app.conflicts.scan(
        where.named,
        all_projects=where.all_projects,
        since=body.since,
        apply=bool(body.apply),
        limit=100 if body.limit is None else body.limit,
        cursor=body.cursor or 0,
        max_insert=body.max_insert or 0,
    )
    more: dict[str, Any] = dict.fromkeys(("semantic_judged", "semantic_skipped", "semantic_errors"), 0)
    more |= {"project": where.name, "ranked_queries": done.inspected, "warning": CAPPED if done.capped else None}
    return ScannedOut.of(done, **more)


@operation("GET", "/conflicts/{relation_id}", RelationDetail, errors=(404,))
def get_conflict(app: Engram, path: RelationPath) -> object:
    """One relation with the titles of both ends."""
    found = app.conflicts.get(path.relation_id)
    titles = {"source_snippet": found.source_title, "target_snippet": found.target_title}
    return RelationDetail.of(found, relation_id=found.id, **titles)
