"""How often an observation was shown: counted in memory, written down now and then, never in anybody's way."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.errors import StoreError
from engram_py.observations import usage_table as table
from engram_py.times import to_text

MOST_WAITING = 50
LONGEST_WAIT_SECONDS = 30.0
# Many are written down when nothing was shown for so long, or there are too many to write in passing (10 ms). At once
# they would be in the way of the answer that is being sent, and of the search after it.
QUIET_SECONDS = 0.5
MOST_AT_ONCE = 500
# When the file cannot be written for a long time, counting stops here instead of growing.
MOST_KEPT = 5_000


class Alarm(Protocol):
    """A call that is going to be made on a thread of its own."""

    def start(self) -> None: ...
    def cancel(self) -> None: ...


def timer(seconds: float, call: Callable[[], object]) -> Alarm:
    """An alarm whose thread keeps no process from ending."""
    alarm = threading.Timer(seconds, call)
    alarm.daemon = True
    return alarm


class Usage:
    """Counts observations that were surfaced: found by a search, part of a context, or opened by id.

    Lists, timelines, exports and pages to browse do not count: what a person walks past says nothing about worth.
    The counters are no change that other machines hear about, and not one of ``updated_at``. They are written after
    the next write, or on a thread of their own when there are many and nobody searches, or they have waited long: fifty
    rows take milliseconds that a search has not.
    """

    def __init__(
        self, store: Store, journal: Journal, *, later: Callable[[float, Callable[[], object]], Alarm] = timer
    ) -> None:
        self._store = store
        self._journal = journal
        self._later = later
        self._waiting: dict[int, tuple[int, str]] = {}
        self._alarm: Alarm | None = None
        self._urgent = False
        self._more = False  # something was shown since the alarm was set
        self._put_off = 0  # how often, because somebody searched
        self._refused = False
        self._closed = False
        self._lock = threading.Lock()
        self._hushed = threading.local()
        store.after_write.append(self._after_write)

    def surfaced(self, ids: Iterable[int]) -> None:
        """Count each id once more. Never fails, and waits for nothing."""
        if getattr(self._hushed, "on", False):
            return
        ids = tuple(ids)
        heard: set[int] | None = getattr(self._hushed, "heard", None)
        if heard is not None:
            heard.update(ids)
        now = to_text(self._journal.moment())
        with self._lock:
            for row_id in ids:
                if row_id in self._waiting or len(self._waiting) < MOST_KEPT:
                    self._waiting[row_id] = (self._waiting.get(row_id, (0, now))[0] + 1, now)
            self._more = True
            self._set_alarm()

    def flush(self) -> bool:
        """Write down what was counted; False when it has to wait, because somebody else writes or cannot."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            self._clear_alarm()
        if not waiting:
            return True
        try:
            counted = table.count_shown(self._store, waiting)
        except (sqlite3.Error, StoreError):
            counted = False
        with self._lock:
            self._refused = not counted
            if not counted:
                self._put_back(waiting)
                self._set_alarm()
        return counted

    def close(self) -> None:
        """Write down what is left, if nobody is in the way; the rest is forgotten."""
        self._closed = True
        self.flush()

    @contextmanager
    def hushed(self) -> Iterator[None]:
        """What is looked up meanwhile on this thread is not shown to anybody as it is, and not counted."""
        before = getattr(self._hushed, "on", False)
        self._hushed.on = True
        try:
            yield
        finally:
            self._hushed.on = before

    @contextmanager
    def heard(self) -> Iterator[set[int]]:
        """The ids that are surfaced meanwhile on this thread: what one answer shows."""
        before = getattr(self._hushed, "heard", None)
        shown: set[int] = set()
        self._hushed.heard = shown
        try:
            yield shown
        finally:
            self._hushed.heard = before

    def _after_write(self) -> None:
        if self._waiting:
            self.flush()

    def _set_alarm(self) -> None:
        """See that what waits is written down: at once where there is much of it, else in half a minute."""
        if self._closed or not self._waiting:
            return
        urgent = len(self._waiting) >= MOST_WAITING and not self._refused
        if self._alarm is None or (urgent and not self._urgent):
            self._clear_alarm()
            self._urgent = urgent
            self._arm(QUIET_SECONDS if urgent else LONGEST_WAIT_SECONDS, self._when_quiet if urgent else self.flush)

    def _when_quiet(self) -> None:
        """Write it down unless somebody is searching, one after the other."""
        with self._lock:
            late = len(self._waiting) >= MOST_AT_ONCE or self._put_off * QUIET_SECONDS >= LONGEST_WAIT_SECONDS
            searching = self._more and not late and not self._closed
            if searching:
                self._more = False
                self._put_off += 1
                self._arm(QUIET_SECONDS, self._when_quiet)
        if not searching:
            self.flush()

    def _arm(self, seconds: float, call: Callable[[], object]) -> None:
        self._alarm = self._later(seconds, call)
        self._alarm.start()

    def _clear_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._urgent, self._put_off = None, False, 0

    def _put_back(self, waiting: dict[int, tuple[int, str]]) -> None:
        for row_id, (times, at) in self._waiting.items():
            waiting[row_id] = (waiting.get(row_id, (0, at))[0] + times, at)
        self._waiting = waiting
