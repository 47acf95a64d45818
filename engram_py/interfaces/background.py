"""Work in a process of its own that nobody waits for: summaries, sync, documents, vectors."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

_WINDOWS_FLAGS = 0x08000000 | 0x00000200  # subprocess.CREATE_NO_WINDOW, CREATE_NEW_PROCESS_GROUP


def start_in_background(module: str, *arguments: str, folder: Path, wait: bool = False) -> int:
    """Run ``python -m module arguments`` and leave it to itself: it outlives this process and its terminal. Return its
    process id.

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
    return started.pid


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
    from engram_py.base.dataclass import replace
    from engram_py.base.errors import EngramError
    from engram_py.base.settings import load_settings

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
