"""A background thread that looks now and again whether anything is to be done."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engram_py.base.errors import StoreError
from engram_py.base.lazy import logger_of

logger = logger_of(__name__)

# The first answers come first.
FIRST_SECONDS, LOOK_SECONDS = 3.0, 30.0


class Worker:
    """Calls ``look`` now and again until it is stopped. A look finds by an index whether anything waits."""

    def __init__(self, look: Callable[[], object], *, name: str = "engram-upkeep", first: float | None = None) -> None:
        self._look = look
        self._first = first
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, seconds: float) -> None:
        """Ask the thread to end, and wait for it for at most ``seconds``."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _run(self) -> None:
        wait = FIRST_SECONDS if self._first is None else self._first
        while not self._stopped.wait(wait):
            wait = LOOK_SECONDS
            try:
                self._look()
            except StoreError as exc:
                logger.info("background work waits: %s", exc.message)
            except Exception:
                if not self._stopped.is_set():
                    logger.exception("background work failed")
