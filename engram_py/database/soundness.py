"""Check the tables, and apart from them the search index, which can be rebuilt."""

from __future__ import annotations

import sqlite3

from engram_py.database.connection import BUSY, primary_code
from engram_py.dataclass import dataclass


@dataclass(frozen=True)
class Index:
    """A full-text index and its source table; it holds the rows that are ``live``."""

    name: str
    table: str
    live: str = "true"

    @property
    def shadows(self) -> tuple[str, ...]:
        """The tables that FTS5 keeps the index in."""
        return tuple(f"{self.name}_{part}" for part in ("data", "idx", "docsize", "config"))

    @property
    def next(self) -> str:
        return f"{self.name}_next"

    @property
    def old(self) -> str:
        return f"{self.name}_old"

    @property
    def cursor(self) -> str:
        """The key in ``meta`` for the progress of a rebuild."""
        return f"reindex:{self.name}"


INDEXES = (
    Index("observations_fts", "observations", "deleted_at is null"),
    Index("prompts_fts", "user_prompts"),
    Index("turns_fts", "turns"),
    Index("passages_fts", "passages"),
)
OBSERVATIONS, PROMPTS, TURNS, PASSAGES = INDEXES
WORD_TABLES = ("observations_mentions", "observations_vocab", "passages_mentions", "passages_vocab")

_MOST = 20
_PRESENT = "select name from sqlite_master where type = 'table'"
_DURABLE = "select name from sqlite_master where type = 'table' and rootpage > 0 order by name"
# Makes FTS5 read what it keeps of the index as a whole, then how it is laid out, without a row of it.
_PROBE = "select rowid from {index} where {index} match '\"a\"' limit 1"
_DEEP = "insert into {index} ({index}) values ('integrity-check')"
# What SQLite says of a table that another one keeps its content in; older ones know the primary code alone.
_CORRUPT_VTAB = 267
# A table or a part of it that is not there is a mistake in the SQL to SQLite.
_BROKEN = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT)


def problems(connection: sqlite3.Connection) -> list[str]:
    """Return what is wrong with the file, the search index excepted."""
    found = _checked(connection, str(_MOST))
    if not found:
        return []
    derived = {name for index in INDEXES for name in (index.name, *index.shadows)}
    names = [row[0] for row in connection.execute(_DURABLE) if row[0] not in derived]
    durable = [text for name in names for text in _checked(connection, f"'{name}'")]
    return durable[:_MOST] or ([] if index_problems(connection) else found)


def index_problems(connection: sqlite3.Connection) -> list[str]:
    """Return what prevents queries of the search index. Missing rows do not count."""
    present = {row[0] for row in connection.execute(_PRESENT)}
    parts = [name for index in INDEXES for name in index.shadows]
    wanted = (*(index.name for index in INDEXES), *parts, *WORD_TABLES)
    if missing := [f"{name} is not there" for name in wanted if name not in present]:
        return missing
    failing = _failing(connection, _PROBE)
    return failing or [f"{name}: {text}" for name in parts for text in _checked(connection, f"'{name}'")]


def index_damage(connection: sqlite3.Connection) -> list[str]:
    """Check the whole content of the index too, unless another process holds the write lock."""
    found = index_problems(connection)
    try:
        return found or _failing(connection, _DEEP)
    except sqlite3.DatabaseError as exc:
        if primary_code(exc) not in (*BUSY, sqlite3.SQLITE_READONLY):
            raise
        return []


def is_of_index(connection: sqlite3.Connection, error: sqlite3.Error) -> str:
    """Return what is wrong with the search index if that caused ``error``, else ''."""
    if getattr(error, "sqlite_errorcode", None) == _CORRUPT_VTAB:
        return str(error)
    if primary_code(error) not in _BROKEN:
        return ""
    try:
        return next(iter(index_problems(connection)), "")
    except sqlite3.Error:
        return ""  # more than the index is damaged


def _failing(connection: sqlite3.Connection, sql: str) -> list[str]:
    """Return what SQLite says about each index that a statement fails on."""
    found = []
    for index in INDEXES:
        try:
            connection.execute(sql.format(index=index.name)).fetchone()
        except sqlite3.DatabaseError as exc:
            if primary_code(exc) not in _BROKEN:
                raise
            found.append(f"{index.name}: {exc}")
    return found


def _checked(connection: sqlite3.Connection, what: str) -> list[str]:
    try:
        rows = [str(row[0]) for row in connection.execute(f"pragma integrity_check({what})")]
    except sqlite3.DatabaseError as exc:
        if primary_code(exc) != sqlite3.SQLITE_CORRUPT:
            raise
        rows = [str(exc)]
    return [] if rows == ["ok"] else rows
