"""SQL over relations between observations, and how each reads from either end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engram_py.base.database.store import Row, Store
from engram_py.memory.observations.values import RelationNote, Replacement
from engram_py.memory.privacy.provenance import given, trusted, waits
from engram_py.memory.relations.values import Relation

# The columns of the table; the last four of a relation are those of its ends.
COLUMNS: tuple[str, ...] = Relation.__match_args__[:-4]

_ENDS = """
left join observations as source on source.sync_id = memory_relations.source_id
left join observations as target on target.sync_id = memory_relations.target_id
"""
_RELATION = f"""
select {", ".join(f"memory_relations.{name}" for name in COLUMNS)}, source.id, source.title, target.id, target.title
from memory_relations {_ENDS}
"""
_IN_PROJECTS = "(:projects is null or memory_relations.project in (select value from json_each(:projects)))"

# A verdict speaks in the project of the observation that it is about.
_OF = "(select project from observations where sync_id = memory_relations.target_id)"
_GIVEN = f"""(memory_relations.arrival is null
    or {trusted("memory_relations", f"coalesce({_OF}, memory_relations.project)")})"""

# A relation judged to be no conflict is not listed as one, as in Engram.
_LISTED = f"""
where {_IN_PROJECTS}
  and (:status is null or memory_relations.judgment_status = :status)
  and memory_relations.created_at >= :since and {_GIVEN}
  and memory_relations.relation <> 'not_conflict'
  and memory_relations.source_id not like 'entity:%' and memory_relations.target_id not like 'entity:%'
"""
_NEWEST = "order by memory_relations.created_at desc, memory_relations.id desc limit :limit"

TALLY = f"""
select {{column}}, count(*) from memory_relations
where {_IN_PROJECTS} and source_id not like 'entity:%' and target_id not like 'entity:%'
group by {{column}} order by {{column}}
"""

# `+` keeps SQLite from walking everything that waits for a verdict; the cost is the relations of these rows.
TOUCHING = f"""
select
    memory_relations.source_id, memory_relations.target_id,
    iif(memory_relations.judgment_status = 'pending', 'contested', memory_relations.relation) as relation,
    source.id as source_observation, source.title as source_title, source.deleted_at as source_deleted_at,
    target.id as target_observation, target.title as target_title, target.deleted_at as target_deleted_at
from memory_relations {_ENDS}
where memory_relations.id in (
    select id from memory_relations where source_id in (select value from json_each(:sync_ids))
    union
    select id from memory_relations where target_id in (select value from json_each(:sync_ids))
  )
  and (+memory_relations.judgment_status = 'judged'
       or +memory_relations.judgment_status = 'pending' and memory_relations.evidence is not null)
  and {_GIVEN}
  and memory_relations.superseded_at is null
order by memory_relations.id
"""

_PENDING = "judgment_status = 'pending' and superseded_at is null"
UNANSWERED = f"""
with
this as (select * from observations where id in (select value from json_each(:ids)) and lifecycle = 'active'),
pairs (this, other) as (
    select this.sync_id, target_id from this cross join memory_relations on source_id = this.sync_id where {_PENDING}
    union
    select this.sync_id, source_id from this cross join memory_relations on target_id = this.sync_id where {_PENDING}
)
select this.id, other.id from pairs
join this on this.sync_id = pairs.this
join observations as other on other.sync_id = pairs.other
where other.lifecycle = 'active' and other.deleted_at is null
  and (other.project, other.scope) = (this.project, this.scope)
  and (other.updated_at, other.id) > (this.updated_at, this.id)
order by other.updated_at, other.id
"""

# What says that one observation replaces another. It has to be seen wherever the replaced one is.
_SAYS = "relation = 'supersedes' and judgment_status = 'judged' and superseded_at is null and source_id <> target_id"


_REPLACED = f"""
with recursive
linked (sync_id) as (
    select value from json_each(:sync_ids)
    union
    select source_id from linked join memory_relations on target_id = linked.sync_id where {_SAYS}
    union
    select target_id from linked join memory_relations on source_id = linked.sync_id where {_SAYS}
),
verdicts as materialized (
    select
        memory_relations.sync_id as verdict, source_id as newer, target_id as older,
        memory_relations.updated_at as at, memory_relations.clock
    from memory_relations
    join observations as new on new.sync_id = source_id
    join observations as old on old.sync_id = target_id
    where source_id in (select sync_id from linked) and {_SAYS}
      and (new.scope = 'global'
          or (new.scope = old.scope and (new.scope = 'personal' or new.project = old.project)))
      -- Others replace what is the project's where they are trusted; what nobody stands for replaces its like alone.
      and (memory_relations.arrival is null or not {given("old")}
          or (old.scope = 'project' and {trusted("memory_relations", "old.project")}))
      and (not {waits("new")} or {waits("old")})
),
-- Whom the older end of a verdict replaces by later verdicts. Where that is the newer end, the verdict closes a circle
-- and does not count: what was said last does.
below (verdict, sync_id) as (
    select verdict, older from verdicts
    union
    select below.verdict, next.older from below
    join verdicts as this on this.verdict = below.verdict
    join verdicts as next
      on next.newer = below.sync_id and (next.at, next.clock, next.verdict) > (this.at, this.clock, this.verdict)
),
counting as materialized (
    select newer, older from verdicts
    where (verdict, newer) not in (select verdict, sync_id from below)
),
above (older, newer) as (
    select older, newer from counting
    union
    select above.older, counting.newer from above join counting on counting.older = above.newer
),
-- `cross`: the few that replace are looked up; the planner would walk all observations.
replaced (sync_id, by) as (
    select older, id from above cross join observations on sync_id = newer where deleted_at is null
)
"""

SETTLE = f"""
{_REPLACED}
update observations
set lifecycle = iif(sync_id in (select sync_id from replaced), 'historical', 'active')
where sync_id in (select sync_id from linked)
  and lifecycle = iif(sync_id in (select sync_id from replaced), 'active', 'historical')
"""

REPLACEMENTS = f"""
{_REPLACED}
select replaced.sync_id, max(id) from replaced
join observations on id = by
where lifecycle <> 'historical' and replaced.sync_id in (select value from json_each(:sync_ids))
group by replaced.sync_id
"""

LINE = f"""
{_REPLACED}
select verdicts.at, reason, new.id, new.title, old.id, old.title, old.content from verdicts
join memory_relations on memory_relations.sync_id = verdict
join observations as new on new.sync_id = newer
join observations as old on old.sync_id = older
where new.deleted_at is null and old.deleted_at is null
order by verdicts.at desc, verdicts.clock desc, verdict
"""


def _read(store: Store, rest: str, **values: object) -> list[Relation]:
    return [Relation(*row) for row in store.tuples(f"{_RELATION} {rest}", **values)]


def by_sync_id(store: Store, sync_id: str) -> Relation | None:
    return next(iter(_read(store, "where memory_relations.sync_id = :sync_id", sync_id=sync_id)), None)


def by_id(store: Store, relation_id: int) -> Relation | None:
    return next(iter(_read(store, "where memory_relations.id = :id", id=relation_id)), None)


def between(store: Store, one: str, other: str) -> Relation | None:
    """Return the newest relation of a pair of sync ids, in either direction."""
    pair = """
    where (source_id = :one and target_id = :other) or (source_id = :other and target_id = :one)
    order by memory_relations.updated_at desc, memory_relations.id desc limit 1
    """
    return next(iter(_read(store, pair, one=one, other=other)), None)


def page(
    store: Store, *, projects: Sequence[str] | None, status: str | None, since: str, limit: int, offset: int
) -> tuple[int, list[Relation]]:
    """Return the number of relations that pass the filters, and one page of them, newest first."""
    values = {"projects": projects, "status": status, "since": since}
    total = int(store.value(f"select count(*) from memory_relations {_LISTED}", **values))
    return total, _read(store, f"{_LISTED} {_NEWEST} offset :offset", **values, limit=limit, offset=offset)


def tally(store: Store, column: str, *, projects: Sequence[str] | None) -> dict[str, int]:
    """Return the number of relations of each value of ``column``, which is one of this module's own names."""
    return dict(store.tuples(TALLY.format(column=column), projects=projects))


def touching(store: Store, sync_ids: Sequence[str]) -> list[Row]:
    """Return the relations of any of the observations, judged or waiting with evidence (``contested``), with both ends'
    ids and titles, in one query."""
    return store.rows(TOUCHING, sync_ids=list(sync_ids))


def unanswered(store: Store, ids: Sequence[int]) -> dict[int, int]:
    """Return by the id of an observation, the newest that may take its place: nobody gave a verdict on the pair."""
    return dict(store.tuples(UNANSWERED, ids=list(ids)))


def pending(store: Store, *, projects: Sequence[str] | None, limit: int) -> list[Relation]:
    where = f"where memory_relations.judgment_status = 'pending' and {_IN_PROJECTS} {_NEWEST}"
    return _read(store, where, projects=projects, limit=limit)


def of_observation(store: Store, sync_id: str) -> list[Relation]:
    return _read(store, "where source_id = :id or target_id = :id order by memory_relations.id", id=sync_id)


def settle(store: Store, sync_ids: Iterable[str]) -> None:
    """Mark what a live observation replaces as historical, and what nothing replaces any more as active.

    Covers these observations and those that verdicts link with them. Call it in the transaction that changes a verdict,
    or whether an end of one is live. An archived one stays so. The result follows from the rows alone, so it is never
    sent.
    """
    if wanted := sorted(set(sync_ids)):
        store.execute(SETTLE, sync_ids=wanted)


def settle_all(store: Store) -> None:
    """Settle all relations, where projects have changed."""
    settle(store, (row[0] for row in store.tuples(f"select source_id from memory_relations where {_SAYS}")))


def replacements(store: Store, sync_ids: Iterable[str]) -> dict[str, int]:
    """Return by sync id, the observation that stands in the place of each that was replaced: the last of its line."""
    wanted = sorted(set(sync_ids))
    return dict(store.tuples(REPLACEMENTS, sync_ids=wanted)) if wanted else {}


def line(store: Store, sync_id: str) -> tuple[Replacement, ...]:
    """Return the verdicts that lead to an observation and from it, the last one first."""
    rows = store.tuples(LINE, sync_ids=[sync_id])
    return tuple(Replacement(*row) for row in rows)


def replacing(store: Store, sync_id: str) -> list[Relation]:
    """Return the verdicts by which something replaces this observation."""
    return _read(store, f"where target_id = :id and {_SAYS} order by memory_relations.id", id=sync_id)


# How a judged relation reads from its source, and from its target.
_LABELS = {
    "duplicates": ("duplicates", "repeated_by"),
    "supersedes": ("supersedes", "superseded_by"),
    "conflicts_with": ("conflicts", "conflicts"),
    "related": ("related", "related"),
    "compatible": ("compatible", "compatible"),
    "scoped": ("limits", "limited_by"),
    "contested": ("contested", "contested"),
}


def relation_notes(store: Store, sync_ids: Sequence[str]) -> dict[str, tuple[RelationNote, ...]]:
    """Return the relations of each observation, by its sync id: those judged, without ``not_conflict``, and the
    questions for which more than like titles speaks (``contested``)."""
    wanted = set(sync_ids)
    notes: dict[str, list[RelationNote]] = {}
    for row in touching(store, sync_ids) if wanted else ():
        for here, end in (("source", "target"), ("target", "source")):
            sync_id = row[f"{here}_id"]
            label = _LABELS.get(row["relation"], (None, None))[here == "target"]
            if sync_id in wanted and label:
                title = row[f"{end}_title"] or ""
                gone = row[f"{end}_observation"] is None or row[f"{end}_deleted_at"] is not None
                notes.setdefault(sync_id, []).append(RelationNote(label, row[f"{end}_observation"], title, gone))
    return {sync_id: tuple(found) for sync_id, found in notes.items()}


def replacement(relations: Sequence[RelationNote]) -> int | None:
    """Return the newest observation that replaced the one these notes are about."""
    found = [note.id for note in relations if note.label == "superseded_by" and not note.deleted and note.id]
    return max(found, default=None)
