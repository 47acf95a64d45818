"""Copy the database and put copies back, with SQLite's online backup."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engram_py.database import filesystem, migrations, soundness
from engram_py.database.connection import BUSY, translated
from engram_py.database.errors import InvalidBackupError, StoreBusyError
from engram_py.database.store import Store
from engram_py.errors import StoreError

_PAGES_PER_STEP = 1_000
_BUSY_SECONDS = 0.01

Progress = Callable[[int, int], None]


def copy_to(store: Store, target: Path, progress: Progress | None = None) -> None:
    """Write a consistent copy of the live database to a new private file, while others go on writing.

    Raises StoreError; a copy that was not finished is removed.
    """
    filesystem.create_private_file(target)
    try:
        with store.connection() as source, translated(target):
            copy = sqlite3.connect(target)
            try:
                with _snapshot(source):
                    source.backup(copy, pages=_PAGES_PER_STEP, progress=_report(progress))
                copy.execute("pragma journal_mode = delete")  # one file, no -wal beside it
            finally:
                copy.close()
    except BaseException:
        target.unlink(missing_ok=True)
        raise


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    # Without an open read transaction a backup begins again each time another process wrote, and never ends
    # while others go on saving.
    connection.execute("begin")
    try:
        connection.execute("select 1 from sqlite_master").fetchone()
        yield
    finally:
        if connection.in_transaction:
            connection.execute("rollback")


def check_backup(path: Path) -> int:
    """Return the number of live observations in a backup.

    Raises InvalidBackupError: it is no database of ours, damaged, or from a newer program.
    """
    if not path.is_file():
        raise InvalidBackupError(str(path), "there is no such file")
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        connection.row_factory = sqlite3.Row
        if not migrations.applied(connection):
            raise InvalidBackupError(str(path), "it is not an engram database")
        migrations.check_origin(connection, path)
        problems = soundness.problems(connection)
        if problems:
            raise InvalidBackupError(str(path), f"it is damaged ({problems[0]})")
        return int(connection.execute("select count(*) from observations where deleted_at is null").fetchone()[0])
    except StoreError as exc:
        raise InvalidBackupError(str(path), exc.message) from exc
    except sqlite3.Error as exc:
        raise InvalidBackupError(str(path), str(exc)) from exc
    finally:
        connection.close()


def copy_from(
    store: Store, source: Path, progress: Progress | None = None, *, locked: Callable[[], object] | None = None
) -> None:
    """Replace the content of the live database by a backup's, in one transaction other processes wait for.

    ``locked`` is called before anything is replaced, when nobody else can write any more until that is done; it may
    read the file through another connection. Raises StoreBusyError when another process kept the write lock for longer
    than the store waits.
    """
    deadline = time.monotonic() + store.lock_timeout
    report, waiting = _report(progress), [locked] if locked else []

    def step(status: int, remaining: int, total: int) -> None:
        # SQLite's backup asks for the lock again without end. With its first pages it has it, and keeps it to the last.
        if status not in BUSY:
            while waiting:
                waiting.pop()()
        elif time.monotonic() >= deadline:
            raise StoreBusyError(str(store.path), store.lock_timeout)
        if report:
            report(status, remaining, total)

    with translated(store.path):
        backup = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)
        try:
            [pages] = backup.execute("pragma page_count").fetchone()
            with store.connection() as live:
                backup.backup(live, pages=max(1, min(_PAGES_PER_STEP, pages // 2)), progress=step, sleep=_BUSY_SECONDS)
        finally:
            backup.close()
    store.reopen()  # an older backup is brought up to date here


def set_aside(path: Path, label: str) -> Path:
    """Move a damaged database and its log out of the way, keeping them; where it is now."""
    kept = filesystem.free_name(path.with_name(f"{path.stem}-{label}{path.suffix}"))
    for suffix in ("-wal", "-shm", ""):
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.rename(kept.with_name(kept.name + suffix))
    return kept


def _report(progress: Progress | None) -> Callable[[int, int, int], object] | None:
    if progress is None:
        return None
    return lambda _status, remaining, total: progress(total - remaining, total)
