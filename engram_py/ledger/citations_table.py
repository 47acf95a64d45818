"""SQL over what sessions were shown unasked, and what they cited."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from engram_py.database.store import Store
from engram_py.sessions.turn_values import Tally

INJECT = """
insert into injections (session_id, observation_id, surface, bytes, visible, injected_at)
select :session_id, id, :surface, :bytes, :visible, :now
from observations
where id = :id and exists (select 1 from sessions where id = :session_id)
on conflict (session_id, observation_id, surface) do update set
    times = times + 1, bytes = bytes + excluded.bytes, visible = max(visible, excluded.visible),
    injected_at = excluded.injected_at
"""

VISIBLE = """
select distinct observation_id
from injections
where session_id = :session_id and visible = 1 and surface in (select value from json_each(:surfaces))
order by observation_id
"""

LAST_GIVEN = """
select max(injected_at)
from injections
where session_id = :session_id and surface in (select value from json_each(:surfaces))
"""

HIDE = "update injections set visible = 0 where session_id = :session_id and visible = 1"

# An id that names nothing, or what was destroyed, is no citation.
CITE = """
insert into citations (session_id, observation_id, times, injected, last_at)
select
    :session_id, observations.id, :times,
    exists (select 1 from injections where session_id = :session_id and observation_id = observations.id),
    :now
from observations
where observations.id = :id
on conflict (session_id, observation_id) do update set
    times = times + excluded.times, injected = max(injected, excluded.injected), last_at = excluded.last_at
"""

TALLIES = """
select
    value as id,
    (select count(distinct session_id) from injections where observation_id = value) as injected,
    (select count(*) from citations where observation_id = value) as cited
from json_each(:ids)
"""

_SHRINK = "delete from {table} where id <= (select max(id) from {table}) - :most"
SHRINK = tuple(_SHRINK.format(table=table) for table in ("injections", "citations"))


def inject(
    store: Store, shown: Mapping[int, int], *, visible: Collection[int], session_id: str, surface: str, now: str
) -> None:
    """Note that a session was shown each id, and how many bytes that took. Call inside a transaction."""
    values = {"session_id": session_id, "surface": surface, "now": now}
    for row_id, size in shown.items():
        store.execute(INJECT, **values, id=row_id, bytes=size, visible=int(row_id in visible))


def visible(store: Store, session_id: str, *, surfaces: Sequence[str]) -> set[int]:
    """The ids that one of the surfaces made visible since the session's context window began."""
    return {row[0] for row in store.rows(VISIBLE, session_id=session_id, surfaces=json.dumps(surfaces))}


def last_given(store: Store, session_id: str, *, surfaces: Sequence[str]) -> str | None:
    found: str | None = store.value(LAST_GIVEN, session_id=session_id, surfaces=json.dumps(surfaces))
    return found


def hide(store: Store, session_id: str) -> None:
    """A new context window began: nothing of what was shown is before the agent. Call inside a transaction."""
    store.execute(HIDE, session_id=session_id)


def cite(store: Store, cited: Mapping[int, int], *, session_id: str, now: str) -> int:
    """Count each id's citations; how many of the ids name an observation. Call inside a transaction."""
    found = 0
    for row_id, times in cited.items():
        found += store.execute(CITE, session_id=session_id, id=row_id, times=times, now=now).rowcount > 0
    return found


def tallies(store: Store, ids: Sequence[int]) -> dict[int, Tally]:
    """Of each id that was ever shown unasked or cited, in how many sessions."""
    rows = store.rows(TALLIES, ids=json.dumps(list(ids)))
    return {row["id"]: Tally(row["injected"], row["cited"]) for row in rows if row["injected"] or row["cited"]}


def shrink(store: Store, *, most: int) -> None:
    """Keep the latest ``most`` rows of each table. Call inside a transaction."""
    for statement in SHRINK:
        store.execute(statement, most=most)
