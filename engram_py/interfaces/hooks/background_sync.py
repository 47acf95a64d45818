"""Does what hooks have no time for: a process of its own, which no agent waits for.

``python -m engram_py.interfaces.hooks.background_sync DATA_DIR`` summarizes the sessions that are over, exchanges with
the team's server once, if there is one, and ends.
"""

from __future__ import annotations

import contextlib
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
            app.tend(until=time.monotonic() + SECONDS)
        if settings.cloud.autosync:
            app.autosync.catch_up(seconds=SECONDS)


if __name__ == "__main__":
    main()
