"""Read SQLite files of other programs, without ever writing to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from engram_py.database.connection import connect_read_only


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
    connection = connect_read_only(path)
    with closing(connection):
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        yield ForeignDatabase(connection)


def _plain(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
