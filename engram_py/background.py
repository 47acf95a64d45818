"""Start a process of ours that nobody waits for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_WINDOWS_FLAGS = 0x08000000 | 0x00000200  # subprocess.CREATE_NO_WINDOW, CREATE_NEW_PROCESS_GROUP


def start_in_background(module: str, *arguments: str, folder: Path, wait: bool = False) -> None:
    """Run ``python -m module arguments`` and leave it to itself: it outlives this process and its terminal.

    A process that stays has to ``wait`` for it, in a thread: else it would be kept as a dead one. It works in
    ``folder``, one of ours: an agent's may be gone before it ends. Raises OSError.
    """
    import subprocess

    command = [sys.executable, "-P", "-m", module, *arguments]
    nobody = subprocess.DEVNULL
    flags = _WINDOWS_FLAGS if os.name == "nt" else 0
    started = subprocess.Popen(
        command, stdin=nobody, stdout=nobody, stderr=nobody, cwd=folder, start_new_session=True, creationflags=flags
    )
    if wait:
        started.wait()
    else:
        started.returncode = 0  # else Python complains that nobody waited for it
