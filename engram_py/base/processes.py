"""Programs that this one starts: their end, with all they started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess


def kill_with_children(process: subprocess.Popen[bytes], *, seconds: float | None = None) -> None:
    """End a program that leads a process group of its own, and what it started; on Windows the program alone.

    Waits for its end for at most ``seconds``; None: until it is there.
    """
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait(timeout=seconds)
