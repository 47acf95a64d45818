"""Count how often observations are shown: in memory first, written later, never blocking another writer."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from engram_py.base.database.connection import of_any_driver
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.errors import StoreError
from engram_py.base.times import to_text

# Fifty rows take a millisecond that a search has not, so they are written later, on a thread of their own.
LONGEST_WAIT_SECONDS = 5.0
# When the file cannot be written for a long time, counting stops here instead of growing.
MOST_KEPT = 5_000


HOT_DAYS, WARM_DAYS, BUSY = 7, 30, 10

T = TypeVar("T")


def tier(access_count: int, last: datetime | None, now: datetime) -> str:
    """Return ``hot`` up to 7 days after the last use, ``warm`` up to 30, then ``cold``; ten uses are a step warmer."""
    days = (now - last) / timedelta(days=1) if last is not None else 0.0
    busy = access_count >= BUSY
    if days <= (WARM_DAYS if busy else HOT_DAYS):
        return "hot"
    return "warm" if busy or days <= WARM_DAYS else "cold"


class Alarm(Protocol):
    """A call that is going to be made on a thread of its own."""

    def start(self) -> None: ...
    def cancel(self) -> None: ...


def timer(seconds: float, call: Callable[[], object]) -> Alarm:
    """Return an alarm whose thread keeps no process from ending."""
    alarm = threading.Timer(seconds, call)
    alarm.daemon = True
    return alarm


class Deferred:
    """Keeps counts in memory and has them written by an alarm; a closed one sets no alarm any more."""

    def __init__(
        self, store: Store, journal: Journal, *, later: Callable[[float, Callable[[], object]], Alarm] = timer
    ) -> None:
        self._store = store
        self._journal = journal
        self._later = later
        self._alarm: Alarm | None = None
        self._urgent = False
        self._refused = False  # the last attempt to write
        self._closed = False
        self._lock = threading.Lock()

    def flush(self) -> bool:
        """Write the counts; False when the file is busy or cannot be written, and they wait."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what is left unless the file is busy; the rest is dropped."""
        self._closed = True
        self.flush()

    def _schedule(self, seconds: float, call: Callable[[], object], *, urgent: bool) -> None:
        """Set the alarm, unless one is set already that is as urgent."""
        if not self._closed and (self._alarm is None or (urgent and not self._urgent)):
            self._clear_alarm()
            alarm = self._later(seconds, call)
            with suppress(RuntimeError):  # no thread available; the next count tries again
                alarm.start()
                self._alarm, self._urgent = alarm, urgent

    def _clear_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._urgent = None, False


class Usage(Deferred):
    """Counts observations that were surfaced: found by a search, part of a context, or opened by id.

    Lists, timelines, exports and pages to browse do not count: what a person walks past says nothing about worth.
    The counters are no change that other machines hear about, and not one of ``updated_at``. They are written after
    the next write, or a few seconds later.
    """

    def __init__(
        self, store: Store, journal: Journal, *, later: Callable[[float, Callable[[], object]], Alarm] = timer
    ) -> None:
        super().__init__(store, journal, later=later)
        self._waiting: dict[int, tuple[int, str]] = {}
        self._thread = threading.local()
        store.after_write.append(self._after_write)

    def surfaced(self, ids: Iterable[int]) -> None:
        """Add one to the count of each id. Never fails or waits."""
        if getattr(self._thread, "is_paused", False):
            return
        ids = tuple(ids)
        collecting: set[int] | None = getattr(self._thread, "collecting", None)
        if collecting is not None:
            collecting.update(ids)
        now = to_text(self._journal.moment())
        with self._lock:
            for row_id in ids:
                if row_id in self._waiting or len(self._waiting) < MOST_KEPT:
                    self._waiting[row_id] = (self._waiting.get(row_id, (0, now))[0] + 1, now)
            self._schedule(LONGEST_WAIT_SECONDS, self.flush, urgent=False)

    def flush(self) -> bool:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            self._clear_alarm()
        if not waiting:
            return True
        try:
            counted = _count_shown(self._store, waiting)
        except of_any_driver(sqlite3.Error, StoreError):
            counted = False
        if not counted:
            with self._lock:
                for row_id, (times, at) in self._waiting.items():
                    waiting[row_id] = (waiting.get(row_id, (0, at))[0] + times, at)
                self._waiting = waiting
                self._schedule(LONGEST_WAIT_SECONDS, self.flush, urgent=False)
        return counted

    def paused(self) -> AbstractContextManager[bool]:
        """Do not count what this thread surfaces meanwhile."""
        return self._meanwhile("is_paused", True)

    def collected(self) -> AbstractContextManager[set[int]]:
        """Collect the ids that this thread surfaces meanwhile: those one answer shows."""
        return self._meanwhile("collecting", set[int]())

    @contextmanager
    def _meanwhile(self, name: str, value: T) -> Iterator[T]:
        before = getattr(self._thread, name, None)
        setattr(self._thread, name, value)
        try:
            yield value
        finally:
            setattr(self._thread, name, before)

    def _after_write(self) -> None:
        if self._waiting:
            self.flush()


# Counters alone: no trigger of the search index fires for them, and what other machines hear about stays as it was.
COUNT = """
update observations
set access_count = access_count + :times, last_accessed_at = max(coalesce(last_accessed_at, ''), :at)
where id = :id
"""


def _count_shown(store: Store, shown: Mapping[int, tuple[int, str]]) -> bool:
    """Add ``(times, last)`` to the counters of each id, in one transaction that waits for nobody.

    Returns False in the middle of another write. Raises sqlite3.Error (busy, full, read-only): nothing is counted then.
    """
    values = [{"id": row_id, "times": times, "at": at} for row_id, (times, at) in shown.items()]
    with store.in_passing() as connection:
        if connection is None:
            return False
        connection.execute("begin immediate")
        connection.executemany(COUNT, values)
        connection.execute("commit")
        return True
