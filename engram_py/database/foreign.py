"""Read SQLite files of other programs, without ever writing to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

_UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


class ForeignDatabase:
    """An open file of another program. Raises sqlite3.Error as SQLite does."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def tables(self) -> set[str]:
        rows = self._connection.execute("select name from sqlite_master where type = 'table'").fetchall()
        return {str(row[0]) for row in rows}

    def rows(self, table: str, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table with those of the ``wanted`` columns that it has, bytes decoded to text.

        ``table`` and ``wanted`` are this program's own names, never the file's.
        """
        there = {row[1] for row in self._connection.execute(f"pragma table_info({table})")}
        names = [name for name in wanted if name in there]
        if not names:
            return
        listed = ", ".join(f'"{name}"' for name in names)
        for row in self._connection.execute(f"select {listed} from {table} order by rowid"):
            yield dict(zip(names, map(_plain, row), strict=True))


@contextmanager
def open_foreign(path: Path) -> Iterator[ForeignDatabase]:
    """Open the file read-only. Raises sqlite3.Error, OSError."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there")
    connection = _connected(path, "mode=ro")
    try:
        connection.execute("select 1 from sqlite_master")
    except sqlite3.OperationalError as exc:
        connection.close()
        log = path.with_name(f"{path.name}-wal")
        if exc.sqlite_errorcode & 0xFF not in _UNWRITABLE or (log.is_file() and log.stat().st_size):
            raise
        # Of a file in WAL mode SQLite writes an index beside it even to read it. Where it may not, and nothing waits
        # in the log, the file alone is whole.
        connection = _connected(path, "mode=ro&immutable=1")
    with closing(connection):
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        yield ForeignDatabase(connection)


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=5.0)


def _plain(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
