"""Does what hooks have no time for: a process of its own, which no agent waits for.

``python -m engram_py.interfaces.hooks.catching_up DATA_DIR`` summarizes the sessions that are over, exchanges with the
team's server once, if there is one, and ends.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

# After that it ends, wherever it is; the next one goes on from there.
SECONDS, GRACE_SECONDS = 120.0, 15.0
_WINDOWS_FLAGS = 0x08000000 | 0x00000200  # subprocess.CREATE_NO_WINDOW, CREATE_NEW_PROCESS_GROUP


def set_out(data_dir: Path) -> None:
    """Start that process and leave it to itself: an agent that ends its hooks does not end it. Raises OSError."""
    import subprocess

    command = [sys.executable, "-P", "-m", __spec__.name, str(data_dir.absolute())]
    flags = _WINDOWS_FLAGS if os.name == "nt" else 0
    nobody = subprocess.DEVNULL
    # In a folder of ours: the agent's may be gone before it ends.
    subprocess.Popen(
        command, stdin=nobody, stdout=nobody, stderr=nobody, cwd=data_dir, start_new_session=True, creationflags=flags
    )


def main() -> None:
    import threading
    import time

    from engram_py.app import Engram
    from engram_py.config import load_settings
    from engram_py.dataclass import replace
    from engram_py.errors import EngramError

    folder = Path(sys.argv[1])
    settings = replace(load_settings(data_dir=folder), embedder="")
    # A keychain that asks somebody, or does not answer, has no limit of its own; a distiller has.
    alarm = threading.Timer(2 * SECONDS + settings.distill.timeout_seconds + GRACE_SECONDS, os._exit, (0,))
    alarm.daemon = True
    alarm.start()
    with Engram(settings=settings, directory=folder) as app:
        with contextlib.suppress(EngramError):  # what is not done waits for the next
            app.distilling.run(until=time.monotonic() + SECONDS)
        if settings.cloud.autosync:
            app.autosync.catch_up(seconds=SECONDS)


if __name__ == "__main__":
    main()
