"""Ends the process in time, whatever it is stuck in: an agent waits for its hooks."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import NoReturn

from engram_py.interfaces.hooks.events import EVENTS, Event

# A person waits for the answer to a prompt, and hardly notices a session that starts a little later.
LIMITS_MS: dict[Event, int] = dict.fromkeys(EVENTS, 5_000) | {"user-prompt": 2_000, "pre-tool": 1_000}
LEAST_LIMIT_MS, MOST_LIMIT_MS = 50, 60_000
# What the interpreter takes before anything can be timed.
STARTUP_SECONDS = 0.1
_LAST_WORDS_SECONDS = 0.4


class Watchdog:
    """When ``seconds`` are over, answers what is ``ready`` (often nothing) and ends the process with 0.

    ``too_late`` is called in between, for a moment.
    """

    def __init__(self, seconds: float, *, ready: Callable[[], bytes], too_late: Callable[[], None]) -> None:
        self._ready = ready
        self._too_late = too_late
        self._answering = threading.Lock()
        self.deadline = time.monotonic() + max(0.02, seconds - STARTUP_SECONDS)
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def remaining(self) -> float:
        """Seconds that are left."""
        return max(0.0, self.deadline - time.monotonic())

    def answer(self, data: bytes) -> None:
        """Write to stdout what the agent is to read; nothing when the time is up already."""
        if self._answering.acquire(blocking=False):
            _write(data)

    def _watch(self) -> None:
        time.sleep(self.remaining)
        if self._answering.acquire(blocking=False):
            # Even this may hang, on a disk that does not answer.
            threading.Thread(target=_end_after, args=(_LAST_WORDS_SECONDS,), daemon=True).start()
            with contextlib.suppress(Exception):
                _write(self._ready())
                self._too_late()
        end()


def _end_after(seconds: float) -> None:
    time.sleep(seconds)
    end()


def end() -> NoReturn:
    """End now, with 0: no thread is waited for, nothing is flushed that nobody reads."""
    os._exit(0)


def _write(data: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody reads it any more
        while data:
            data = data[os.write(1, data) :]
