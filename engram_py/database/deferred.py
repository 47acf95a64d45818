"""Counters that are written some time after they changed, on a thread of its own, in nobody's way."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Protocol

from engram_py.database.journal import Journal
from engram_py.database.store import Store


class Alarm(Protocol):
    """A call that is going to be made on a thread of its own."""

    def start(self) -> None: ...
    def cancel(self) -> None: ...


def timer(seconds: float, call: Callable[[], object]) -> Alarm:
    """An alarm whose thread keeps no process from ending."""
    alarm = threading.Timer(seconds, call)
    alarm.daemon = True
    return alarm


class Deferred:
    """Keeps counts in memory and has them written by an alarm; a closed one sets no alarm any more."""

    def __init__(
        self, store: Store, journal: Journal, *, later: Callable[[float, Callable[[], object]], Alarm] = timer
    ) -> None:
        self._store = store
        self._journal = journal
        self._later = later
        self._alarm: Alarm | None = None
        self._urgent = False
        self._refused = False  # the last attempt to write
        self._closed = False
        self._lock = threading.Lock()

    def flush(self) -> bool:
        """Write the counts; False when the file is busy or cannot be written, and they wait."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what is left unless the file is busy; the rest is dropped."""
        self._closed = True
        self.flush()

    def _schedule(self, seconds: float, call: Callable[[], object], *, urgent: bool) -> None:
        """Set the alarm, unless one is set already that is as urgent."""
        if not self._closed and (self._alarm is None or (urgent and not self._urgent)):
            self._clear_alarm()
            self._arm(seconds, call)
            self._urgent = urgent

    def _arm(self, seconds: float, call: Callable[[], object]) -> None:
        alarm = self._later(seconds, call)
        with contextlib.suppress(RuntimeError):  # no thread available; the next count tries again
            alarm.start()
            self._alarm = alarm

    def _clear_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._urgent = None, False
