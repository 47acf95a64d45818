"""Sync with a server: the account, sync now or in the background, report the status."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.sync.autosync import table
from engram_py.sync.autosync.settings import CloudSettings
from engram_py.sync.autosync.values import CloudStatus, CloudSynced
from engram_py.sync.errors import CloudFailedError, NothingEnrolledError, NotLoggedInError
from engram_py.sync.replica.table import deferred_counts, deferred_rows

if TYPE_CHECKING:
    from engram_py.sync.autosync.account import Account
    from engram_py.sync.autosync.channel import Progress
    from engram_py.sync.autosync.exchange import Exchange
    from engram_py.sync.autosync.worker import Worker
    from engram_py.sync.replica.replica import Replica

# Every server process imports this module, and most never sync: the rest is imported where it is used.

_STOPPING_SECONDS = 2.0
_LEASE_PATIENCE_SECONDS = 10.0
_LEASE_LOOK_SECONDS = 0.25


class Autosync:
    """Sync with a server. Nothing is sent before somebody logs in and enrolls a project."""

    def __init__(
        self, store: Store, journal: Journal, replica: Callable[[], Replica], settings: CloudSettings | None = None
    ) -> None:
        self._store = store
        self._journal = journal
        self._replica = replica
        self._settings = settings or CloudSettings()
        self._worker: Worker | None = None

    # --- in the background ------------------------------------------------------------------------------

    def start(self) -> None:
        """Sync in the background from now on, once somebody has logged in: for a process that stays."""
        if self._worker is None and self._settings.autosync:
            from engram_py.sync.autosync.worker import Worker

            self._worker = Worker(self._store, self._journal, self._settings, self._exchange)
            self._worker.start()

    def stop(self) -> None:
        """End the background thread. What it has not sent is sent by the next process."""
        if self._worker is not None:
            self._worker.stop(seconds=_STOPPING_SECONDS)

    # --- the account ------------------------------------------------------------------------------------

    @property
    def account(self) -> Account:
        """Return what logs in and out, and enrolls projects."""
        from engram_py.sync.autosync.account import Account

        return Account(self._store, self._journal, self._settings)

    def status(self) -> CloudStatus:
        """Return the status from the database, without asking the server."""
        from engram_py.sync.autosync.status import cloud_status

        return cloud_status(self._store, self._journal, self._settings)

    def deferred(
        self, *, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> tuple[int, list[dict[str, Any]]]:
        """Return how many arrived rows could not be applied, and a page of them without their text."""
        counts = deferred_counts(self._store)
        total = counts.get(status, 0) if status else sum(counts.values())
        return total, deferred_rows(self._store, status=status, limit=limit, offset=offset)

    def replay(self) -> dict[str, int]:
        """Retry the deferred rows and return the counts."""
        before = sum(deferred_counts(self._store).values())
        done = self._replica().retry_deferred()
        after = deferred_counts(self._store)
        succeeded = done.applied + done.unchanged
        waits, dead = after.get("deferred", 0), after.get("dead", 0)
        return {"retried": before, "succeeded": succeeded, "failed": waits, "dead": dead}

    def credentials(self) -> tuple[str, str]:
        """Return the server and the token. Raises NotLoggedInError, CloudFailedError."""
        from engram_py.sync.autosync.login import current_login, token_of

        login = current_login(self._store, self._settings)
        if login is None:
            raise NotLoggedInError
        return login.server, token_of(self._store, login)

    # --- now --------------------------------------------------------------------------------------------

    def sync_now(self, *, progress: Progress | None = None) -> CloudSynced:
        """Fetch and send until both are at their ends, whatever failed before.

        What the server or the way to it does wrong is in the answer, as is that another process is at it.

        Raises NotLoggedInError, NothingEnrolledError, CloudFailedError (the server refused this token before).
        """
        server = self._ready()
        with closing(self._exchange(threading.Event())) as exchange:
            total = self._once(exchange, server, progress)
            while exchange.more and total.outcome == "done":
                total = _combined(total, self._once(exchange, server, progress))
        return total

    def catch_up(self, *, seconds: float) -> None:
        """Exchange until both are at their ends, for at most ``seconds``, unless failures before say to wait.

        For a process that nobody waits for. Never raises for the server's sake: how it went is in ``status``.
        """
        from engram_py.sync.autosync.schedule import stopped_after

        with stopped_after(seconds) as stopped, closing(self._exchange(stopped)) as exchange:
            for _ in _lease_attempts():
                done = exchange.once()
                while exchange.more and not stopped.is_set():
                    done = exchange.once()
                if done is None or done.outcome != "busy":
                    return

    def retry(self) -> CloudSynced:
        """Try again what was set aside, then sync. Raises as ``sync_now`` does."""
        server = self._ready()
        with closing(self._exchange(threading.Event())) as exchange:
            for _ in _lease_attempts():
                if exchange.retry_set_aside():
                    return self._once(exchange, server, None)
        return CloudSynced("busy", server)

    def _once(self, exchange: Exchange, server: str, progress: Progress | None) -> CloudSynced:
        for _ in _lease_attempts():
            done = exchange.once(now=True, progress=progress)
            if done is None:  # another process took the lease over, or the project was unenrolled meanwhile
                break
            if done.outcome != "busy":
                return done
        return CloudSynced("busy", server)

    def _ready(self) -> str:
        from engram_py.sync.autosync.login import token_fingerprint

        server, token = self.credentials()
        if not table.has_projects(self._store, server):
            raise NothingEnrolledError(server)
        if table.is_refused_token(self._store, token_fingerprint(token)):
            raise CloudFailedError("auth_required", f"{server} does not take this token any more")
        return server

    def _exchange(self, stopped: threading.Event) -> Exchange:
        from engram_py.sync.autosync.exchange import Exchange

        return Exchange(self._store, self._journal, self._replica, self._settings, stopped=stopped)


def _lease_attempts() -> Iterator[None]:
    """Yield repeatedly while a person at a terminal may wait for another process's lease."""
    pause = threading.Event()
    for _ in range(int(_LEASE_PATIENCE_SECONDS / _LEASE_LOOK_SECONDS)):
        yield
        pause.wait(_LEASE_LOOK_SECONDS)


def _combined(one: CloudSynced, other: CloudSynced) -> CloudSynced:
    """Return the last outcome with the sums of both."""
    from engram_py.dataclass import replace

    names = ("sent", "known", "received", "applied", "deferred", "set_aside")
    counts = {name: getattr(one, name) + getattr(other, name) for name in names}
    return replace(other, **counts, warnings=(*one.warnings, *other.warnings))
