"""Detect that another file was put in the place of the open one: a backup, or a sync tool's copy."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from pathlib import Path

from engram_py.database import filesystem
from engram_py.database.connection import begin_immediate

Identity = tuple[int, int] | None

_NONE_YET = (-1, -1)  # no file's identity
_OPEN: Counter[Identity] = Counter()  # how often this process has a file open


class Generation:
    """The file that a connection has open. Writes to a replaced file would be acknowledged and lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = str(path)
        self._inode: Identity = _NONE_YET
        self._log: Identity = None
        self._counted: Identity = None  # what `_OPEN` counts for this

    @property
    def moved(self) -> bool:
        """Whether another file than the open one, or none, is at the path."""
        return _identity(self._file) != self._inode

    def before_opening(self) -> Identity:
        """Return the identity of the file that will be opened. A later replacement is noticed by the next statement."""
        inode = _identity(self._file)
        if _OPEN[inode] < 1:
            filesystem.drop_foreign_log(self._path)
        return inode

    def opened(self, inode: Identity) -> None:
        """Record the open file, after its first read: from then on it has a log."""
        self._inode, self._log, self._counted = inode, _identity(f"{self._file}-wal"), inode
        _OPEN[inode] += 1

    def closed(self, *, again: bool = False) -> None:
        """Forget the open file. ``again``: it will be reopened; until that succeeds no file counts as open."""
        if self._counted is not None:
            _OPEN[self._counted] -= 1
            self._counted = None
        if again:
            self._inode = _NONE_YET

    def leave(self, connection: sqlite3.Connection, *, lock_timeout: float) -> None:
        """Bring the log into the file that was open, and move the log out of the way of the new file."""
        connection.execute("pragma wal_checkpoint(passive)").fetchone()
        if not self._path.exists():  # it may be put back, and its log is needed then
            return
        begin_immediate(connection, self._path, lock_timeout=lock_timeout)
        try:
            if _identity(f"{self._file}-wal") == self._log:
                for suffix in ("-shm", "-wal"):
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        finally:
            connection.execute("rollback")


def _identity(file: str) -> Identity:
    try:
        stat = os.stat(file)  # noqa: PTH116 (asked before each statement: a Path takes three times as long)
    except OSError:
        return None
    return (stat.st_dev, stat.st_ino)
