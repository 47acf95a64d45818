"""Whether a client may still be there: a server whose client is gone ends, although the pipe to it never closes.

A pipe stays open as long as any process has its other end, such as a child that the client leaked it to.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

# How often it is looked at, and how long nothing may come from a client whose launcher was left behind, in seconds.
LOOK_SECONDS = 2.0
IDLE_SECONDS = 24 * 3600.0


class Client:
    """The process that started this one. ``asked_at`` says when it asked for something last."""

    def __init__(
        self,
        asked_at: Callable[[], float],
        *,
        parent: Callable[[], int] = os.getppid,
        parent_of: Callable[[int], int | None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._asked_at, self._parent, self._clock = asked_at, parent, clock
        self._parent_of = parent_of or _parent_of
        self._pid = parent()
        self._above = self._parent_of(self._pid)
        self._is_running = _windows_process(self._pid) if sys.platform == "win32" else None

    def is_gone(self) -> bool:
        """Return whether it ended, or it was a launcher (``uv``, a shell) whose own parent ended, and is idle."""
        if self._is_running is not None:
            return not self._is_running()
        if self._parent() != self._pid:
            return True
        left_behind = self._above is not None and self._parent_of(self._pid) != self._above
        return left_behind and self._clock() - self._asked_at() > IDLE_SECONDS

    def wait_until_gone(self) -> None:
        while not self.is_gone():
            time.sleep(LOOK_SECONDS)


def _parent_of(pid: int) -> int | None:
    """Return the parent of a process on Linux, None elsewhere."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(stat[stat.rindex(")") + 2 :].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def _windows_process(pid: int) -> Callable[[], bool] | None:
    """Return what asks whether a process runs, by a handle: its number may be another's later. None without one."""
    if sys.platform != "win32":
        return None
    import ctypes

    synchronize, timed_out = 0x00100000, 0x102
    handle = ctypes.windll.kernel32.OpenProcess(synchronize, False, pid)
    return (lambda: ctypes.windll.kernel32.WaitForSingleObject(handle, 0) == timed_out) if handle else None
