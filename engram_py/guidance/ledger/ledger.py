"""Count what answers cost: in memory first, written later, never blocking another writer."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from engram_py.base.database.connection import of_any_driver
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import asdict, dataclass
from engram_py.base.errors import EngramError
from engram_py.base.times import to_text
from engram_py.memory.observations.usage import Alarm, Deferred, timer

if TYPE_CHECKING:
    from engram_py.guidance.ledger.costs import Door

MOST_WAITING = 200  # answers
LONGEST_WAIT_SECONDS = 5.0
# When the file cannot be written for a long time, new keys are dropped from here on; known ones go on adding up.
MOST_KEPT = 5_000
MOST_ROWS = 20_000

K = TypeVar("K")

# Returns the session and the project of a caller. Called later, after the answer was sent.
Caller = Callable[[], tuple[str, str]]

_Key = tuple[str, str, str, str, str]  # session, project, day, door, name


# Door, name, bytes, when, the session that was named, who the caller is, and the observations that were shown.
_Answer = tuple[str, str, int, str, str | None, Caller, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum of answers: their number, their bytes, and the time of the last."""

    times: int
    bytes: int
    at: str


class Ledger(Deferred):
    """Counts the bytes that sessions are given, by day and by tool, event of a hook or route.

    Answers are only noted at first; a thread adds them up and writes them seconds or 200 answers later, in a
    transaction that does not wait. A killed process loses what it did not write. The counters stay on this machine and
    hold ids and numbers only.
    """

    def __init__(
        self, store: Store, journal: Journal, *, later: Callable[[float, Callable[[], object]], Alarm] = timer
    ) -> None:
        super().__init__(store, journal, later=later)
        self._answers: list[_Answer] = []
        self._sums: dict[_Key, _Sum] = {}
        self._recalls: dict[tuple[str, int], _Sum] = {}

    def answered(
        self,
        door: Door,
        name: str,
        size: int,
        *,
        caller: Caller,
        session_id: str | None = None,
        shown: Collection[int] = (),
    ) -> None:
        """Note an answer of ``size`` bytes that showed some observations. Never fails or waits.

        ``session_id`` is the session that the caller named, if it did.
        """
        now = to_text(self._journal.moment())
        with self._lock:
            if len(self._answers) < MOST_KEPT:
                self._answers.append((door, name, size, now, session_id, caller, tuple(shown)))
            self._set_alarm()

    def injected(self, session_id: str, event: str, size: int) -> None:
        """Count what a hook shows its agent unasked. Call inside a transaction, after the session's row is there.

        Raises InvalidInputError: ``session_id`` is not valid.
        """
        from engram_py.memory.observations.validation import clean_session_id

        session_id = clean_session_id(session_id)
        key = (session_id, "", str(self._journal.calendar.today), "hook", event)
        count_one(self._store, _row(key, 1, size), most=MOST_ROWS)

    def settle(self) -> None:
        """Resolve the session and project of the noted answers: before a session ends, and before writing."""
        with self._lock:
            answers, self._answers = self._answers, []
        callers = {(session_id, caller) for *_, session_id, caller, _ in answers}
        owners = {caller: _owner(*caller) for caller in callers}
        calendar = self._journal.calendar
        with self._lock:
            for door, name, size, at, session_id, caller, shown in answers:
                owner, project = owners[session_id, caller]
                _add(self._sums, (owner, project, str(calendar.day_of(at)), door, name), _Sum(1, size, at))
                for row_id in shown:
                    # An answer is shared evenly between what it shows: the parts are never more than the whole.
                    _add(self._recalls, (owner, row_id), _Sum(1, size // len(shown), at))

    def flush(self) -> bool:
        self.settle()
        with self._lock:
            sums, self._sums = self._sums, {}
            recalls, self._recalls = self._recalls, {}
            self._clear_alarm()
        if not sums:
            return True
        rows = [_row(key, one.times, one.bytes) for key, one in sums.items()]
        shown = [
            {"session_id": session_id, "id": row_id, **asdict(one)} for (session_id, row_id), one in recalls.items()
        ]
        try:
            counted = count(self._store, rows, shown, most=MOST_ROWS)
        except of_any_driver(sqlite3.Error, EngramError):
            counted = False
        with self._lock:
            self._refused = not counted
            if not counted:
                for key, one in sums.items():
                    _add(self._sums, key, one)
                for shown_key, one in recalls.items():
                    _add(self._recalls, shown_key, one)
            self._set_alarm()
        return counted

    def _set_alarm(self) -> None:
        """See that what waits is written down: at once where there is much of it, else in some seconds."""
        if len(self._answers) >= MOST_WAITING and not self._refused:
            self._schedule(0.0, self.flush, urgent=True)
        elif self._answers or self._sums:
            self._schedule(LONGEST_WAIT_SECONDS, self.flush, urgent=False)


def _add(sums: dict[K, _Sum], key: K, more: _Sum) -> None:
    if old := sums.get(key):
        more = _Sum(old.times + more.times, old.bytes + more.bytes, max(old.at, more.at))
    if old or len(sums) < MOST_KEPT:
        sums[key] = more


def _row(key: _Key, calls: int, size: int) -> dict[str, Any]:
    session_id, project, day, door, name = key
    values = {"session_id": session_id, "project": project, "day": day, "door": door, "name": name}
    return values | {"calls": calls, "bytes": size}


def _owner(session_id: str | None, caller: Caller) -> tuple[str, str]:
    """Return the session and the project of an answer; empty where they cannot be told any more."""
    try:
        own, project = caller()
    except of_any_driver(EngramError, OSError, sqlite3.Error):
        own, project = "", ""
    if not session_id or not session_id.strip():
        return own, project
    from engram_py.memory.observations.validation import clean_session_id  # redaction is not loaded for nothing

    try:
        return clean_session_id(session_id), project
    except EngramError:
        return own, project


# --- SQL over what the memory's answers cost: counting them, and adding them up ---

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
    where {IN_SCOPE} and injected_at >= :since_at
    group by observation_id
),
recalled as (
    select observation_id, sum(bytes) as bytes from recalls
    where {IN_SCOPE} and recalled_at >= :since_at
    group by observation_id
),
cited as (select distinct observation_id from citations where {IN_SCOPE} and last_at >= :since_at),
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
    """Calls and bytes of each tool, event and route. ``scope`` holds ``session_id``, ``project``, the day ``since`` and
    its beginning, ``since_at``."""
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
