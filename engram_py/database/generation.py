"""Detect that another file was put in the place of the open one or of its log: a backup, or a sync tool's copy."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from engram_py.database import filesystem
from engram_py.database.connection import BUSY, begin_immediate, primary_code

Identity = tuple[int, int] | None

_NONE_YET = (-1, -1)  # no file's identity
_OPEN: Counter[Identity] = Counter()  # how often this process has a file open


# The newest of each kind, to tell whether one memory has something that another lacks.
_HELD = """
select coalesce((select max(id) from observations), 0), coalesce((select max(id) from user_prompts), 0),
    coalesce((select max(id) from turns), 0),
    coalesce((select cast(substr(value, 1, instr(value || '.', '.') - 1) as integer) from meta where key = 'clock'), 0)
"""
_HOLD = """
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(json.dumps(connection.execute(sys.argv[2]).fetchone()), flush=True)
sys.stdin.read()
"""


class Generation:
    """The file that a connection has open, and its log. Writes to a replaced one would be acknowledged and lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file, self._wal, self._shm = (f"{path}{suffix}" for suffix in ("", "-wal", "-shm"))
        self._inode: Identity = _NONE_YET
        self._log: Identity = None
        self._memory: Identity = None
        self._counted: Identity = None  # what `_OPEN` counts for this
        self._done = False  # closed for good

    @property
    def moved(self) -> bool:
        """Whether another file than the open one, or none, is at the path, or at that of its log."""
        return not self._done and (self.replaced or _identity(self._wal) != self._log)

    @property
    def replaced(self) -> bool:
        """Whether that is so of the file itself."""
        return _identity(self._file) != self._inode

    def before_opening(self) -> Identity:
        """Return the identity of the file that will be opened. A later replacement is noticed by the next statement."""
        inode = _identity(self._file)
        if _OPEN[inode] < 1:
            filesystem.drop_foreign_log(self._path)
        return inode

    def opened(self, inode: Identity) -> None:
        """Record the open file, after its first read: from then on it has a log."""
        self._inode, self._counted = inode, inode
        self._log, self._memory = _identity(self._wal), _identity(self._shm)
        _OPEN[inode] += 1
        self._done = False

    def closed(self, *, again: bool = False) -> None:
        """Forget the open file. ``again``: it will be reopened; until that succeeds no file counts as open."""
        if self._counted is not None:
            _OPEN[self._counted] -= 1
            self._counted = None
        self._done = not again
        if again:
            self._inode = _NONE_YET

    def leave(self, connection: sqlite3.Connection, *, lock_timeout: float) -> None:
        """Bring the log into the file that was open, and move the log out of the way of the new file."""
        connection.execute("pragma wal_checkpoint(passive)").fetchone()
        if not self._path.exists():  # it may be put back, and its log is needed then
            return
        begin_immediate(connection, self._path, lock_timeout=lock_timeout)
        try:
            if _identity(self._wal) == self._log:
                for suffix in ("-shm", "-wal"):
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        finally:
            connection.execute("rollback")

    def carry(self, connection: sqlite3.Connection) -> bool:
        """Bring a log that is not at its path any more into its file. Return False where others began another log, and
        what both wrote cannot be joined."""
        begun = _identity(self._shm) not in (None, self._memory)
        if begun and _size(self._wal):
            return False
        try:  # alone with the file, the whole log is taken in while nobody can open it
            return str(connection.execute("pragma journal_mode = delete").fetchone()[0]) == "delete"
        except sqlite3.OperationalError as exc:
            if begun or primary_code(exc) not in BUSY:
                return False
        busy, pages, done = connection.execute("pragma wal_checkpoint(full)").fetchone()
        return not busy and pages == done

    def set_aside(self, connection: sqlite3.Connection) -> Path | None:
        """Close the connection of a log that was not carried; keep a backup of what the file at the path lacks of it.

        The last connection to a file writes its log into it and removes the one at the path. Another process is there
        meanwhile, so that this is not the last.
        """
        import subprocess  # few processes lose their log

        holding = [sys.executable, "-c", _HOLD, self._file, _HELD]
        with subprocess.Popen(holding, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            theirs = json.loads(other.stdout.readline() or "[0, 0, 0, 0]")
            ours = connection.execute(_HELD).fetchone()
            lacks = any(mine > their for mine, their in zip(ours, theirs, strict=True))
            kept = self._copy(connection) if lacks else None
            connection.close()
        return kept

    def _copy(self, connection: sqlite3.Connection) -> Path:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
        target = filesystem.free_name(self._path.parent / filesystem.BACKUPS / f"engram-{stamp}-log-removed.db")
        target.parent.mkdir(mode=0o700, exist_ok=True)
        filesystem.create_private_file(target)
        with contextlib.closing(sqlite3.connect(target)) as copy:
            connection.backup(copy)
            copy.execute("pragma journal_mode = delete")
        return target


def _identity(file: str) -> Identity:
    try:
        stat = os.stat(file)  # noqa: PTH116 (asked before each statement: a Path takes three times as long)
    except OSError:
        return None
    return (stat.st_dev, stat.st_ino)


def _size(file: str) -> int:
    with contextlib.suppress(OSError):
        return Path(file).stat().st_size
    return 0
