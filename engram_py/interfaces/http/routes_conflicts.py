"""Relations between observations: listed, judged, looked for."""

from __future__ import annotations

from typing import Any

from pydantic import Field, StrictFloat, StrictInt

from engram_py.app import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.http.request_project import CwdQuery, ProjectQuery, selected
from engram_py.interfaces.http.response_notes import Notes, held
from engram_py.interfaces.http.routes_sessions import ListQuery, needed
from engram_py.interfaces.http.routing import Answer, Body, Id, Most, Path, Query, Start, Text, Time, operation
from engram_py.interfaces.wording import render
from engram_py.observations.conflicts import DEFAULT, MOST, STATUSES

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
    NEEDS = ("judgment_id", "relation")

    judgment_id: str | None = None
    relation: str | None = None
    reason: str | None = None
    evidence: str | None = None
    confidence: StrictFloat | StrictInt | None = None
    session_id: str | None = None


class CompareBody(Body):
    NEEDS = ("memory_id_a", "memory_id_b", "relation", "confidence", "reasoning")

    memory_id_a: int | None = None
    memory_id_b: int | None = None
    relation: str | None = None
    confidence: StrictFloat | StrictInt | None = None
    reasoning: str | None = None
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


class RelationOut(Answer):
    id: int
    sync_id: str
    relation: str
    judgment_status: str
    source_id: str
    source_title: Text
    target_id: str
    target_title: Text
    created_at: Time
    updated_at: Time


class RelationsOut(Answer):
    total: int
    limit: int
    offset: int
    relations: list[RelationOut]


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


class ScannedOut(Answer):
    project: str
    inspected: int
    ranked_queries: int
    candidates_found: int
    already_related: int
    inserted: int
    capped: bool
    dry_run: bool
    semantic_judged: int = 0
    semantic_skipped: int = 0
    semantic_errors: int = 0
    next_cursor: int | None = None
    warning: str | None = None


class DeferredOut(Answer):
    total: int
    limit: int
    rows: list[dict[str, Any]]


class ReplayedOut(Answer):
    retried: int
    succeeded: int
    failed: int
    dead: int


@operation("GET", "/conflicts", errors=(404, 409))
def list_conflicts(app: Engram, query: ConflictsQuery, notes: Notes) -> RelationsOut:
    """Relations, newest first, 50 unless `limit` says otherwise; those found to be no conflict are left out."""
    where = selected(app, query)
    if query.status and query.status not in STATUSES:
        notes.append(f"status {query.status[:40]!r} is not one of {', '.join(STATUSES)}")
    page = app.conflicts.page(
        where.named,
        all_projects=where.all_projects,
        status=query.status,
        since=query.since,
        limit=held(query.limit, DEFAULT, MOST, notes),
        offset=query.offset or 0,
    )
    return RelationsOut.of(page)


@operation("GET", "/conflicts/stats", errors=(404, 409))
def conflict_stats(app: Engram, query: ProjectQuery) -> RelationStatsOut:
    """How many relations there are of each verb and of each state."""
    where = selected(app, query)
    found = app.conflicts.stats(where.named, all_projects=where.all_projects)
    counts = {state: app.autosync.deferred(status=state, limit=0)[0] for state in ("deferred", "dead")}
    return RelationStatsOut.of(found, project=where.name, **counts)


@operation("GET", "/conflicts/deferred")
def list_deferred(app: Engram, query: DeferredQuery, notes: Notes) -> DeferredOut:
    """What sync could not apply: `deferred` waits for what it depends on, `dead` cannot be read. Without the text."""
    limit = held(query.limit, DEFAULT, MOST, notes)
    if query.status not in (None, "", "deferred", "dead"):
        raise InvalidArgumentError("status", query.status, expected="deferred or dead")
    total, rows = app.autosync.deferred(status=query.status or None, limit=limit, offset=query.offset or 0)
    return DeferredOut(total=total, limit=limit, rows=rows)


@operation("POST", "/conflicts/deferred/replay")
def replay_deferred(app: Engram) -> ReplayedOut:
    """Apply what sync could not apply yet."""
    return ReplayedOut(**app.autosync.replay())


@operation("POST", "/conflicts/judge", errors=(404,))
def judge_conflict(app: Engram, body: JudgeBody) -> JudgedOut:
    """Give a verdict on a relation that a save asked about."""
    named = {name: needed(name, getattr(body, name)) for name in JudgeBody.NEEDS}
    judged = app.relations.judge(**body.model_dump() | named)
    return JudgedOut(relation=render.to_json(judged))


@operation("POST", "/conflicts/compare", errors=(404,))
def compare_memories(app: Engram, body: CompareBody) -> ComparedOut:
    """Give a verdict on any two observations of one project."""
    for name in ("memory_id_a", "memory_id_b", "confidence"):
        if getattr(body, name) is None:
            raise InvalidArgumentError(name, None, expected="given")
    judged = app.relations.compare(
        body.memory_id_a or 0,
        body.memory_id_b or 0,
        needed("relation", body.relation),
        confidence=body.confidence or 0.0,
        reasoning=needed("reasoning", body.reasoning),
        model=body.model,
    )
    return ComparedOut(sync_id=judged.relation.sync_id)


@operation("POST", "/conflicts/scan", errors=(404, 409))
def scan_conflicts(app: Engram, query: CwdQuery, body: ScanBody) -> ScannedOut:
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
    warning = CAPPED if done.capped else None
    return ScannedOut.of(done, project=where.name, ranked_queries=done.inspected, warning=warning)


@operation("GET", "/conflicts/{relation_id}", errors=(404,))
def get_conflict(app: Engram, path: RelationPath) -> RelationDetail:
    """One relation with the titles of both ends."""
    found = app.conflicts.get(path.relation_id)
    titles = {"source_snippet": found.source_title, "target_snippet": found.target_title}
    return RelationDetail.of(found, relation_id=found.id, **titles)
