"""A background thread that looks now and again whether anything is to be done."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engram_py.base.errors import StoreError
from engram_py.base.lazy import logger_of

logger = logger_of(__name__)

LOOK_SECONDS = 30.0


class Periodic:
    """Calls ``look`` now and again until it is stopped, in a thread that keeps no process alive.

    ``look`` returns the seconds until the next one, None for ``every``, which may be None too: then ``wake`` alone
    brings it. ``gather`` is the time that writes have to come in a burst; ``end`` is called last, in the thread.
    """

    def __init__(
        self,
        look: Callable[[], float | None],
        *,
        name: str,
        first: float = 0.0,
        every: float | None = LOOK_SECONDS,
        gather: float = 0.0,
        end: Callable[[], object] = lambda: None,
    ) -> None:
        self._look, self._end = look, end
        self._first, self._every, self._gather = first, every, gather
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.stopped = threading.Event()

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Look soon. Costs nothing and never fails: it is called after every commit, but for those of the thread."""
        if threading.get_ident() != self._thread.ident:
            self._woken.set()

    def stop(self, *, seconds: float) -> None:
        """Ask the thread to end, and wait for it for at most ``seconds``."""
        self.stopped.set()
        self._woken.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _run(self) -> None:
        wait: float | None = self._first
        try:
            while not self.stopped.is_set():
                if self._woken.wait(wait):
                    self.stopped.wait(self._gather)
                    self._woken.clear()
                if not self.stopped.is_set():
                    wait = self._look_safely()
        finally:
            self._end()

    def _look_safely(self) -> float | None:
        try:
            wait = self._look()
            return self._every if wait is None else wait
        except StoreError as exc:
            logger.info("%s waits: %s", self._thread.name, exc.message)
        except Exception:
            if not self.stopped.is_set():
                logger.exception("%s failed", self._thread.name)
                self.stopped.wait(LOOK_SECONDS)
                return 0.0
        return self._every
