"""Indexes what a session start had no time for: a process of its own, which no agent waits for.

``python -m engram_py.interfaces.hooks.background_documents DATA_DIR FOLDER PROJECT`` updates the documents of a folder.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from engram_py.background import start_in_background

SECONDS, GRACE_SECONDS = 300.0, 60.0


def set_out(data_dir: Path, folder: Path, project: str = "", *, wait: bool = False) -> None:
    """Start that process, and ``wait`` for its end. Raises OSError."""
    where = (str(data_dir.absolute()), str(folder.absolute()), project)
    start_in_background(__spec__.name, *where, folder=data_dir, wait=wait)


def update_elsewhere(data_dir: Path, folder: Path, project: str) -> None:
    """Run that process to its end. Raises OSError."""
    set_out(data_dir, folder, project, wait=True)


def main() -> None:
    import threading
    import time

    from engram_py.app import Engram
    from engram_py.config import load_settings
    from engram_py.dataclass import replace
    from engram_py.errors import EngramError

    alarm = threading.Timer(SECONDS + GRACE_SECONDS, os._exit, (0,))
    alarm.daemon = True
    alarm.start()
    settings = replace(load_settings(data_dir=Path(sys.argv[1])), embedder="")
    with Engram(settings=settings, directory=sys.argv[2], project=sys.argv[3]) as app, contextlib.suppress(EngramError):
        app.documents.refresh(until=time.monotonic() + SECONDS)


if __name__ == "__main__":
    main()
