"""SQLite's failures in the words of ``errors.py``."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engram_py.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreIOError,
    StoreReadOnlyError,
)

BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def primary_code(error: sqlite3.Error) -> int:
    """The primary result code, without the extended bits."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def translate(error: sqlite3.Error, path: Path, *, waited_seconds: float = 0) -> StoreError | None:
    """The StoreError that ``error`` is, or None when it is a bug of ours (bad SQL, a broken constraint)."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHMSIZE:
        return StoreFullError(str(path))  # the shared memory beside the file could not grow
    match primary_code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusyError(str(path), waited_seconds)
        case sqlite3.SQLITE_FULL:
            return StoreFullError(str(path))
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreReadOnlyError(str(path))
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StoreDamagedError(str(path), str(error))
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PROTOCOL:
            return StoreIOError(str(path), str(error))
    return None


@contextmanager
def translated(path: Path, *, waited_seconds: float = 0) -> Iterator[None]:
    """Turn SQLite's own failures into ours; what is a bug of ours passes through, loud."""
    try:
        yield
    except sqlite3.Error as exc:
        error = translate(exc, path, waited_seconds=waited_seconds)
        if error is None:
            raise
        raise error from exc
