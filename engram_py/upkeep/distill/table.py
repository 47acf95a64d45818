"""SQL over the turns that wait to be distilled, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engram_py.base.database.mutation_queue import get_meta
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass
from engram_py.memory.observations.values import Observation
from engram_py.memory.privacy.provenance import OWN, own

# Of a long conversation the beginning and the end are read.
FIRST_TURNS, LAST_TURNS = 100, 400
TURN_CHARS = 8_000
MOST_PROMPTS = 200
_MOST_WAITING = 200

_WAITING = """
select
    sessions.id, project, directory, agent, started_at, ended_at, summary, distill_state, distill_attempts,
    distill_detail, distill_tried_at, last_turn_at,
    exists (
        select 1 from sessions as later
        where later.project = sessions.project and later.id <> sessions.id and later.agent = sessions.agent
          and later.started_at > coalesce(sessions.last_turn_at, sessions.started_at)
    ) as followed
from sessions
where {where}
order by last_turn_at desc, id limit :limit
"""
WAITING = _WAITING.format(where="distill_state = 'pending' and (:project is null or project = :project)")
ONE = _WAITING.format(where="id = :id")

PENDING = """
select id, length(content) as chars from turns
where session_id = :session_id and distilled_at is null order by id
"""
# What hooks kept of the person's words since, and no turn has.
NEW_PROMPT_CHARS = f"""
select coalesce(sum(length(content)), 0) from user_prompts
where session_id = :session_id and {own("user_prompts")} and created_at > coalesce(
    (select max(coalesce(said_at, read_at)) from turns where session_id = :session_id and distilled_at is not null), ''
  ) and substr(content, 1, 500) not in (
    select substr(content, 1, 500) from turns where session_id = :session_id and role = 'user'
  )
"""
TURNS = """
select role, agent, substr(content, 1, :chars) as content, coalesce(said_at, read_at) as at
from turns
where id in (
    select id from (select id from turns where session_id = :session_id order by id limit :first)
    union
    select id from (select id from turns where session_id = :session_id order by id desc limit :last)
)
order by id
"""
PENDING_PROMPTS = """
select substr(content, 1, :chars) as content, coalesce(said_at, read_at) as at from turns
where session_id = :session_id and role = 'user' and agent = '' and id in (select value from json_each(:ids))
order by id
"""
SPAN = """
select min(at) as first, max(at) as last from (
    select coalesce(said_at, read_at) as at from turns where session_id = :session_id
    union all select created_at from user_prompts where session_id = :session_id
)
"""
PROMPTS = f"""
select substr(content, 1, :chars) as content, created_at from user_prompts
where session_id = :session_id and {own("user_prompts")} order by id limit :limit
"""
NEXT_START = "select min(started_at) from sessions where project = :project and started_at > :moment"
SUMMARY = f"""
select id, origin, tool_name, content_hash, deleted_at, lifecycle from observations
where type = 'session_summary' and session_id = :session_id and {OWN}
order by origin = 'derived' or deleted_at is not null, origin <> 'derived', id desc limit 1
"""


@dataclass(frozen=True, slots=True)
class DueSession:
    """A session whose turns may wait. ``followed``: the same agent began another one in the project since."""

    id: str
    project: str
    directory: str
    agent: str
    started_at: str
    ended_at: str | None
    summary: str | None
    state: str | None
    attempts: int
    detail: str
    tried_at: str | None
    last_turn_at: str | None
    followed: int


def waiting(store: Store, *, project: str | None = None) -> list[DueSession]:
    """Return the sessions with turns to distill, the last active first."""
    return [DueSession(*row) for row in store.tuples(WAITING, project=project, limit=_MOST_WAITING)]


def session(store: Store, session_id: str) -> DueSession | None:
    rows = store.tuples(ONE, id=session_id, limit=1)
    return DueSession(*rows[0]) if rows else None


def pending(store: Store, session_id: str) -> tuple[list[int], int]:
    """Return the ids of the turns that wait, and how many characters they and the prompts beside them hold."""
    rows = store.tuples(PENDING, session_id=session_id)
    chars = sum(row[1] for row in rows) + int(store.value(NEW_PROMPT_CHARS, session_id=session_id))
    return [row[0] for row in rows], chars


def asked_in(store: Store, session_id: str, turn_ids: Sequence[int]) -> list[tuple[str, str]]:
    """Return what the person said in these turns, and when."""
    values = {"session_id": session_id, "ids": turn_ids, "chars": TURN_CHARS}
    return [(text, at) for text, at in store.tuples(PENDING_PROMPTS, **values)]


def turns(store: Store, session_id: str) -> list[Row]:
    """Return the first and the last turns of a session, in order."""
    sizes = {"first": FIRST_TURNS, "last": LAST_TURNS, "chars": TURN_CHARS}
    return store.rows(TURNS, session_id=session_id, **sizes)


def prompts(store: Store, session_id: str) -> list[Row]:
    return store.rows(PROMPTS, session_id=session_id, chars=TURN_CHARS, limit=MOST_PROMPTS)


def span(store: Store, session_id: str) -> tuple[str | None, str | None]:
    """Return when the first and the last turn was said, by the clocks of the agent and of this machine."""
    row = store.row(SPAN, session_id=session_id)
    return (row["first"], row["last"]) if row is not None else (None, None)


def next_start(store: Store, project: str, moment: str) -> str | None:
    """Return when the next session of a project began."""
    start: str | None = store.value(NEXT_START, project=project, moment=moment)
    return start


def summary(store: Store, session_id: str) -> Row | None:
    """The summary a session has, or had: one that was not derived before one that was."""
    return store.row(SUMMARY, session_id=session_id)


def settle(store: Store, session_id: str, turn_ids: Sequence[int], now: str, **columns: Any) -> None:
    """Mark exactly these turns as distilled and the session with ``columns``; with turns that came meanwhile it goes
    on waiting. Call inside a transaction."""
    sql = "update turns set distilled_at = :now where id in (select value from json_each(:ids))"
    store.execute(sql, now=now, ids=turn_ids)
    more = "select 1 from turns where session_id = :id and distilled_at is null limit 1"
    if store.row(more, id=session_id) is not None:
        columns["distill_state"] = "pending"
    store.update("sessions", {"id": session_id}, columns)


def date(store: Store, row: Observation, at: str, salience: float) -> None:
    """Give a derived row the time of what it is about, and its weight. Call inside a transaction."""
    store.update("observations", {"id": row.id}, {"created_at": at, "updated_at": at, "salience": salience})


# Notes of a day and of meetings, and prompts: what nobody distills.
NEW_NOTES = f"""
select id, project, session_id, origin, content, created_at as at from observations
where id > :after and (type = 'note' or type like 'meeting%') and deleted_at is null and origin in ('user', 'agent')
  and {OWN}
order by id limit :limit
"""
NEW_PROMPTS = f"""
select id, project, session_id, 'user' as origin, content, created_at as at from user_prompts
where id > :after and {own("user_prompts")} order by id limit :limit
"""

SAME_TEXT = """
select id, session_id, origin, lifecycle, created_at from observations
where content_hash = :hash and deleted_at is null and (project = :project or scope = 'personal') and type <> 'note'
  and (:kind is null or type = :kind)
order by lifecycle = 'active' desc, id desc
"""


def same_text(store: Store, content_hash: str, project: str, *, kind: str | None = None) -> list[Row]:
    """Return the live rows of this text in a project and of the person but notes, active ones first."""
    return store.rows(SAME_TEXT, hash=content_hash, project=project, kind=kind)


SAVED_SINCE = """
select title from observations
where session_id = :session_id and updated_at >= :at and deleted_at is null and lifecycle = 'active'
  and origin <> 'derived' and type not in ('note', 'session_summary', 'entity')
"""


def saved_since(store: Store, session_id: str, at: str) -> list[str]:
    """Return the titles of what a person or an agent saved in a session from then on."""
    return [title for [title] in store.tuples(SAVED_SINCE, session_id=session_id, at=at)]


def is_new(store: Store, *, prompts: bool) -> bool:
    """Return whether a note or, with ``prompts``, a prompt came that was not read yet."""
    sources = {"notes": NEW_NOTES, **({"prompts": NEW_PROMPTS} if prompts else {})}
    return any(store.row(sql, after=read_up_to(store, name), limit=1) is not None for name, sql in sources.items())


def read_up_to(store: Store, source: str) -> int:
    """Return the id of the last row of ``notes`` or ``prompts`` that was read for what is said in it."""
    return int(get_meta(store, f"learned:{source}") or 0)


def failures(store: Store) -> list[Row]:
    """Return the sessions whose distiller failed for good, and those whose last try failed, latest first."""
    sql = """
    select id, project, distill_state, distill_attempts, distill_detail from sessions
    where distill_attempts > 0 or (distill_state = 'pending' and distill_tried_at is not null)
    order by last_turn_at desc, id limit 50
    """
    return store.rows(sql)


_ANY = "select 1 from sessions where distill_state = 'pending' and project = :project and id <> :without limit 1"
_ONE = "select 1 from sessions where distill_state = 'pending' and id = :id"


def any_waiting(store: Store, project: str, *, without: str) -> bool:
    """Return whether a session of the project has turns to distill, but for one."""
    return store.row(_ANY, project=project, without=without) is not None


def is_waiting(store: Store, session_id: str) -> bool:
    """Return whether a session has turns to distill."""
    return store.row(_ONE, id=session_id) is not None
