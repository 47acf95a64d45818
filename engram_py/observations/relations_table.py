"""SQL over relations between observations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields

from engram_py.database.store import Row, Store
from engram_py.observations.relation_values import Relation

COLUMNS = tuple(field.name for field in fields(Relation))

# `+` keeps SQLite from walking everything that waits for a verdict; the cost is the relations of these rows.
TOUCHING = """
select
    memory_relations.source_id, memory_relations.target_id, memory_relations.relation,
    memory_relations.judgment_status,
    source.id as source_observation, source.title as source_title, source.deleted_at as source_deleted_at,
    target.id as target_observation, target.title as target_title, target.deleted_at as target_deleted_at
from memory_relations
left join observations as source on source.sync_id = memory_relations.source_id
left join observations as target on target.sync_id = memory_relations.target_id
where memory_relations.id in (
    select id from memory_relations where source_id in (select value from json_each(:sync_ids))
    union
    select id from memory_relations where target_id in (select value from json_each(:sync_ids))
  )
  and +memory_relations.judgment_status in ('pending', 'judged')
  and memory_relations.superseded_at is null
order by memory_relations.id
"""


def as_relation(row: Row) -> Relation:
    return Relation(**{name: row[name] for name in COLUMNS})


def by_sync_id(store: Store, sync_id: str) -> Relation | None:
    row = store.row("select * from memory_relations where sync_id = :sync_id", sync_id=sync_id)
    return None if row is None else as_relation(row)


def between(store: Store, one: str, other: str) -> Relation | None:
    """The newest relation of a pair of sync ids, in either direction."""
    row = store.row(
        """
        select * from memory_relations
        where (source_id = :one and target_id = :other) or (source_id = :other and target_id = :one)
        order by updated_at desc, id desc
        limit 1
        """,
        one=one,
        other=other,
    )
    return None if row is None else as_relation(row)


def touching(store: Store, sync_ids: Sequence[str]) -> list[Row]:
    """Pending and judged relations of any of the observations, with both ends' ids and titles: one query."""
    return store.rows(TOUCHING, sync_ids=json.dumps(list(sync_ids)))


def pending(store: Store, *, projects: str | None, limit: int) -> list[Relation]:
    rows = store.rows(
        """
        select * from memory_relations
        where judgment_status = 'pending'
          and (:projects is null or project in (select value from json_each(:projects)))
        order by created_at desc, id desc
        limit :limit
        """,
        projects=projects,
        limit=limit,
    )
    return [as_relation(row) for row in rows]


def of_observation(store: Store, sync_id: str) -> list[Relation]:
    rows = store.rows("select * from memory_relations where source_id = :id or target_id = :id order by id", id=sync_id)
    return [as_relation(row) for row in rows]
