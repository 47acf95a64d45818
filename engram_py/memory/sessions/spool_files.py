"""The spool: one private file for each thing a hook could not store in time. Loads nothing it does not need."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from engram_py.base.database.store import Store
from engram_py.base.errors import StoreError

FOLDER = "spool"
MOST_FILES = 2_000
_SUFFIX = ".json"
_READING_SECONDS = 5.0  # of a server's thread, for the transcripts of ended sessions; the rest after a later write

Record = dict[str, Any]


class Drain(Protocol):
    """Stores what waits in the spool: ``spool.Spool`` does, and is loaded when something waits."""

    @property
    def has_unread(self) -> bool: ...

    def drain(self, *, read: bool) -> int: ...

    def read_rest(self, until: float) -> None: ...


def put(data_dir: Path, record: Record) -> bool:
    """Keep a record, redacted, readable by its owner alone; False when that is not possible either.

    It appears whole or not at all. Its name orders it after those that were kept before.
    """
    from engram_py.base.capture.redact import redact
    from engram_py.base.database.keys import seal

    record = {name: redact(value).text for name, value in record.items()}
    folder = data_dir / FOLDER
    name = f"{record['at'].replace(':', '')}-{os.urandom(6).hex()}"
    partial = folder / f".{name}.part"
    try:
        data = seal(data_dir, json.dumps(record).encode())
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if len(os.listdir(folder)) >= MOST_FILES:  # noqa: PTH208
            return False
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        partial.replace(folder / f"{name}{_SUFFIX}")
    except (OSError, StoreError):
        with contextlib.suppress(OSError):
            partial.unlink()
        return False
    return True


def waiting_files(data_dir: Path) -> list[Path]:
    """Return what is in the spool, oldest first; looking costs one directory listing."""
    try:
        with os.scandir(data_dir / FOLDER) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(_SUFFIX))
    except OSError:
        return []
    return [data_dir / FOLDER / name for name in names]


def drain_after_writes(store: Store, spool: Callable[[], Drain]) -> None:
    """From now on each write of this process is followed by a look into the spool: a server that lives long.

    Transcripts are read on a thread of their own: whoever wrote holds the lock of the store, and waits for an answer.
    """
    draining = False

    def look() -> None:
        nonlocal draining
        if draining or not waiting_files(store.path.parent):
            return
        draining = True
        reading = False
        try:
            spool().drain(read=False)
            if spool().has_unread:
                with contextlib.suppress(RuntimeError):  # the interpreter is ending
                    threading.Thread(target=read, daemon=True).start()
                    reading = True
        finally:
            draining = reading

    def read() -> None:
        nonlocal draining
        try:
            with contextlib.suppress(Exception):  # the store was closed meanwhile, perhaps; the file waits
                spool().read_rest(time.monotonic() + _READING_SECONDS)
        finally:
            draining = False

    store.after_write.append(look)
