"""The store: one connection behind a lock, immediate transactions, rows by name."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from engram_py.base.database import filesystem, migrations
from engram_py.base.database.connection import (
    LOCK_TIMEOUT_SECONDS,
    Generation,
    begin_immediate,
    connect,
    connect_read_only,
    has_log,
    is_invalid_text,
    key_of,
    readable,
    translated,
    use_wal,
)
from engram_py.base.database.driver import of_any_driver
from engram_py.base.database.errors import (
    IndexDamagedError,
    StoreBusyError,
    StoreDamagedError,
    StoreGoneError,
    StoreIOError,
    StoreReadOnlyError,
    StoreReplacedError,
)
from engram_py.base.errors import StoreError
from engram_py.base.lazy import logger_of

Row = sqlite3.Row
T = TypeVar("T")

# Long work pauses for longer than a waiting writer sleeps between two tries (connection.py), at the latest after this.
_WORK_SECONDS, _WAY_SECONDS = 0.1, 0.03
# Connections of one process to a file share the memory of its log: all of them leave a log that was removed together.
_STORES: WeakSet[Store] = WeakSet()
_LEAVING = threading.Lock()
_LEAVING_SECONDS = 1.0
_COUNT = "select count(*) from observations where deleted_at is null"

logger = logger_of(__name__)


class _Said(translated):
    """Errors of a store's statements as ours: a failure of the search index is IndexDamagedError."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.path)
        self._store = store

    def ours(self, error: sqlite3.Error) -> StoreError | None:
        from engram_py.base.database.soundness import is_of_index

        reason = is_of_index(self._store._connection, error)
        return IndexDamagedError(str(self._path), reason) if reason else super().ours(error)


class Store:
    """An open ``engram.db``. Safe to use from several threads; other processes are waited for.

    Raises (``open``):
        DataDirError, StoreError (network_filesystem): the directory cannot be used.
        StoreTooNewError, StoreForeignError, StoreDamagedError, StoreKeyError: the file is left as it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._generation = Generation(path)
        self._lock = threading.RLock()
        self._depth = 0
        self.lock_timeout = LOCK_TIMEOUT_SECONDS
        self.writes = 0  # transactions committed by this process
        self.begun = 0  # and begun
        self.lent = 0  # how often the connection was lent for a write in passing
        self.asked = 0  # statements and transactions of this process, to tell whether it is busy
        self.common_words: dict[str, tuple[int, int]] = {}  # how many rows hold it, of how many then
        self.visible: tuple[object, dict[Any, Any]] = (None, {})  # what projects see, and since which write
        self.after_write: list[Callable[[], None]] = []  # called when a transaction was committed; must not raise
        self._gave_way = 0.0  # when, by the monotonic clock
        self.opened = 1  # how often: again where the file was replaced
        self.news: list[str] = []  # what happened to the file, for the next answer to say
        self.read_only = False
        self.key = b""  # of an encrypted file
        self._said_invalid = False
        self._closed_by_another = False  # of this process, which left a log that was removed
        self._connection = self._connect()
        _STORES.add(self)

    @classmethod
    def open(cls, data_dir: Path) -> Store:
        return cls(data_dir / filesystem.DATABASE_NAME)

    def _connect(self) -> sqlite3.Connection:
        """Return a connection to the file at the path, brought up to date; ``_generation`` knows it."""
        filesystem.prepare_data_dir(self.path.parent)
        while True:
            self.key = key_of(self.path)  # without it no empty file is made either
            try:
                return self._connected()
            except StoreDamagedError:
                if key_of(self.path) == self.key:
                    raise
                # It was encrypted, decrypted or rekeyed between the two.

    def _connected(self) -> sqlite3.Connection:
        filesystem.create_private_file(self.path)
        inode = self._generation.before_opening()
        try:
            connection = connect(self.path, self.key)
        except (StoreIOError, StoreReadOnlyError):
            if filesystem.may_write(self.path):
                raise
            connection = self._connect_read_only()
            self._generation.opened(inode, self.key)
            return connection
        try:
            with translated(self.path):
                pending = migrations.check_origin(connection, self.path)
            use_wal(connection, self.path)
            if pending:
                done = migrations.migrate(connection, self.path, backups=self.path.parent / filesystem.BACKUPS)
                if done.copy:
                    self.news.append(
                        f"the memory was upgraded from schema {done.before[:4]} to {done.names[-1][:4]}; "
                        f"a copy of before is {done.copy} (`engram restore` with the earlier program brings it back)"
                    )
            connection.execute("select 1 from sqlite_master").fetchone()  # the log exists from the first read on
        except BaseException:
            connection.close()
            raise
        self._generation.opened(inode, self.key)
        return connection

    def _connect_read_only(self) -> sqlite3.Connection:
        """Return a connection to a file that cannot be written: a read-only medium, or a file of another user.

        A file that is incomplete without its log, or that an older program wrote, is read from a copy. The copy is
        removed with the connection.
        """
        import shutil  # few processes copy anything
        import tempfile

        self.read_only = True
        with translated(self.path):
            if not has_log(self.path):
                connection = connect_read_only(self.path, self.key)
                if not migrations.check_origin(connection, self.path):
                    return connection
                connection.close()
            with tempfile.TemporaryDirectory(prefix="engram-", ignore_cleanup_errors=True) as room:
                copy = Path(room) / self.path.name
                for file in filesystem.database_files(self.path):
                    shutil.copyfile(file, copy.with_name(file.name))
                connection = connect(copy, self.key)
                migrations.migrate(connection, copy)
                connection.execute("pragma journal_mode = delete")
                connection.close()
                return connect_read_only(copy, self.key)

    def close(self) -> None:
        with self._lock:
            _STORES.discard(self)
            if self._generation.moved:
                with contextlib.suppress(*of_any_driver(sqlite3.Error, StoreError, OSError)):
                    self._leave()
            self._connection.close()
            self._generation.closed()

    # --- reading ---------------------------------------------------------------------------------------

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """Return all rows of a query. Values are bound by name."""
        with self._lock, _Said(self):
            return self._fetched(lambda: self._usable().execute(sql, values).fetchall())

    def tuples(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a query as plain tuples, for thousands of rows in half the time."""
        with self._lock, _Said(self):
            cursor = self._usable().cursor()
            cursor.row_factory = None
            return self._fetched(lambda: cursor.execute(sql, values).fetchall())

    def row(self, sql: str, **values: Any) -> Row | None:
        with self._lock, _Said(self):
            found: Row | None = self._fetched(lambda: self._usable().execute(sql, values).fetchone())
            return found

    def _fetched(self, fetch: Callable[[], T]) -> T:
        """Return what a query gives, also where the disk spoiled a text: one of them must not hide all others."""
        try:
            return fetch()
        except of_any_driver(sqlite3.OperationalError) as exc:
            if not is_invalid_text(exc):
                raise
        with readable(self._connection):
            found = fetch()
        said = f"a text in {self.path.name} is not UTF-8: `engram doctor` names it, `engram doctor --fix` mends it"
        if not self._said_invalid:
            self._said_invalid = True
            logger.warning("%s", said)
            self.news.append(said)
        return found

    def value(self, sql: str, **values: Any) -> Any:
        """Return the first column of the first row, or None."""
        row = self.row(sql, **values)
        return None if row is None else row[0]

    def version(self) -> tuple[int, int, int, int, bool]:
        """Return what changes with every write to the file, by this process or another one, and when it is replaced.

        It does not count as work of this process (``asked``): whoever waits for a change asks often.
        """
        with self._lock, translated(self.path):
            moved = self._generation.moved
            [others] = [0] if moved else self._connection.execute("pragma data_version").fetchone()
            return self.opened, self.writes, self.lent, int(others), moved

    # --- writing ---------------------------------------------------------------------------------------

    def give_way(self) -> None:
        """Let others write, between two transactions of long work: who waits looks for the lock every 10 ms."""
        if time.monotonic() - self._gave_way >= _WORK_SECONDS:
            time.sleep(_WAY_SECONDS)
            self._gave_way = time.monotonic()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in ``BEGIN IMMEDIATE`` … commit, roll back when it raises. Inside another: a savepoint."""
        with self._lock:
            if self._depth:
                with self._savepoint():
                    yield
                return
            connection = self._begun()
            self._depth = 1
            self.begun += 1
            try:
                with _Said(self):
                    yield
                    connection.execute("commit")
            finally:
                self._depth = 0
                if connection.in_transaction:
                    with contextlib.suppress(*of_any_driver(sqlite3.Error)):
                        connection.execute("rollback")
            # Replaced while it was written, it went into the file or the log that stood there before.
            if self._generation.moved and (self._generation.replaced or not self._follow()):
                raise StoreReplacedError(str(self.path))
            self.writes += 1
            for told in self.after_write:
                told()

    def _begun(self) -> sqlite3.Connection:
        """Return the connection with the write lock of the file at the path, which may have been replaced meanwhile."""
        while True:
            connection = self._usable()
            if self.read_only:  # a block that only reads needs no lock; one that writes is refused by SQLite
                connection.execute("begin")
            else:
                begin_immediate(connection, self.path, lock_timeout=self.lock_timeout)
            if not self._generation.moved:
                return connection
            connection.execute("rollback")

    @contextmanager
    def in_passing(self) -> Iterator[sqlite3.Connection | None]:
        """Lend the connection for a write that waits for nobody; None during another transaction of this process.

        Raises sqlite3.Error as SQLite does: the caller gives up, or tries another time.
        """
        if not self._lock.acquire(blocking=False):
            yield None
            return
        try:
            connection = self._usable()
            if self._depth or self.read_only:
                yield None
                return
            [lock_timeout] = connection.execute("pragma busy_timeout").fetchone()
            connection.execute("pragma busy_timeout = 0")
            try:
                yield connection
            finally:
                self.lent += 1
                if connection.in_transaction:
                    connection.execute("rollback")
                connection.execute(f"pragma busy_timeout = {int(lock_timeout)}")
        finally:
            self._lock.release()

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        name = f"level_{self._depth}"
        self._depth += 1
        self._connection.execute(f"savepoint {name}")
        try:
            yield
        except BaseException:
            # A full disk makes SQLite roll back the whole transaction, savepoints and all.
            if self._connection.in_transaction:
                self._connection.execute(f"rollback to {name}")
                self._connection.execute(f"release {name}")
            raise
        else:
            self._connection.execute(f"release {name}")
        finally:
            self._depth -= 1

    def execute(self, sql: str, **values: Any) -> sqlite3.Cursor:
        """Run a statement inside ``transaction()``; outside of one it is a mistake and refused."""
        assert self._depth, "writes belong inside store.transaction()"
        return self._connection.execute(sql, values)

    def insert(self, table: str, values: Mapping[str, Any], *, replace: bool = False) -> int:
        """Insert one row of column values; its rowid."""
        return int(self.execute(_insertion(table, values, replace=replace), **values).lastrowid or 0)

    def update(self, table: str, key: Mapping[str, Any], values: Mapping[str, Any]) -> int:
        """Set columns of the rows whose columns equal ``key``; how many there were."""
        sets = ", ".join(f"{name} = :{name}" for name in values)
        where = " and ".join(f"{name} = :key_{name}" for name in key)
        keys = {f"key_{name}": value for name, value in key.items()}
        return self.execute(f"update {table} set {sets} where {where}", **values, **keys).rowcount

    def hurry(self, seconds: float) -> None:
        """Limit every further wait for other writers: the process is about to end."""
        self.lock_timeout = seconds
        with contextlib.suppress(*of_any_driver(sqlite3.ProgrammingError)):  # closed by a reopening that failed
            self._connection.execute(f"pragma busy_timeout = {int(seconds * 1000)}")

    @property
    def in_transaction(self) -> bool:
        """Whether SQLite still has the transaction open; a full disk makes it roll back by itself."""
        return bool(self._depth) and self._connection.in_transaction

    # --- the file itself --------------------------------------------------------------------------------

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection itself for work on the file (backup, integrity), while nothing else runs."""
        with self._lock, _Said(self):
            yield self._usable()

    def reopen(self) -> None:
        """Close and open again: after the file was replaced. When that fails, the next call tries again."""
        with self._lock:
            self._connection.close()
            self._generation.closed(again=True)
            self.opened += 1
            self.common_words.clear()
            self._connection = self._connect()

    def _usable(self) -> sqlite3.Connection:
        # Somebody restored a backup over the file, or removed it, while this process held it open: writes to
        # the old inode would be acknowledged and gone.
        self.asked += 1
        if not self._depth and self._generation.moved:
            self._follow()
        return self._connection

    def _follow(self) -> bool:
        """Open the file that is at the path now; return whether it has every change that this process knows is saved.

        Raises StoreGoneError without a file: a new one would be empty, and its content lost when the old file is put
        back.
        """
        held, replaced, aside, key = self._observations(), self._generation.replaced, None, self.key
        with (
            translated(self.path),
            contextlib.suppress(*of_any_driver(sqlite3.ProgrammingError)),
        ):  # closed by a reopening that failed
            aside = self._leave()
        if not self.path.exists():
            raise StoreGoneError(str(self.path))
        self.reopen()
        if self._closed_by_another:
            self._closed_by_another = False
            return True
        if replaced and self.key != key:  # encrypted, or not any more: nothing else is different
            return True
        was = "" if held is None else f"; the one before it held {held}"
        news = f"{self.path.name} was replaced while it was open: it holds {self._observations()} observations now{was}"
        if not replaced:
            news = f"the log of {self.path.name} was removed while it was open"
            news += f"; {aside} has what is missing now, and `engram restore` puts that in place" if aside else ""
        logger.warning("%s: %s", self.path, news)
        self.news.append(f"{news}. From now on the file as it is now is used" if replaced or aside else news)
        return aside is None

    def _leave(self) -> Path | None:
        """Bring the log into the file; return the backup that has it where that cannot be.

        The other stores of this process let go of a log that was removed, and open again when they are used. Raises
        StoreBusyError while one of them is in use.
        """
        if self._generation.replaced:
            self._generation.leave(self._connection, lock_timeout=self.lock_timeout)
            return None
        with contextlib.ExitStack() as leaving:
            if not _LEAVING.acquire(blocking=False):
                raise StoreBusyError(str(self.path), 0)
            leaving.callback(_LEAVING.release)
            others = [other for other in list(_STORES) if other is not self and other.path == self.path]
            for other in others:
                if not other._lock.acquire(timeout=_LEAVING_SECONDS):
                    raise StoreBusyError(str(self.path), _LEAVING_SECONDS)
                leaving.callback(other._lock.release)
                if other._depth:
                    raise StoreBusyError(str(self.path), 0)
            for other in others:
                other._connection.close()
                other._generation.closed(again=True)
                other._closed_by_another = True
            carried = self._generation.carry(self._connection)
            return None if carried else self._generation.set_aside(self._connection)

    def tell(self) -> list[str]:
        """Return what happened to the file since the last call."""
        with self._lock:
            news, self.news = self.news, []
        return news

    def _observations(self) -> int | None:
        """Return the number of live observations in the open file, None while none is open."""
        with contextlib.suppress(*of_any_driver(sqlite3.Error)):
            return int(self._connection.execute(_COUNT).fetchone()[0])
        return None


def _insertion(table: str, names: Iterable[str], *, replace: bool) -> str:
    verb = "insert or replace" if replace else "insert"
    return f"{verb} into {table} ({', '.join(names)}) values ({', '.join(f':{name}' for name in names)})"


@contextmanager
def waiting(store: Store, seconds: float) -> Iterator[None]:
    """Limit every wait for another process to ``seconds``; other threads wait outside meanwhile."""
    with store.connection() as connection:
        lock_timeout = store.lock_timeout
        timeout = int(connection.execute("pragma busy_timeout").fetchone()[0])
        store.hurry(seconds)
        try:
            yield
        finally:
            store.lock_timeout = lock_timeout
            connection.execute(f"pragma busy_timeout = {timeout}")


@contextmanager
def at_once(store: Store) -> Iterator[None]:
    """A ``store.transaction()`` that does not wait: StoreBusyError while another process writes."""
    with waiting(store, 0), store.transaction():
        yield
