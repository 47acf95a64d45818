"""Back up the whole memory and restore it, with SQLite's online backup; write it anew under another key."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from engram_py.base.database import filesystem, health, migrations, soundness
from engram_py.base.database.connection import (
    BUSY,
    begin_immediate,
    cipher,
    connect,
    is_open,
    key_of,
    of_any_driver,
    open_file,
    open_to_read,
    snapshot,
    translated,
    use_wal,
)
from engram_py.base.database.errors import (
    InvalidBackupError,
    StoreBusyError,
    StoreDamagedError,
    StoreForeignError,
    StoreIOError,
)
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import StoreError
from engram_py.base.times import Clock

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
            copy = open_file(target, store.key)
            try:
                # Without an open read transaction a backup begins again each time another process wrote, and never ends
                # while others go on saving.
                with snapshot(source):
                    source.execute("select 1 from sqlite_master").fetchone()
                    source.backup(copy, pages=_PAGES_PER_STEP, progress=_report(progress))
                copy.execute("pragma journal_mode = delete")  # one file, no -wal beside it
            finally:
                copy.close()
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def check_backup(path: Path, data_dir: Path | None = None) -> int:
    """Return the number of live observations in a backup of the memory in ``data_dir``.

    Raises InvalidBackupError: it is no database of ours, damaged, from a newer program, or nobody has its key.
    """
    if not path.is_file():
        raise InvalidBackupError(str(path), "there is no such file")
    connection = None
    try:
        connection = open_to_read(path, key_of(path, data_dir))
        if not migrations.applied(connection):
            raise InvalidBackupError(str(path), "it is not an engram database")
        migrations.check_origin(connection, path)
        problems = soundness.problems(connection)
        if problems:
            raise InvalidBackupError(str(path), f"it is damaged ({problems[0]})")
        return int(connection.execute("select count(*) from observations where deleted_at is null").fetchone()[0])
    except StoreError as exc:
        raise InvalidBackupError(str(path), exc.message) from exc
    except of_any_driver(sqlite3.Error) as exc:
        raise InvalidBackupError(str(path), str(exc)) from exc
    finally:
        if connection is not None:
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

    with translated(store.path), _under(store.key, source, store.path) as (path, key):
        backup = open_to_read(path, key)
        try:
            [pages] = backup.execute("pragma page_count").fetchone()
            with store.connection() as live:
                backup.backup(live, pages=max(1, min(_PAGES_PER_STEP, pages // 2)), progress=step, sleep=_BUSY_SECONDS)
        finally:
            backup.close()
    store.reopen()  # an older backup is brought up to date here


@contextmanager
def _under(key: bytes, source: Path, live: Path) -> Iterator[tuple[Path, bytes]]:
    """Give a backup as a file that is encrypted as the live one is: SQLite copies pages as they are.

    Raises InvalidBackupError: a memory that is plain would make an encrypted one readable.
    """
    theirs = key_of(source, live.parent)
    if theirs == key:
        yield source, key
        return
    if not key:
        raise InvalidBackupError(
            str(source), "it is encrypted, and the memory is not; `engram encrypt --recovery` comes first"
        )
    copy = live.with_name(f"{live.name}{BESIDE}")
    try:
        rewrite(source, theirs, copy, key)
        yield copy, key
    finally:
        copy.unlink(missing_ok=True)


BESIDE = ".new"
_READERS_SECONDS = 30.0
_STEP_OPERATIONS = 50_000
_COUNTED = "select name from sqlite_master where type = 'table' and rootpage > 0 order by name"


def rewrite(source: Path, key: bytes, target: Path, new_key: bytes, progress: Progress | None = None) -> None:
    """Write the content of a database to a new private file under another key (empty: plain), check it, and have it
    on the disk. Free pages and what was deleted are not in it.

    Raises StoreDamagedError: not everything arrived. The new file is removed then, and the source is as it was.
    """
    target.unlink(missing_ok=True)
    filesystem.create_private_file(target)
    try:
        with closing(open_file(source, key, driver=cipher(source))) as connection:
            if progress:
                size = source.stat().st_size
                told = partial(_tell_size, target, size, progress)
                connection.set_progress_handler(told, _STEP_OPERATIONS)
            _export(connection, target, new_key)
            with closing(open_file(target, new_key, driver=cipher(target))) as copy:
                _compare(connection, copy, target)
        with target.open("rb") as file:
            os.fsync(file.fileno())
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _tell_size(target: Path, size: int, progress: Progress) -> int:
    progress(min(target.stat().st_size, size), size)
    return 0


def _export(connection: sqlite3.Connection, target: Path, key: bytes) -> None:
    quoted = f"x'{key.hex()}'" if key else ""
    connection.execute("attach database ? as target key ?", (str(target), quoted))
    connection.execute("pragma target.journal_mode = off")  # it is checked, or thrown away
    connection.execute("pragma target.synchronous = off")
    connection.execute("begin")
    connection.execute("select sqlcipher_export('target')").fetchall()
    connection.execute("commit")
    connection.execute("detach database target")


def _compare(source: sqlite3.Connection, copy: sqlite3.Connection, target: Path) -> None:
    """Raises StoreDamagedError: the copy is not sound, or lacks something."""
    tables = [row[0] for row in source.execute(_COUNTED)]
    lacks = [name for name in tables if _rows(source, name) != _rows(copy, name)]
    problems = soundness.problems(copy) or soundness.index_problems(copy)
    if lacks or problems:
        raise StoreDamagedError(str(target), problems[0] if problems else f"rows of {', '.join(lacks)} did not arrive")


def _rows(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"select count(*) from {table}").fetchone()[0])


def change_key(path: Path, key: bytes, new_key: bytes, progress: Progress | None = None) -> None:
    """Put a database under another key, in one step, while others have it open: they wait, and open the new file then.
    Not while this process has it open itself.

    Whenever the process is killed, the file that was there or the new one is at the path, whole: the log goes when all
    of it is in the file, while nobody can write to it or open it. Raises StoreError; the file is as it was then.
    """
    beside = path.with_name(f"{path.name}{BESIDE}")
    if is_open(path):
        raise StoreBusyError(str(path), 0)
    driver = cipher(path)  # for the plain file too: two libraries in a process give up each other's locks
    with closing(connect(path, key, driver=driver)) as holder, translated(path):
        use_wal(holder, path)
        begin_immediate(holder, path)
        try:
            rewrite(path, key, beside, new_key, progress)
            with closing(connect(path, key, driver=driver)) as other:
                _empty_log(other, path)
            with filesystem.nobody_opens(path):
                for suffix in ("-shm", "-wal"):
                    path.with_name(path.name + suffix).unlink(missing_ok=True)
                beside.replace(path)
                filesystem.sync_folder(path.parent)
                holder.execute("rollback")
        except OSError as exc:
            raise StoreIOError(str(path), exc.strerror or str(exc)) from exc
        finally:
            beside.unlink(missing_ok=True)


def _empty_log(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the whole log into the file, as soon as nobody reads what stood there before. Raises StoreBusyError."""
    deadline = time.monotonic() + _READERS_SECONDS
    while True:
        _, pages, done = connection.execute("pragma wal_checkpoint(passive)").fetchone()
        if pages == done:
            return
        if time.monotonic() > deadline:
            raise StoreBusyError(str(path), _READERS_SECONDS)
        time.sleep(_BUSY_SECONDS)


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


FOLDER = filesystem.BACKUPS

_TABLES_OF_A_MEMORY = ("observations", "user_prompts", "sessions", "projects")


@dataclass(frozen=True, slots=True)
class Backup:
    path: str
    bytes: int
    observations: int


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore; ``kept`` is the memory it replaced."""

    source: str
    path: str
    observations: int
    kept: str | None


class Backups:
    """Makes backups of an open memory."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def create(self, target: Path | None = None, *, label: str = "", progress: Progress | None = None) -> Backup:
        """Return a checked copy, by default ``backups/engram-<UTC time>.db`` in the data directory.

        Raises InvalidBackupError when ``target`` exists, StoreDamagedError when the memory is not sound (no copy
        of it is kept), StoreError when the copy cannot be written.
        """
        path = self.copy(target, label=label, progress=progress)
        try:
            observations = check_backup(path, self._store.path.parent)
        except InvalidBackupError as exc:
            path.unlink(missing_ok=True)
            raise StoreDamagedError(str(self._store.path), exc.reason) from exc
        return Backup(str(path), path.stat().st_size, observations)

    def copy(self, target: Path | None = None, *, label: str = "", progress: Progress | None = None) -> Path:
        """Return the path of a copy that is not checked. Raises InvalidBackupError, StoreError as ``create`` does."""
        stem = f"engram-{self._clock():%Y%m%dT%H%M%S%fZ}" + (f"-{label}" if label else "")
        path = target or filesystem.free_name(self._store.path.parent / FOLDER / f"{stem}.db")
        try:
            if path.exists():
                raise InvalidBackupError(str(path), "the file exists already")
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as exc:
            raise StoreIOError(str(path), exc.strerror or str(exc)) from exc
        copy_to(self._store, path, progress)
        return path


def restore(data_dir: Path, source: Path, *, clock: Clock, progress: Progress | None = None) -> Restored:
    """Replace the memory in ``data_dir`` by a backup. What was there is kept, as a backup or set aside.

    Works when the present file is damaged, and while other processes have a sound one open: they wait from before it
    is copied until it is replaced, so that what they were told is saved is in one of the two.

    Raises InvalidBackupError before anything is changed.
    """
    observations = check_backup(source, data_dir)
    path = filesystem.prepare_data_dir(data_dir)
    try:
        kept = _replace(data_dir, source, clock, progress)
    except (StoreDamagedError, StoreForeignError):
        aside = set_aside(path, f"damaged-{clock():%Y%m%dT%H%M%SZ}")
        kept = [aside, *_replace(data_dir, source, clock, progress)]
    return Restored(str(source), str(path), observations, str(kept[0]) if kept else None)


def _replace(data_dir: Path, source: Path, clock: Clock, progress: Progress | None) -> list[Path]:
    """Replace a sound memory; return the path of the copy of its content, nothing where it had none."""
    kept: list[Path] = []

    def keep() -> None:
        with closing(Store.open(data_dir)) as present:
            if any(present.value(f"select 1 from {table} limit 1") for table in _TABLES_OF_A_MEMORY):
                kept.append(Backups(present, clock).copy(label="before-restore"))

    with closing(Store.open(data_dir)) as store:
        if problems := health.integrity(store):
            raise StoreDamagedError(str(store.path), problems[0])
        copy_from(store, source, progress, locked=keep)
        if health.index_damage(store):
            health.rebuild_indexes(store)
    return kept
