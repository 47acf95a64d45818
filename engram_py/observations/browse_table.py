"""SQL for looking through what is kept: rows by their ids, relations by filters and counts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from engram_py.database.journal import TABLES
from engram_py.database.store import Row, Store
from engram_py.observations.listing import ObservationLine
from engram_py.observations.table import COLUMNS
from engram_py.observations.values import Observation

_RELATION = """
select
    memory_relations.id, memory_relations.sync_id, memory_relations.relation, memory_relations.judgment_status,
    memory_relations.source_id, source.title as source_title,
    memory_relations.target_id, target.title as target_title,
    memory_relations.created_at, memory_relations.updated_at,
    source.id as source_observation, target.id as target_observation
from memory_relations
left join observations as source on source.sync_id = memory_relations.source_id
left join observations as target on target.sync_id = memory_relations.target_id
"""

# What was found to be no conflict is not listed as one, as in Engram.
_LISTED = """
where (:projects is null or memory_relations.project in (select value from json_each(:projects)))
  and (:status is null or memory_relations.judgment_status = :status)
  and memory_relations.created_at >= :since
  and memory_relations.relation <> 'not_conflict'
  and memory_relations.source_id not like 'entity:%' and memory_relations.target_id not like 'entity:%'
"""

RELATIONS = f"""{_RELATION}{_LISTED}
order by memory_relations.created_at desc, memory_relations.id desc
limit :limit offset :offset
"""
COUNT_RELATIONS = f"select count(*) from memory_relations {_LISTED}"
RELATION_BY_ID = f"{_RELATION} where memory_relations.id = :id"

TALLY = """
select {column} as name, count(*) as n from memory_relations
where (:projects is null or project in (select value from json_each(:projects)))
  and source_id not like 'entity:%' and target_id not like 'entity:%'
group by {column}
order by name
"""

PAGE = f"""
select {COLUMNS} from observations where id > :cursor and deleted_at is null
  and (:projects is null or project in (select value from json_each(:projects)))
  and updated_at >= :since
order by id limit :limit
"""


_LINE = "select id, title, type, project, scope, topic_key, pinned, updated_at, deleted_at from observations"
LINES = f"{_LINE} where id in (select value from json_each(:ids))"
LIVE_LINES = f"{_LINE} where {{column}} = :value and deleted_at is null order by updated_at desc, id desc"


# What upkeep rewrites itself, and summaries of sessions, nobody need confirm.
UNCONFIRMED = f"""
select {COLUMNS} from observations indexed by observations_derived
where origin = 'derived' and deleted_at is null and lifecycle = 'active' and type <> 'session_summary'
  and (topic_key is null or topic_key not like 'entity/%' and topic_key <> 'identity/profile')
  and (:projects is null or project in (select value from json_each(:projects)))
order by id desc limit :limit
"""
# Of the latest alone: a text that is not read yet came lately.
LATEST = f"""
select {COLUMNS} from (
    select * from observations order by id desc limit :limit
) as observations
where deleted_at is null and lifecycle = 'active'
  and (:projects is null or project in (select value from json_each(:projects)))
order by id desc
"""


def unconfirmed(store: Store, *, projects: str | None, limit: int) -> list[Observation]:
    """What was derived and nobody confirmed, newest first."""
    return [Observation.from_row(row) for row in store.rows(UNCONFIRMED, projects=projects, limit=limit)]


def latest(store: Store, *, projects: str | None, limit: int) -> list[Observation]:
    """The active ones of a project among the ``limit`` observations that came last, newest first."""
    return [Observation.from_row(row) for row in store.rows(LATEST, projects=projects, limit=limit)]


def lines(store: Store, ids: Sequence[int]) -> list[ObservationLine]:
    """The observations of these ids that exist, in the order of ``ids``."""
    found = {row["id"]: _line(row) for row in store.rows(LINES, ids=json.dumps(list(ids)))}
    return [found[one] for one in ids if one in found]


def live_lines(store: Store, column: str, value: str) -> list[ObservationLine]:
    """Live observations by one column, which is a name of this program's own, latest change first."""
    return [_line(row) for row in store.rows(LIVE_LINES.format(column=column), value=value)]


def _line(row: Row) -> ObservationLine:
    return ObservationLine(**{**dict(row), "pinned": bool(row["pinned"])})


def prompts_and_sessions(store: Store, project: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The ids of a project's prompts and of its sessions."""
    sql = "select id from {} where project = :project order by id"
    prompts, sessions = (store.rows(sql.format(name), project=project) for name in ("user_prompts", "sessions"))
    return tuple(row[0] for row in prompts), tuple(row[0] for row in sessions)


def owners(store: Store, kind: str, ids: Sequence[object]) -> dict[object, str]:
    """The project of each row of ``kind`` that exists, by its id."""
    sql = f"select id, project from {TABLES[kind][0]} where id in (select value from json_each(:ids))"
    return dict(store.tuples(sql, ids=json.dumps(list(ids))))


def relations(
    store: Store, *, projects: str | None, status: str | None, since: str, limit: int, offset: int
) -> tuple[int, list[Row]]:
    """How many relations pass the filters, and one page of them, newest first."""
    values = {"projects": projects, "status": status, "since": since}
    total = int(store.value(COUNT_RELATIONS, **values))
    return total, store.rows(RELATIONS, **values, limit=limit, offset=offset)


def relation(store: Store, relation_id: int) -> Row | None:
    return store.row(RELATION_BY_ID, id=relation_id)


def tally(store: Store, column: str, *, projects: str | None) -> dict[str, int]:
    """How many relations there are of each value of ``column``, which is one of this module's own names."""
    return dict(store.tuples(TALLY.format(column=column), projects=projects))


def page(store: Store, *, projects: str | None, since: str, cursor: int, limit: int) -> list[Row]:
    """Live observations after ``cursor``, in the order of their ids."""
    return store.rows(PAGE, projects=projects, since=since, cursor=cursor, limit=limit)
