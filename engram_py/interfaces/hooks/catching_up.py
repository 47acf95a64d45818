"""Syncs what hooks wrote where no server process does: a process of its own, which no agent waits for.

``python -m engram_py.interfaces.hooks.catching_up DATA_DIR`` exchanges with the server once and ends.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from engram_py.background import start_in_background

# After that it ends, wherever it is; the next one goes on from there.
SECONDS, GRACE_SECONDS = 120.0, 15.0


def set_out(data_dir: Path) -> None:
    """Start that process. Raises OSError."""
    start_in_background(__spec__.name, str(data_dir.absolute()), folder=data_dir)


def main() -> None:
    import threading

    from engram_py.dataclass import replace

    # A keychain that asks somebody, or does not answer, has no limit of its own.
    alarm = threading.Timer(SECONDS + GRACE_SECONDS, os._exit, (0,))
    alarm.daemon = True
    alarm.start()

    from engram_py.app import Engram
    from engram_py.config import load_settings

    folder = Path(sys.argv[1])
    settings = replace(load_settings(data_dir=folder), embedder="")
    with Engram(settings=settings, directory=folder) as app:
        app.autosync.catch_up(seconds=SECONDS)


if __name__ == "__main__":
    main()
