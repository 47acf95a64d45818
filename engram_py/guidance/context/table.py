"""SQL of what a context is made of, beyond the lists that observations.py and sessions.py give."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.base.database.store import Store
from engram_py.memory.observations.table import COLUMNS, NEWEST_GIVEN, SHARED, VISIBLE, by_ids, newest_of, read
from engram_py.memory.observations.values import Observation
from engram_py.memory.privacy.provenance import GIVEN, own
from engram_py.memory.sessions.table import PROMPT, SUMMARY, per_project
from engram_py.memory.sessions.values import Prompt, SessionLine
from engram_py.recall.index import changed_between

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
        where {{where}} and deleted_at is null and {GIVEN}
        order by updated_at desc, id desc
        limit :pool
    )
    where pinned = 0 and lifecycle = 'active' and type in (select value from json_each(:types))
)
and (:scope is null or scope = :scope)
order by updated_at desc, id desc
limit :limit
"""
_CHOSEN = """(pinned = 0 or arrival is not null) and lifecycle = 'active'
      and type in (select value from json_each(:types))"""
_OF_TYPES_IN_PROJECT = f"""
select {COLUMNS}
from observations
where id in ({NEWEST_GIVEN.format(where="true", chosen=_CHOSEN)})
  and (:scope is null or scope = :scope)
order by updated_at desc, id desc
limit :limit
"""
OF_TYPES = (*(_OF_TYPES.format(where=where) for where in ("true", SHARED)), _OF_TYPES_IN_PROJECT)

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

# One look-up a session, which may hold the whole memory.
SUMMARIES = """
select value as session_id, (
    select max(id) from observations indexed by observations_summaries
    where session_id = value and type = 'session_summary' and deleted_at is null
) as id
from json_each(:sessions)
"""

# `+` keeps the look-up on the index of sessions, which gives the order.
SAVED_LAST = f"""
select {COLUMNS}
from observations
where session_id = :session_id and +project = :project and {_LIVE} and +type not in ('session_summary', 'identity')
  and +coalesce(topic_key, '') not like 'failure/%'
order by id desc
limit :limit
"""

_OWN = f"{_LIVE} and origin <> 'import' and type <> 'session_summary' and {GIVEN}"

# An agent's MCP server does not know the agent's session and opens one of its own (`mcp-…`): what such a server saved
# in the project since the session began is taken for the session's. Two selects, so that each has its index.
SAVED = f"""
select {COLUMNS}
from observations
where {_OWN} and id in (
    select id from observations where session_id = :session_id
    union
    select id from (
        select id, session_id from observations
        where project = :project and updated_at >= :since and deleted_at is null
        order by updated_at desc, id desc
        limit 200
    )
    where session_id >= 'mcp-' and session_id < 'mcp.'
)
order by updated_at desc, id desc
limit :limit
"""

PROMPTS = f"{PROMPT} where session_id = :session_id and {own('user_prompts')} order by id desc limit :limit"


def of_family(store: Store, family: str, *, projects: Sequence[str] | None, limit: int) -> list[Observation]:
    """Return the live observations whose topic key is ``family/…``, latest change first."""
    values = {"topic": f"{family}/", "end": f"{family}0"}  # "0" follows "/"
    return read(store, FAMILY, **values, projects=projects, limit=limit)


def facts_of(
    store: Store, slugs: Sequence[str], *, projects: Sequence[str] | None, scope: str | None, limit: int
) -> list[Observation]:
    """Return the facts about one of these entities, latest change first."""
    values = {"slugs": slugs, "scope": scope, "limit": limit}
    return read(store, FACTS_OF, projects=projects, **values)


def between(store: Store, *, projects: Sequence[str] | None, start: str, end: str, limit: int) -> list[Observation]:
    """Return what was saved or revised from ``start`` to before ``end``, latest first."""
    ids = changed_between(store, start, end, projects=projects, limit=limit)
    rows = by_ids(store, ids)
    return [rows[row] for row in ids if rows[row].lifecycle == "active"]


def of_types(
    store: Store, types: Sequence[str], *, projects: Sequence[str] | None, scope: str | None, pool: int, limit: int
) -> list[Observation]:
    """Return the latest of these types, not pinned, among the ``pool`` that changed last in each project."""
    return newest_of(store, projects, OF_TYPES, limit=limit, types=types, scope=scope, pool=pool)


def told_sessions(
    store: Store, *, projects: Sequence[str] | None, start: str, end: str, limit: int
) -> list[SessionLine]:
    """Return the sessions with a summary that were open between ``start`` and ``end``, latest first."""
    values = {"start": start, "end": end, "limit": limit}
    rows = per_project(store, projects, SESSIONS_ANYWHERE, SESSIONS_IN_PROJECT, values)
    rows.sort(key=lambda row: row["id"])
    rows.sort(key=lambda row: str(row["started_at"]), reverse=True)
    return [SessionLine(*row) for row in rows[:limit]]


def sessions_by_id(store: Store, ids: Sequence[str]) -> dict[str, SessionLine]:
    return {row["id"]: SessionLine(*row) for row in store.rows(SESSIONS_BY_ID, ids=ids)}


def summary_ids(store: Store, sessions: Sequence[str]) -> dict[str, int]:
    """Return by session id, the observation that holds its summary."""
    return {row["session_id"]: row["id"] for row in store.rows(SUMMARIES, sessions=sessions) if row["id"]}


def saved_last(store: Store, session: SessionLine, *, limit: int) -> list[Observation]:
    """Return what a session saved besides its summary and who the user is, the latest first."""
    return read(store, SAVED_LAST, session_id=session.id, project=session.project, limit=limit)


def saved(store: Store, session_id: str, *, project: str, since: str, limit: int) -> list[Observation]:
    """Return the observations of a session that began at ``since``, latest change first."""
    return read(store, SAVED, session_id=session_id, project=project, since=since, limit=limit)


def prompts(store: Store, session_id: str, *, limit: int) -> list[Prompt]:
    """Return what the user asked for in a session, the latest first."""
    return [Prompt(*row) for row in store.rows(PROMPTS, session_id=session_id, limit=limit)]
