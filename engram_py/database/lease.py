"""A named lease among the processes of this machine: one of them does the work, the others leave it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from engram_py.database.journal import Journal, get_meta, set_meta
from engram_py.database.store import Store
from engram_py.errors import StoreError
from engram_py.times import parse_time, to_text

LEASE_SECONDS = 60.0


class NamedLease:
    """The lease of one name. A process that dies gives it up at once, one that hangs after ``seconds``."""

    def __init__(self, store: Store, journal: Journal, name: str, *, seconds: float = LEASE_SECONDS) -> None:
        self._store = store
        self._journal = journal
        self._key = f"lease:{name}"
        self._seconds = seconds
        self._owner = f"{os.getpid()}-{os.urandom(4).hex()}"

    @contextmanager
    def holding(self) -> Iterator[Callable[[], bool] | None]:
        """Yield a function that renews the lease and says whether it is still held, or None while another holds it."""
        if not self._take():
            yield None
            return
        try:
            yield self._take
        finally:
            self.release()

    def release(self) -> None:
        """Give the lease up at once, if this process holds it."""
        with contextlib.suppress(StoreError), self._store.transaction():
            if (get_meta(self._store, self._key) or "").startswith(f"{self._owner} "):
                self._store.execute("delete from meta where key = :key", key=self._key)

    def holder(self) -> str:
        """Return the process that holds the lease and may still run, this one included; '' when there is none."""
        owner, _, until = (get_meta(self._store, self._key) or "").partition(" ")
        end = parse_time(until)
        # One that ends later than any can was written by a wrong clock.
        left = (end - self._journal.moment()) / timedelta(seconds=1) if end is not None else 0.0
        return owner if 0 < left <= self._seconds + 1 and lives(owner) else ""

    def _take(self) -> bool:
        with self._store.transaction():
            if self.holder() not in ("", self._owner):
                return False
            end = self._journal.moment() + timedelta(seconds=self._seconds)
            set_meta(self._store, self._key, f"{self._owner} {to_text(end)}")
        return True


def lives(owner: str) -> bool:
    """Return whether the process of ``owner``, ``PID-…``, may still run."""
    pid = owner.partition("-")[0]
    if os.name != "posix" or not pid.isdecimal() or len(pid) > 9:
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True
