"""Routes of relations between observations: listed, judged, looked for."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictFloat, StrictInt

from engram_py.app import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.http.answers import Answer, Text, shown
from engram_py.interfaces.http.notes import Notes, limited
from engram_py.interfaces.http.parameters import Id, Listed, Most, Needed, Projects, Start, selected
from engram_py.interfaces.http.routing import operation
from engram_py.interfaces.wording import render
from engram_py.relations.conflicts import DEFAULT, MOST, STATUSES
from engram_py.relations.values import Relation, RelationPage, RelationStats, Scanned

CAPPED = "cap reached: this page has no continuation; rerun from the same cursor with a higher applicable cap"

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


@operation("GET", "/conflicts", RelationsOut, errors=(404, 409))
def list_conflicts(
    app: Engram,
    listed: Listed,
    notes: Notes,
    status: Annotated[str | None, Field(description="pending, judged, orphaned or ignored.")] = None,
    since: Annotated[str | None, Field(description="RFC 3339; those made since then.")] = None,
    offset: Annotated[Start, Field(description="How many to pass over.")] = None,
) -> object:
    """Relations, newest first, 50 unless `limit` says otherwise; those found to be no conflict are left out."""
    where = selected(app, listed)
    if status and status not in STATUSES:
        notes.append(f"status {status[:40]!r} is not one of {', '.join(STATUSES)}")
    return app.conflicts.page(
        where.named,
        all_projects=where.all_projects,
        status=status,
        since=since,
        limit=limited(listed.limit, DEFAULT, MOST, notes),
        offset=offset or 0,
    )


@operation("GET", "/conflicts/stats", RelationStatsOut, errors=(404, 409))
def conflict_stats(app: Engram, projects: Projects) -> object:
    """How many relations there are of each verb and of each state."""
    where = selected(app, projects)
    found = app.conflicts.stats(where.named, all_projects=where.all_projects)
    counts = {state: app.autosync.deferred(status=state, limit=0)[0] for state in ("deferred", "dead")}
    return RelationStatsOut.of(found, project=where.name, **counts)


@operation("GET", "/conflicts/deferred", DeferredOut)
def list_deferred(
    app: Engram, notes: Notes, status: str | None = None, limit: Most = None, offset: Start = None
) -> object:
    """What sync could not apply: `deferred` waits for what it depends on, `dead` cannot be read. Without the text."""
    limit = limited(limit, DEFAULT, MOST, notes)
    if status not in (None, "", "deferred", "dead"):
        raise InvalidArgumentError("status", status, expected="deferred or dead")
    total, rows = app.autosync.deferred(status=status or None, limit=limit, offset=offset or 0)
    return DeferredOut(total=total, limit=limit, rows=rows)


@operation("POST", "/conflicts/deferred/replay", ReplayedOut)
def replay_deferred(app: Engram) -> object:
    """Apply what sync could not apply yet."""
    return app.autosync.replay()


@operation("POST", "/conflicts/judge", JudgedOut, errors=(404,))
def judge_conflict(
    app: Engram,
    judgment_id: Needed,
    relation: Needed,
    reason: str | None = None,
    evidence: str | None = None,
    confidence: StrictFloat | StrictInt | None = None,
    session_id: str | None = None,
) -> object:
    """Give a verdict on a relation that a save asked about."""
    judged = app.relations.judge(
        judgment_id, relation, reason=reason, evidence=evidence, confidence=confidence, session_id=session_id
    )
    return JudgedOut(relation=render.to_json(judged))


@operation("POST", "/conflicts/compare", ComparedOut, errors=(404,))
def compare_memories(
    app: Engram,
    memory_id_a: int,
    memory_id_b: int,
    relation: Needed,
    confidence: StrictFloat | StrictInt,
    reasoning: Needed,
    model: str | None = None,
) -> object:
    """Give a verdict on any two observations of one project."""
    return app.relations.compare(
        memory_id_a, memory_id_b, relation, confidence=confidence, reasoning=reasoning, model=model
    )


@operation("POST", "/conflicts/scan", ScannedOut, errors=(404, 409))
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
        expected = "false or left out: this server starts no model; give verdicts with POST /conflicts/judge"
        raise InvalidArgumentError("semantic", True, expected=expected)
    where = selected(app, Projects.of(project or None, all_projects=all_projects))
    done = app.conflicts.scan(
        where.named,
        all_projects=where.all_projects,
        since=since,
        apply=bool(apply),
        limit=100 if limit is None else limit,
        cursor=cursor or 0,
        max_insert=max_insert or 0,
    )
    more = {"project": where.name, "ranked_queries": done.inspected, "warning": CAPPED if done.capped else None}
    return ScannedOut.of(done, **more, semantic_judged=0, semantic_skipped=0, semantic_errors=0)


@operation("GET", "/conflicts/{relation_id}", RelationDetail, errors=(404,))
def get_conflict(app: Engram, relation_id: Id) -> object:
    """One relation with the titles of both ends."""
    found = app.conflicts.get(relation_id)
    titles = {"source_snippet": found.source_title, "target_snippet": found.target_title}
    return RelationDetail.of(found, relation_id=found.id, **titles)
