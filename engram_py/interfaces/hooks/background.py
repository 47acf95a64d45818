"""Do what hooks have no time for in a process of its own, which no agent waits for.

``python -m engram_py.interfaces.hooks.background DATA_DIR`` summarizes the sessions that are over, exchanges with the
team's server once, if there is one, and ends. With ``FOLDER PROJECT`` it updates the documents of a folder instead;
with ``FOLDER .engram`` it reads what others committed to it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from engram_py.background import start_in_background

# After that the process ends, wherever it is; the next one goes on from there.
SYNC_SECONDS, DOCUMENTS_SECONDS, GRACE_SECONDS = 120.0, 300.0, 60.0
_ARRIVING = ".engram"  # no project has such a name


def sync_later(data_dir: Path) -> None:
    """Start the process that summarizes and exchanges. Raises OSError."""
    start_in_background(__spec__.name, str(data_dir.absolute()), folder=data_dir)


def update_documents(data_dir: Path, folder: Path, project: str = "", *, wait: bool = True) -> None:
    """Start the process that updates the documents of a folder, and ``wait`` for its end. Raises OSError."""
    where = (str(data_dir.absolute()), str(folder.absolute()), project)
    start_in_background(__spec__.name, *where, folder=data_dir, wait=wait)


def read_folder(data_dir: Path, folder: Path) -> None:
    """Start the process that reads what no session has the time for. Raises OSError."""
    where = (str(data_dir.absolute()), str(folder.absolute()), _ARRIVING)
    start_in_background(__spec__.name, *where, folder=data_dir)


def main() -> None:
    import threading
    import time

    from engram_py.app import Engram
    from engram_py.dataclass import replace
    from engram_py.errors import EngramError
    from engram_py.settings import load_settings

    data_dir = Path(sys.argv[1])
    folder, project = sys.argv[2:4] or (data_dir, None)
    settings = replace(load_settings(data_dir=data_dir), embedder="")
    # A keychain that asks somebody, or does not answer, has no limit of its own; a distiller has.
    limit = DOCUMENTS_SECONDS if project is not None else 2 * SYNC_SECONDS + settings.distill_timeout
    alarm = threading.Timer(limit + GRACE_SECONDS, os._exit, (0,))
    alarm.daemon = True
    alarm.start()
    arriving = project == _ARRIVING
    with Engram(settings=settings, directory=folder, project=None if arriving else project) as app:
        with contextlib.suppress(EngramError):  # what is not done waits for the next
            if arriving:
                if hasattr(os, "nice"):
                    os.nice(10)
                app.git_sync.read_rest(until=time.monotonic() + DOCUMENTS_SECONDS)
                return
            if project is not None:
                app.documents.refresh(until=time.monotonic() + DOCUMENTS_SECONDS)
                return
            app.run_upkeep(until=time.monotonic() + SYNC_SECONDS)
        if settings.cloud_autosync:
            app.autosync.catch_up(seconds=SYNC_SECONDS)


if __name__ == "__main__":
    main()
