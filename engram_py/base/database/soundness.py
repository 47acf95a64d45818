"""Check the tables, and apart from them the search index, which can be rebuilt."""

from __future__ import annotations

import sqlite3
from typing import Any

from engram_py.base.database.connection import BUSY, is_invalid_text, of_any_driver, primary_code
from engram_py.base.dataclass import dataclass


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

_OWN_TABLES = """
select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite_%' order by name
"""
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


@dataclass(frozen=True, slots=True)
class InvalidText:
    """A text that is not UTF-8: its column, the columns that name its row with their values, and its bytes."""

    table: str
    column: str
    row: dict[str, Any]
    raw: bytes

    @property
    def name(self) -> str:
        named = ", ".join(_decoded(value) for value in self.row.values())
        return f"{self.column} of {self.table} {named}"


def invalid_texts(connection: sqlite3.Connection) -> list[InvalidText]:
    """Read every text of every table; return those that are not UTF-8. A bit that flipped on a disk makes one."""
    found = []
    for (table,) in connection.execute(_OWN_TABLES).fetchall():
        columns = connection.execute("select name, type, pk from pragma_table_info(?)", (table,)).fetchall()
        texts = [name for name, kind, _ in columns if kind.upper() == "TEXT"]
        joined = " || char(10) || ".join(f"coalesce({name}, '')" for name in texts)
        try:
            for _ in connection.execute(f"select {joined or 1} from {table}"):
                pass
        except of_any_driver(sqlite3.OperationalError) as exc:
            if not is_invalid_text(exc):
                raise
            key = [name for name, _, pk in columns if pk] or ["rowid"]
            found += _invalid_of(connection, table, key, texts)
    return found


def mend_text(connection: sqlite3.Connection, text: InvalidText) -> None:
    """Put a replacement character where a byte is wrong. Raises sqlite3.IntegrityError where another row has it."""
    where = " and ".join(
        f"{name} = cast(? as {'text' if isinstance(value, bytes) else 'integer'})" for name, value in text.row.items()
    )
    connection.execute(
        f"update {text.table} set {text.column} = ? where {where}", (_decoded(text.raw), *text.row.values())
    )


def _invalid_of(connection: sqlite3.Connection, table: str, key: list[str], texts: list[str]) -> list[InvalidText]:
    found = []
    connection.text_factory = bytes
    try:
        for row in connection.execute(f"select {', '.join([*key, *texts])} from {table}"):
            named = dict(zip(key, row[: len(key)], strict=True))
            for column, raw in zip(texts, row[len(key) :], strict=True):
                if isinstance(raw, bytes) and _decoded(raw).encode() != raw:
                    found.append(InvalidText(table, column, named, raw))
    finally:
        connection.text_factory = str
    return found


def _decoded(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


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
    except of_any_driver(sqlite3.DatabaseError) as exc:
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
    except of_any_driver(sqlite3.Error):
        return ""  # more than the index is damaged


def _failing(connection: sqlite3.Connection, sql: str) -> list[str]:
    """Return what SQLite says about each index that a statement fails on."""
    found = []
    for index in INDEXES:
        try:
            connection.execute(sql.format(index=index.name)).fetchone()
        except of_any_driver(sqlite3.DatabaseError) as exc:
            if primary_code(exc) not in _BROKEN:
                raise
            found.append(f"{index.name}: {exc}")
    return found


def _checked(connection: sqlite3.Connection, what: str) -> list[str]:
    try:
        rows = [str(row[0]) for row in connection.execute(f"pragma integrity_check({what})")]
    except of_any_driver(sqlite3.DatabaseError) as exc:
        if primary_code(exc) != sqlite3.SQLITE_CORRUPT:
            raise
        rows = [str(exc)]
    return [] if rows == ["ok"] else rows
