"""Which file is open, where somebody may put another in its place: a backup, a sync tool's copy, or none."""

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
    """The file of one connection at a time. Writes to one that is replaced would be acknowledged and gone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = str(path)
        self._inode: Identity = _NONE_YET
        self._log: Identity = None
        self._counted: Identity = None  # what `_OPEN` counts for this

    @property
    def moved(self) -> bool:
        """Whether another file than the one that is open stands at the path, or none."""
        return _identity(self._file) != self._inode

    def before_opening(self) -> Identity:
        """The file that is about to be opened; one that is put there meanwhile is seen by the next statement."""
        inode = _identity(self._file)
        if _OPEN[inode] < 1:
            filesystem.drop_foreign_log(self._path)
        return inode

    def opened(self, inode: Identity) -> None:
        """To be called when it was read once: from then on it has a log."""
        self._inode, self._log, self._counted = inode, _identity(f"{self._file}-wal"), inode
        _OPEN[inode] += 1

    def closed(self, *, again: bool = False) -> None:
        """``again``: it is going to be opened, and until that succeeds no file is the one that is open."""
        if self._counted is not None:
            _OPEN[self._counted] -= 1
            self._counted = None
        if again:
            self._inode = _NONE_YET

    def leave(self, connection: sqlite3.Connection, *, patience: float) -> None:
        """Bring what the log holds into the file that was open, wherever that is now, and the log out of the way of
        the file in its place: SQLite would write the one's pages over the other's. Others that had the same file open
        do the same, one at a time, and whoever is late finds a log that is not its own."""
        connection.execute("pragma wal_checkpoint(passive)").fetchone()
        if not self._path.exists():  # it may be put back, and its log is needed then
            return
        begin_immediate(connection, self._path, patience=patience)
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
