"""Merge the segments of the full-text index while nobody uses it, or after a large import; return free pages of the
file to the disk."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from engram_py.base.database import fts
from engram_py.base.database.connection import LOG_BYTES
from engram_py.base.database.errors import StoreBusyError
from engram_py.base.database.soundness import INDEXES, Index
from engram_py.base.database.store import Store, at_once, waiting
from engram_py.base.errors import StoreError
from engram_py.base.lazy import logger_of
from engram_py.base.worker import Periodic

logger = logger_of(__name__)

# A search of 100,000 rows took .92 of its time once twelve pieces were three, of 1,000,000 rows and 21 pieces .85, a
# pasted log there .78; 5,000 saves later, in 23 pieces, 1.06.
MOST_PIECES = 4

QUIET_SECONDS = 0.5
_LOOK_AFTER_WRITES = 500
# Who waits for the lock meets a gap soon, as in a rebuild (`reindex.py`).
_PAUSE_SECONDS = 0.01
_CLOSING_SECONDS = 0.2
# What an import spends on it, of the time that it took itself.
IMPORT_SHARE = 0.1
# A file that would lose less than this is left to grow again.
_GIVEN_BACK_BYTES = 1 << 20
_GIVING_BACK_SECONDS = 1.0


def compact(store: Store, *, go_on: Callable[[], bool] = lambda: True) -> bool:
    """Merge each index that lies in more than ``MOST_PIECES``, in steps that each hold the write lock for some 10 ms,
    while ``go_on()`` says so after each; whether nothing is left to do. Stopped in the middle, the next run goes on
    from there.

    What searches find stays the same, byte for byte. Raises StoreError; the index is whole at every moment.
    """
    for index in INDEXES:
        more = _scattered(store, index)
        while more:
            with at_once(store):
                more = fts.merge_some(store, index.name)
            if more and not go_on():
                return False
    return True


def _scattered(store: Store, index: Index) -> bool:
    return fts.segment_count(store, index.name) > MOST_PIECES


def compacted(store: Store, *, seconds: float) -> None:
    """``compact`` for so long after much was written. A file that others write just now, or that is full, is left for
    another time, and so is one in the middle of a transaction."""
    if store.in_transaction:
        return
    deadline = time.monotonic() + seconds

    def go_on() -> bool:
        time.sleep(_PAUSE_SECONDS)
        return time.monotonic() < deadline

    with contextlib.suppress(StoreError):
        compact(store, go_on=go_on)


def give_back(store: Store, *, most: int | None = None) -> int:
    """Return free pages to the disk where they are a quarter of the file, and the number of bytes that it lost.

    What stays is written anew while other writers wait, so that nothing is done where that is more than ``most`` bytes.
    A file that others write just now, or a full disk, is left as it is.
    """
    if store.in_transaction or store.read_only:
        return 0
    before = store.path.stat().st_size
    with contextlib.suppress(StoreError), waiting(store, _GIVING_BACK_SECONDS), store.connection() as connection:
        size, pages, free = (
            int(connection.execute(f"pragma {name}").fetchone()[0])
            for name in ("page_size", "page_count", "freelist_count")
        )
        stays = size * (pages - free)
        if free * 4 >= pages and size * free >= _GIVEN_BACK_BYTES and (most is None or stays <= most):
            # What stays is copied to a temporary file on the way: in memory only where it may be read nowhere else.
            connection.execute(f"pragma temp_store = {'memory' if store.key else 'file'}")
            try:
                connection.execute("vacuum")
            finally:
                connection.execute("pragma temp_store = memory")
            connection.execute("pragma wal_checkpoint(truncate)").fetchone()
    return max(0, before - store.path.stat().st_size)


def log_bytes(store: Store) -> int:
    """Return the size of the write-ahead log."""
    try:
        return store.path.with_name(f"{store.path.name}-wal").stat().st_size
    except FileNotFoundError:
        return 0


class Compaction:
    """The thread of a server process that merges on its own connection, after half a second without requests.

    It looks when it is started, after some hundred writes of this process, and when a reader made the log grow, which
    it then empties.
    """

    def __init__(self, store: Store, *, open_store: Callable[[], Store] | None = None) -> None:
        self._store = store
        self._open_store = open_store or (lambda: Store(store.path))
        self._looked_at = 0
        self._thread = Periodic(self._look, name="engram-compaction", every=None)

    def start(self) -> None:
        self._store.after_write.append(self._after_write)
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end, and wait for the step it is in."""
        self._thread.stop(seconds=_CLOSING_SECONDS)

    def _after_write(self) -> None:
        if self._store.writes - self._looked_at >= _LOOK_AFTER_WRITES or log_bytes(self._store) > LOG_BYTES:
            self._thread.wake()

    def _look(self) -> float | None:
        self._looked_at = self._store.writes
        try:
            while self._quiet() and not self._done():
                pass
        except StoreBusyError:
            return 0.0  # and wait until it is quiet
        except Exception as exc:  # nothing that a caller could do about it: searches answer, somewhat later
            logger.info("the index was left in pieces: %s", exc)
        return None

    def _quiet(self) -> bool:
        """Wait until nobody asked for a moment; False when the server ends."""
        asked = -1
        while asked != self._store.asked:
            asked = self._store.asked
            if self._thread.stopped.wait(QUIET_SECONDS):
                return False
        return True

    def _done(self) -> bool:
        """Return whether nothing is left to do; stops when somebody asks."""
        if log_bytes(self._store) > LOG_BYTES:
            with waiting(self._store, 0), self._store.connection() as connection:
                connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        if not any(_scattered(self._store, index) for index in INDEXES):
            return True
        asked, started = self._store.asked, time.monotonic()
        store = self._open_store()
        try:
            done = compact(
                store, go_on=lambda: not self._thread.stopped.wait(_PAUSE_SECONDS) and asked == self._store.asked
            )
        finally:
            store.close()
        if done:
            logger.info("the pieces of the index were merged in %.1f s", time.monotonic() - started)
        return done
