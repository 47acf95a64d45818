"""Schedule syncs: backoff after failures, whether a hook should start a sync, and the thread of a server process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from engram_py.base.database.store import Row, Store
from engram_py.base.errors import StoreError
from engram_py.base.lazy import logger_of
from engram_py.base.settings import Settings
from engram_py.base.times import parse_time, passed, to_text
from engram_py.sharing.sync.autosync import table
from engram_py.sharing.sync.autosync.login import current_login, token_fingerprint
from engram_py.sharing.sync.autosync.table import TARGET, CloudSynced
from engram_py.sharing.sync.errors import CloudFailedError
from engram_py.sharing.sync.replica.table import newest_seq

if TYPE_CHECKING:
    from engram_py.base.database.mutation_queue import Journal

logger = logger_of(__name__)

FIRST_SECONDS, LONGEST_SECONDS = 1.0, 300.0
JITTER = 0.25
# The longest backoff; a later time was written by a wrong clock.
MOST_SECONDS = 3_600.0


def delay(failures: int, *, chance: float, retry_after: float | None = None) -> float:
    """Return the seconds until the next try: 1 s doubled with each failure, at most 5 minutes, ± 25 %.

    ``chance`` in [0, 1) spreads machines that failed together. What the server asked for is the least.
    """
    base = min(FIRST_SECONDS * 2.0 ** min(failures - 1, 20), LONGEST_SECONDS / (1 + JITTER))
    spread = base * (1 - JITTER + 2 * JITTER * chance)
    return min(max(spread, retry_after or 0.0), MOST_SECONDS)


def remaining(until: str | None, now: datetime, *, most: float) -> float:
    """Return the seconds from ``now`` to ``until``; 0 when it is past or more than ``most`` away.

    A clock that was set back would otherwise freeze what waits for it.
    """
    moment = parse_time(until)
    if moment is None:
        return 0.0
    left = (moment - now) / timedelta(seconds=1)
    return left if 0 < left <= most else 0.0


@contextmanager
def stopped_after(seconds: float) -> Iterator[threading.Event]:
    """Yield an event that is set when the time is over."""
    stopped = threading.Event()
    timer = threading.Timer(seconds, stopped.set)
    timer.daemon = True
    timer.start()
    try:
        yield stopped
    finally:
        timer.cancel()


# A server process asks every 30 to 35 seconds, and notices a hook's writes in between: while it does, nothing is due.
QUIET_SECONDS = 45.0


def is_due(store: Store, settings: Settings, now: datetime, *, last: bool) -> bool:
    """Return whether a hook should start a process that syncs: nobody else does, and no backoff runs.

    ``last``, the end of a session: the agent's server ends too, so what waits is sent whoever synced just now.
    """
    if not settings.cloud_autosync:
        return False
    try:
        login = current_login(store, settings)
    except CloudFailedError:  # `engram cloud status` says which
        return False
    if login is None or not table.has_projects(store, login.server):
        return False
    row = table.state(store, TARGET)
    if row is None:
        return True
    if row["refused_token"] and (not login.given or row["refused_token"] == token_fingerprint(login.given)):
        return False  # until the next login
    waits = (row["push_backoff_until"], row["pull_backoff_until"])
    if all(remaining(until, now, most=MOST_SECONDS) for until in waits):
        return False
    if passed(row["last_attempt_at"], now, seconds=QUIET_SECONDS):
        return True
    return last and table.anything_waits(store, login.server)


def begin(store: Store, now: datetime) -> None:
    """Record an attempt, so that other hooks do not start one too. Raises StoreError."""
    with store.transaction():
        table.set_state(store, TARGET, last_attempt_at=to_text(now))


# --- in the background -------------------------------------------------------------------------------------

DEBOUNCE_SECONDS = 0.5
POLL_SECONDS = 30.0
# Interval of the check for writes of other processes on this machine (hooks, commands).
LOOK_SECONDS = 5.0
_BUSY_SECONDS = 1.0
_LEAST_SECONDS = 0.05


class Exchanger(Protocol):
    """What the thread runs: one exchange with the server at a time. ``more``: there was no time for all of it."""

    more: bool

    def once(self) -> CloudSynced | None: ...
    def last(self) -> None: ...
    def release(self) -> None: ...
    def close(self) -> None: ...


class SyncWorker:
    """The background thread of a server process: it syncs soon after a write, and every 30 seconds for remote changes.

    Until somebody logs in it costs one query every 30 seconds, and ``make`` loads nothing.
    """

    def __init__(
        self, store: Store, journal: Journal, settings: Settings, make: Callable[[threading.Event], Exchanger]
    ) -> None:
        from engram_py.base.worker import Periodic  # a hook asks this module whether a sync is due

        self._store = store
        self._journal = journal
        self._settings = settings
        self._make = make
        self._exchange: Exchanger | None = None
        self._seen = -1
        self._on = False
        self._thread = Periodic(
            self._look, name="engram-autosync", every=POLL_SECONDS, gather=DEBOUNCE_SECONDS, end=self._finish
        )

    def start(self) -> None:
        self._store.after_write.append(self.wake)
        self._thread.start()

    def wake(self) -> None:
        """Tell the thread that something was written; called after every commit, so it is cheap and never fails."""
        if self._on:  # nothing wakes it without a login
            self._thread.wake()

    def stop(self, *, seconds: float) -> None:
        """Ask the thread to end, and wait for it for at most ``seconds``."""
        self._thread.stop(seconds=seconds)
        if self._exchange is not None:
            with suppress(StoreError):
                self._exchange.release()

    def look(self) -> float:
        """Sync if it is due; return the seconds until the next look."""
        row = table.state(self._store, TARGET)
        newest = newest_seq(self._store)
        if newest == self._seen and not self._due(row):
            return self._seconds_to_next(row, LOOK_SECONDS)
        exchange = self._exchange = self._exchange or self._make(self._thread.stopped)
        done = exchange.once()
        if done is not None and done.outcome == "busy":
            return _BUSY_SECONDS
        self._seen = newest
        if exchange.more:
            return 0.0
        return self._seconds_to_next(table.state(self._store, TARGET), POLL_SECONDS if done is None else LOOK_SECONDS)

    @property
    def is_on(self) -> bool:
        """Return whether somebody is logged in and background sync is on. A login takes effect within 30 seconds."""
        if not self._settings.cloud_autosync:
            return False
        return bool(self._settings.cloud_server and self._settings.cloud_token) or table.login(self._store) is not None

    def _look(self) -> float | None:
        self._on = self.is_on
        return self.look() if self._on else None

    def _finish(self) -> None:
        try:
            self._send_rest()
        except Exception:  # the file was closed meanwhile: what is left is sent by the next process
            logger.info("the last changes wait for the next process")
        finally:
            if self._exchange is not None:
                self._exchange.close()

    def _send_rest(self) -> None:
        """Push what was written in the last half second, if the server answered the push before."""
        if not self.is_on or newest_seq(self._store) == self._seen:
            return
        row = table.state(self._store, TARGET)
        if row is not None and not row["push_failures"]:
            exchange = self._exchange = self._exchange or self._make(self._thread.stopped)
            exchange.last()

    def _due(self, row: Row | None) -> bool:
        if row is None:
            return True
        ended = any(row[name] and not left for name, left in self._backoffs(row).items())
        return ended or passed(row["last_attempt_at"], self._journal.moment(), seconds=POLL_SECONDS)

    def _seconds_to_next(self, row: Row | None, most: float) -> float:
        if row is None:
            return most
        return max(_LEAST_SECONDS, min([most, *(left for left in self._backoffs(row).values() if left)]))

    def _backoffs(self, row: Row) -> dict[str, float]:
        """Return the seconds that are left of each direction's backoff, by its column."""
        now = self._journal.moment()
        names = ("push_backoff_until", "pull_backoff_until")
        return {name: remaining(row[name], now, most=MOST_SECONDS) for name in names}
