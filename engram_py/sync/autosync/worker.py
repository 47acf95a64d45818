"""The background thread of a server process: it syncs soon after a write, and every 30 seconds for remote changes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from engram_py.database.journal import Journal
from engram_py.database.store import Row, Store
from engram_py.errors import StoreError
from engram_py.log import logger_of
from engram_py.sync.autosync import table
from engram_py.sync.autosync.schedule import MOST_SECONDS, passed, remaining
from engram_py.sync.autosync.settings import TARGET, CloudSettings
from engram_py.sync.replica.table import newest_seq

if TYPE_CHECKING:
    from engram_py.sync.autosync.exchange import Exchange

logger = logger_of(__name__)

DEBOUNCE_SECONDS = 0.5
POLL_SECONDS = 30.0
# Interval of the check for writes of other processes on this machine (hooks, commands).
LOOK_SECONDS = 5.0
_BUSY_SECONDS = 1.0
_LEAST_SECONDS = 0.05


class Worker:
    """The thread. Until somebody logs in it costs one query every 30 seconds."""

    def __init__(
        self, store: Store, journal: Journal, settings: CloudSettings, make: Callable[[threading.Event], Exchange]
    ) -> None:
        self._store = store
        self._journal = journal
        self._settings = settings
        self._make = make
        self._exchange: Exchange | None = None
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._seen = -1
        self._on = False
        self._thread = threading.Thread(target=self._run, name="engram-autosync", daemon=True)

    def start(self) -> None:
        self._store.after_write.append(self.wake)
        self._thread.start()

    def wake(self) -> None:
        """Tell the thread that something was written; called after every commit, so it is cheap and never fails."""
        # The thread's own writes do not wake it, and nothing does without a login.
        if self._on and threading.get_ident() != self._thread.ident:
            self._wake.set()

    def stop(self, *, seconds: float) -> None:
        """Ask the thread to end, and wait for it for at most ``seconds``."""
        self._stopped.set()
        self._wake.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(seconds)
        if self._exchange is not None:
            with contextlib.suppress(StoreError):
                self._exchange.release()

    def look(self) -> float:
        """Sync if it is due; return the seconds until the next look."""
        row = table.state(self._store, TARGET)
        newest = newest_seq(self._store)
        if newest == self._seen and not self._due(row):
            return self._seconds_to_next(row, LOOK_SECONDS)
        exchange = self._exchange = self._exchange or self._make(self._stopped)
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
        if not self._settings.autosync:
            return False
        return bool(self._settings.server and self._settings.token) or table.login(self._store) is not None

    def _run(self) -> None:
        while not self._stopped.is_set():
            if self._wake.wait(self._look_safely()):
                self._stopped.wait(DEBOUNCE_SECONDS)  # writes come in bursts
                self._wake.clear()
        try:
            self._send_rest()
        except Exception:  # the file was closed meanwhile: what is left is sent by the next process
            logger.info("the last changes wait for the next process")
        finally:
            if self._exchange is not None:
                self._exchange.close()

    def _look_safely(self) -> float:
        try:
            self._on = self.is_on
            return self.look() if self._on else POLL_SECONDS
        except StoreError as exc:
            logger.info("sync waits: %s", exc.message)
        except Exception:
            if not self._stopped.is_set():
                logger.exception("sync failed")
        return POLL_SECONDS

    def _send_rest(self) -> None:
        """Push what was written in the last half second, if the server answered the push before."""
        if not self.is_on or newest_seq(self._store) == self._seen:
            return
        row = table.state(self._store, TARGET)
        if row is not None and not row["push_failures"]:
            exchange = self._exchange = self._exchange or self._make(self._stopped)
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
