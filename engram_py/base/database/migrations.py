"""Bring the schema up to date: numbered ``.sql`` files, recorded in sqlite-utils' ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.base.database.connection import begin_immediate, snapshot, translated
from engram_py.base.database.errors import StoreForeignError, StoreIOError, StoreTooNewError
from engram_py.base.dataclass import dataclass
from engram_py.base.files import lines_of, reason

if TYPE_CHECKING:
    from sqlite_utils import Database

SET = "engram"
LEDGER = "_sqlite_migrations"


@cache
def migration_files() -> tuple[Path, ...]:
    """Return the ``.sql`` files in order: inside the installed package, or at the top of a checkout."""
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "migrations", package.parent / "migrations"):
        if folder.is_dir():
            return tuple(sorted(path for path in folder.iterdir() if path.suffix == ".sql"))
    raise FileNotFoundError(f"no migrations beside {package}; the installation is incomplete")


@cache
def names() -> tuple[str, ...]:
    return tuple(path.stem for path in migration_files())


def applied(connection: sqlite3.Connection) -> list[str]:
    """Return the names in the ledger, in the order they were applied; empty for a new file."""
    if not connection.execute("select 1 from sqlite_master where name = ?", (LEDGER,)).fetchone():
        return []
    rows = connection.execute(f"select name from {LEDGER} where migration_set = ? order by id", (SET,))
    return [row[0] for row in rows]


def check_origin(connection: sqlite3.Connection, path: Path) -> list[str]:
    """Return the pending migrations of a file that is ours or new.

    Raises:
        StoreTooNewError: a newer program wrote it.
        StoreForeignError: it belongs to another program.
    """
    # Another process may migrate a new file between two statements: its tables, seen without its ledger, would
    # look like another program's.
    with snapshot(connection):
        done = applied(connection)
        tables = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table' limit 50")]
    unknown = [name for name in done if name not in names()]
    if unknown:
        raise StoreTooNewError(str(path), unknown)
    if tables and not done:
        raise StoreForeignError(str(path), tables)
    return [name for name in names() if name not in done]


@dataclass(frozen=True, slots=True)
class Migrated:
    """The migrations that were applied to a file that had others: ``before`` is the last of these, ``copy`` the file as
    it was then."""

    names: tuple[str, ...] = ()
    before: str = ""
    copy: str = ""


def migrate(connection: sqlite3.Connection, path: Path, *, backups: Path | None = None) -> Migrated:
    """Apply what is pending, all of it or nothing, while other processes wait. A file that is not new is copied to the
    folder ``backups`` first.

    The ledger is read again under the write lock: of several processes on a new file one migrates, and the
    others find it done.
    """
    with translated(path):
        if not check_origin(connection, path):
            return Migrated()
        if backups is not None:
            connection.execute("pragma wal_checkpoint(truncate)")  # then the copy is one file, unless somebody writes
    # Imported only here: it costs 0.1 s, and an up-to-date file does not need it.
    from sqlite_utils import Database, Migrations

    begin_immediate(connection, path)
    try:
        with translated(path):
            pending, done = check_origin(connection, path), applied(connection)
            before = done[-1] if done and pending else ""
            copy = _keep(path, backups, before) if before and backups is not None else ""
            plan = Migrations(SET)
            for file in migration_files():
                plan(name=file.stem)(_step(file))
            plan.apply(Database(connection, execute_plugins=False))
            connection.execute("commit")
            return Migrated(tuple(pending), before, copy)
    finally:
        if connection.in_transaction:
            connection.execute("rollback")


def _keep(path: Path, backups: Path, before: str) -> str:
    """Copy a file and its log as they are, encrypted or not. Call under the write lock: nobody changes them meanwhile.

    Raises StoreIOError: there is no room for the copy.
    """
    import shutil

    copy = backups / f"{path.stem}-before-{names()[-1][:4]}-of-{before[:4]}{path.suffix}"
    try:
        backups.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file, target in ((path, copy), (Path(f"{path}-wal"), Path(f"{copy}-wal"))):
            if file.exists() and file.stat().st_size:
                shutil.copyfile(file, target)
                target.chmod(0o600)
    except OSError as exc:
        raise StoreIOError(str(copy), f"the copy before the upgrade cannot be written ({reason(exc)})") from exc
    return str(copy)


def statements(script: str) -> Iterator[str]:
    """Yield the statements of a script, trigger bodies kept whole."""
    statement = ""
    for line in lines_of(script, ends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _step(file: Path) -> Callable[[Database], None]:
    def run(db: Database) -> None:
        for statement in statements(file.read_text(encoding="utf-8")):  # `executescript` looks for ends by the letter
            db.execute(statement)

    return run
