"""The lease: of the processes of a machine one exchanges with the server at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.errors import StoreError
from engram_py.sync.autosync import table
from engram_py.sync.autosync.backoff import remaining
from engram_py.times import to_text

SECONDS = 60.0


class LeaseLost(Exception):
    """Another process has taken over: this one was away for longer than the lease."""


class Lease:
    """Held from ``holding`` to its end. Who dies with it keeps the others waiting for a minute at most.

    Two at once would do no harm, since every row may be sent and applied twice: the lease saves work.
    """

    def __init__(self, store: Store, journal: Journal, target: str) -> None:
        self._store = store
        self._journal = journal
        self._target = target
        self.owner = f"{os.getpid()}-{os.urandom(4).hex()}"

    @contextmanager
    def holding(self) -> Iterator[Callable[[], None] | None]:
        """What renews the lease (raises LeaseLost), or None while another process has it."""
        if not self._take():
            yield None
            return
        try:
            yield self._renew
        finally:
            self.release()

    def release(self) -> None:
        """Let others at it at once. A lease that cannot be given back ends by itself."""
        with contextlib.suppress(StoreError), self._store.transaction():
            row = table.state(self._store, self._target)
            if row is not None and row["lease_owner"] == self.owner:
                table.set_state(self._store, self._target, lease_owner=None, lease_until=None)

    def _renew(self) -> None:
        if not self._take():
            raise LeaseLost

    def _take(self) -> bool:
        with self._store.transaction():
            now = self._journal.moment()
            row = table.state(self._store, self._target)
            foreign = row is not None and row["lease_owner"] not in (None, self.owner)
            # One that ends later than any lease does was written by a clock that was wrong.
            held = row is not None and foreign and remaining(row["lease_until"], now, most=SECONDS + 1)
            if row is not None and held and _lives(row["lease_owner"]):
                return False
            until = to_text(now + timedelta(seconds=SECONDS))
            table.set_state(self._store, self._target, lease_owner=self.owner, lease_until=until)
        return True


def _lives(owner: str) -> bool:
    """Whether that process may be there still. One that was killed has not given its lease back."""
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
