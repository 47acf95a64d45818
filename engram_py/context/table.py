"""SQL of what a context is made of, beyond the lists that observations.py and sessions.py give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram_py.database.store import Row, Store
from engram_py.observations.table import COLUMNS, VISIBLE, by_ids, projects_json
from engram_py.observations.values import Observation
from engram_py.recall.index.table import changed_between
from engram_py.sessions.table import SUMMARY
from engram_py.sessions.values import SessionLine

_LIVE = "deleted_at is null and lifecycle = 'active'"

# `+` keeps the look-up on the index of topic keys: there are few of these, and many rows in a project.
_TOPICS = f"""
select {COLUMNS}
from observations
where {{topic}} and {_LIVE} and +type is not null and {VISIBLE}
order by +updated_at desc, +id desc
limit :limit
"""
FAMILY = _TOPICS.format(topic="topic_key > :topic and topic_key < :end")

FACTS_OF = f"""
select {COLUMNS}
from observations indexed by observations_about
where about in (select value from json_each(:slugs)) and type = 'fact' and {_LIVE} and {VISIBLE}
  and (:scope is null or scope = :scope)
order by updated_at desc, id desc
limit :limit
"""

# Only the newest are looked through: a kind that is rare must not cost a walk through the memory.
_OF_TYPES = f"""
select {COLUMNS}
from observations
where id in (
    select id from (
        select id, type, pinned, lifecycle from observations
        where {{where}} and deleted_at is null
        order by updated_at desc, id desc
        limit :pool
    )
    where pinned = 0 and lifecycle = 'active' and type in (select value from json_each(:types))
)
and (:scope is null or scope = :scope)
order by updated_at desc, id desc
limit :limit
"""
OF_TYPES_IN_PROJECT = _OF_TYPES.format(where="project = :project")
OF_TYPES_SHARED = _OF_TYPES.format(where="scope <> 'project'")
OF_TYPES_ANYWHERE = _OF_TYPES.format(where="true")

_LINES = f"""
select id, project, agent, started_at, ended_at, {SUMMARY} as summary,
    (select count(*) from observations where session_id = sessions.id and deleted_at is null) as observations
from sessions
"""
_SESSIONS = f"""{_LINES}
where {{where}} and {SUMMARY} is not null and started_at < :end and max(coalesce(ended_at, ''), updated_at) >= :start
order by started_at desc, id
limit :limit
"""
SESSIONS_IN_PROJECT = _SESSIONS.format(where="project = :project")
SESSIONS_ANYWHERE = _SESSIONS.format(where="true")

SESSIONS_BY_ID = f"{_LINES} where id in (select value from json_each(:ids))"

SUMMARIES = """
select session_id, max(id) as id
from observations
where session_id in (select value from json_each(:sessions)) and type = 'session_summary' and deleted_at is null
group by session_id
"""

# `+` keeps the look-up on the index of sessions, which gives the order.
SAVED_LAST = f"""
select {COLUMNS}
from observations
where session_id = :session_id and +project = :project and {_LIVE} and +type not in ('session_summary', 'identity')
order by id desc
limit :limit
"""


def of_family(store: Store, family: str, *, projects: Sequence[str] | None, limit: int) -> list[Observation]:
    """The live observations whose topic key is ``family/…``, latest change first."""
    values = {"topic": f"{family}/", "end": f"{family}0"}  # "0" follows "/"
    rows = store.rows(FAMILY, **values, projects=projects_json(projects), limit=limit)
    return [Observation.from_row(row) for row in rows]


def facts_of(
    store: Store, slugs_json: str, *, projects: Sequence[str] | None, scope: str | None, limit: int
) -> list[Observation]:
    """The facts about one of these entities, latest change first."""
    values = {"slugs": slugs_json, "scope": scope, "limit": limit}
    return [Observation.from_row(row) for row in store.rows(FACTS_OF, projects=projects_json(projects), **values)]


def between(store: Store, *, projects: Sequence[str] | None, start: str, end: str, limit: int) -> list[Observation]:
    """What was saved or revised from ``start`` to before ``end``, latest first."""
    ids = changed_between(store, start, end, projects=projects, limit=limit)
    rows = by_ids(store, ids)
    return [rows[row] for row in ids if rows[row].lifecycle == "active"]


def of_types(
    store: Store, types_json: str, *, projects: Sequence[str] | None, scope: str | None, pool: int, limit: int
) -> list[Observation]:
    """The latest of these types, not pinned, among the ``pool`` observations of each project that changed last."""
    values = {"types": types_json, "scope": scope, "pool": pool, "limit": limit}
    sql = (OF_TYPES_ANYWHERE, OF_TYPES_SHARED, OF_TYPES_IN_PROJECT)
    return _newest(_seen(store, projects, *sql, values), limit)


def told_sessions(
    store: Store, *, projects: Sequence[str] | None, start: str, end: str, limit: int
) -> list[SessionLine]:
    """The sessions that left a summary and were open at some time from ``start`` to before ``end``, latest first."""
    values = {"start": start, "end": end, "limit": limit}
    if projects is None:
        rows = store.rows(SESSIONS_ANYWHERE, **values)
    else:
        rows = [row for name in projects for row in store.rows(SESSIONS_IN_PROJECT, project=name, **values)]
    rows.sort(key=lambda row: row["id"])
    rows.sort(key=lambda row: str(row["started_at"]), reverse=True)
    return [SessionLine(*row) for row in rows[:limit]]


def sessions_by_id(store: Store, ids_json: str) -> dict[str, SessionLine]:
    return {row["id"]: SessionLine(*row) for row in store.rows(SESSIONS_BY_ID, ids=ids_json)}


def summary_ids(store: Store, sessions_json: str) -> dict[str, int]:
    """By session id, the observation that holds its summary."""
    return {row["session_id"]: row["id"] for row in store.rows(SUMMARIES, sessions=sessions_json)}


def saved_last(store: Store, session: SessionLine, *, limit: int) -> list[Observation]:
    """What a session saved besides its summary and who the user is, the latest first."""
    rows = store.rows(SAVED_LAST, session_id=session.id, project=session.project, limit=limit)
    return [Observation.from_row(row) for row in rows]


def _seen(
    store: Store, projects: Sequence[str] | None, anywhere: str, shared: str, own: str, values: Mapping[str, object]
) -> list[Row]:
    if projects is None:
        return store.rows(anywhere, **values)
    return [
        *store.rows(shared, **values),
        *(row for name in projects for row in store.rows(own, project=name, **values)),
    ]


def _newest(rows: list[Row], limit: int) -> list[Observation]:
    unique = {row["id"]: row for row in rows}.values()
    ordered = sorted(unique, key=lambda row: (row["updated_at"], row["id"]), reverse=True)
    return [Observation.from_row(row) for row in ordered[:limit]]
