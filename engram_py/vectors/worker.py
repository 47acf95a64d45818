"""The thread of a long-lived server that computes vectors after the writes, its own and those of other processes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from engram_py.database.store import Store
from engram_py.errors import EmbedderError, EngramError, StoreError
from engram_py.lazy import logger_of

logger = logger_of(__name__)

# Writes of this process wake the thread; those of others are noticed this often.
_LOOK_SECONDS = 5.0
# Writes come in bursts; a batch of them is computed together.
_GATHER_SECONDS = 0.2
_FIRST_REST_SECONDS, _LONGEST_REST_SECONDS = 5.0, 300.0

# Given the connection, and what tells whether to stop, makes the function that is called on every change.
Work = Callable[[Store, Callable[[], bool]], Callable[[], None]]


class VectorWorker:
    """Works on a connection of its own whenever the file has changed, until ``stop``."""

    def __init__(self, open_store: Callable[[], Store], work: Work) -> None:
        self._open_store = open_store
        self._work = work
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engram-vectors", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """There is something to look at. Costs nothing and never fails: it is called after every commit."""
        self._wake.set()

    def stop(self, *, seconds: float) -> None:
        """Ask the thread to end, and wait for it for a moment: it may be in the middle of a model's call."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        try:
            store = self._open_store()
        except EngramError as exc:
            logger.warning("vectors are not computed: %s", exc.message)
            return
        try:
            self._watch(store)
        except Exception:
            logger.exception("vectors are not computed any more")
        finally:
            with contextlib.suppress(StoreError):
                store.close()

    def _watch(self, store: Store) -> None:
        work = self._work(store, self._stop.is_set)
        seen: int | None = None
        rest = 0.0
        while not self._stop.is_set():
            self._wake.clear()
            try:
                version = int(store.value("pragma data_version"))
                if version != seen:
                    work()
                    seen = version  # what was committed meanwhile is another change
                rest = 0.0
            except (EmbedderError, StoreError) as exc:
                rest = min(max(_FIRST_REST_SECONDS, 2 * rest), _LONGEST_REST_SECONDS)
                logger.info("vectors wait %.0f s: %s", rest, exc.message)
            if rest:
                self._stop.wait(rest)
            elif self._wake.wait(_LOOK_SECONDS):
                self._stop.wait(_GATHER_SECONDS)
