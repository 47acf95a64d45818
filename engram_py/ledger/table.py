"""SQL over what the memory's answers cost: counting them, and adding them up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engram_py.database.store import Row, Store

# The session's own project, where it has one: a caller may stand in one project and write into a session of another.
COUNT = """
insert into ledger (session_id, project, day, door, name, calls, bytes)
values (
    :session_id, coalesce((select project from sessions where id = :session_id), :project),
    :day, :door, :name, :calls, :bytes
)
on conflict (session_id, day, door, name) do update set
    calls = calls + excluded.calls, bytes = bytes + excluded.bytes
"""

# What was destroyed since it was shown leaves nothing.
RECALL = """
insert into recalls (session_id, observation_id, times, bytes, recalled_at)
select :session_id, id, :times, :bytes, :at from observations where id = :id
on conflict (session_id, observation_id) do update set
    times = times + excluded.times, bytes = bytes + excluded.bytes, recalled_at = max(recalled_at, excluded.recalled_at)
"""

_SHRINK = "delete from {table} where id <= (select max(id) from {table}) - :most"
SHRINK = tuple(_SHRINK.format(table=table) for table in ("ledger", "recalls"))

# A merged project's sessions have moved; one without a row is where the ledger says.
SCOPE = """
with scope as (
    select id from sessions where project = :project
    union
    select session_id from ledger
    where project = :project and not exists (select 1 from sessions where id = ledger.session_id)
)
"""
IN_SCOPE = """(:session_id is null or session_id = :session_id)
  and (:project is null or session_id in (select id from scope))
"""

DOORS = f"""
{SCOPE}
select door, name, sum(calls) as calls, sum(bytes) as bytes from ledger
where {IN_SCOPE} and day >= :since
group by door, name
order by door, bytes desc, name
"""

SESSIONS = f"""
{SCOPE}
select
    session_id as id,
    coalesce((select project from sessions where id = session_id), max(project)) as project,
    max(day) as day,
    sum(calls) as calls,
    sum(bytes) as bytes,
    count(*) over () as total
from ledger where {IN_SCOPE} and day >= :since
group by session_id
order by bytes desc, session_id limit :limit
"""

SHARES = f"""
{SCOPE},
injected as (
    select observation_id, sum(bytes) as bytes from injections
    where {IN_SCOPE} and injected_at >= :since
    group by observation_id
),
recalled as (
    select observation_id, sum(bytes) as bytes from recalls
    where {IN_SCOPE} and recalled_at >= :since
    group by observation_id
),
cited as (select distinct observation_id from citations where {IN_SCOPE} and last_at >= :since),
shown as (
    select observation_id, sum(bytes) as bytes
    from (select * from injected union all select * from recalled)
    group by observation_id
)
select 'injected' as share, count(*) as observations, coalesce(sum(bytes), 0) as bytes from injected
union all
select 'recalled', count(*), coalesce(sum(bytes), 0) from recalled
union all
select 'cited', count(*), coalesce(sum(shown.bytes), 0) from cited left join shown using (observation_id)
union all
select 'never_used', count(*), coalesce(sum(bytes), 0) from shown where observation_id not in cited
"""

READ = f"""
{SCOPE}
select
    exists (select 1 from transcripts where {IN_SCOPE})
    or exists (select 1 from turns where {IN_SCOPE})
    or exists (select 1 from citations where {IN_SCOPE})
"""

KNOWN = """
select
    exists (select 1 from sessions where id = :session_id)
    or exists (select 1 from ledger where session_id = :session_id)
"""


def count(store: Store, rows: Iterable[Mapping[str, Any]], recalls: Iterable[Mapping[str, Any]], *, most: int) -> bool:
    """Add to the counters in one transaction that waits for nobody, keeping the latest ``most`` rows of each table.

    False when this process is in the middle of another write. Raises sqlite3.Error (busy, full, read-only): nothing
    is counted then. It is no write that ``store.writes`` counts.
    """
    with store.in_passing() as connection:
        if connection is None:
            return False
        connection.execute("begin immediate")
        connection.executemany(COUNT, rows)
        connection.executemany(RECALL, recalls)
        for statement in SHRINK:
            connection.execute(statement, {"most": most})
        connection.execute("commit")
        return True


def count_one(store: Store, row: Mapping[str, Any], *, most: int) -> None:
    """Add one row's counters. Call inside a transaction."""
    store.execute(COUNT, **row)
    store.execute(SHRINK[0], most=most)


def doors(store: Store, scope: Mapping[str, Any]) -> list[Row]:
    """Calls and bytes of each tool, event and route. ``scope`` holds ``session_id``, ``project`` and ``since``."""
    return store.rows(DOORS, **scope)


def sessions(store: Store, scope: Mapping[str, Any], *, limit: int) -> list[Row]:
    """The sessions that were given most; ``total`` is how many there are."""
    return store.rows(SESSIONS, **scope, limit=limit)


def shares(store: Store, scope: Mapping[str, Any]) -> dict[str, Row]:
    """Return how many observations were injected, recalled, cited and never used, and their bytes."""
    return {row["share"]: row for row in store.rows(SHARES, **scope)}


def was_read(store: Store, scope: Mapping[str, Any]) -> bool:
    """Return whether any message in scope was read, so that its citations are known."""
    return bool(store.value(READ, session_id=scope["session_id"], project=scope["project"]))


def known(store: Store, session_id: str) -> bool:
    """Return whether anything was ever kept or counted for a session."""
    return bool(store.value(KNOWN, session_id=session_id))
