"""Open SQLite files: the driver, pragmas, retries that SQLite lacks, its errors as ours; detect that the open file was
replaced.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from engram_py.base.database import filesystem
from engram_py.base.database.errors import (
    EncryptionMissingError,
    StoreBusyError,
    StoreDamagedError,
    StoreFullError,
    StoreIOError,
    StoreReadOnlyError,
)
from engram_py.base.errors import StoreError

BUSY_TIMEOUT_SECONDS = 5.0
# How long a writer goes on asking for the lock, in seconds: with eight processes saving at once none waited
# more than one; a backup or a checkpoint on a slow disk can hold it for several.
LOCK_TIMEOUT_SECONDS = 30.0

# The log grows while somebody reads; the first write after that gives the disk back what is beyond this.
LOG_BYTES = 8 * 1024 * 1024

_STEP_SECONDS = 0.01

# Beside an encrypted memory: where its key is kept (keys.py). Without that file, nothing here is encrypted.
KEY_STATE = "key.json"
KEY_COMMAND = "ENGRAM_KEY_COMMAND"

E = TypeVar("E", bound=BaseException)
_DRIVERS: list[Any] = []


def _load(driver: Any) -> Any:
    # A list that is bound to a statement arrives there as JSON: `value in (select value from json_each(:ids))`.
    for kind in (list, tuple):
        driver.register_adapter(kind, json.dumps)
    _DRIVERS.append(driver)
    return driver


_load(sqlite3)


def of_any_driver(*kinds: type[E]) -> tuple[type[E], ...]:
    """Return what to catch: where exceptions of ``sqlite3`` are named, those of every driver in use. SQLCipher has
    classes of its own."""
    theirs = (getattr(driver, kind.__name__) for kind in kinds if kind.__module__ == "sqlite3" for driver in _DRIVERS)
    return (*kinds, *theirs)


def cipher(path: Path | str) -> Any:
    """Return SQLCipher's driver, which opens plain files too. Raises EncryptionMissingError: it is not installed."""
    try:
        from sqlcipher3 import dbapi2
    except ImportError as exc:
        raise EncryptionMissingError(str(path)) from exc
    return dbapi2 if dbapi2 in _DRIVERS else _load(dbapi2)


def open_file(path: Path | str, key: bytes = b"", *, driver: Any = None, **options: Any) -> sqlite3.Connection:
    """Return a connection to a file that is encrypted with ``key``, or plain where that is empty.

    Raises EncryptionMissingError, and what the driver raises.
    """
    driver = driver or (cipher(path) if key else sqlite3)
    connection: sqlite3.Connection = driver.connect(path, check_same_thread=False, isolation_level=None, **options)
    if key:
        connection.execute("pragma cipher_log_level = none")  # it writes to stderr what it raises as well
        connection.execute(f"pragma key = \"x'{key.hex()}'\"")
    connection.row_factory = driver.Row
    return connection


def is_open(path: Path) -> bool:
    """Return whether a store of this process has the file open."""
    return _OPEN[identity_of(str(path))] > 0


def key_of(path: Path, data_dir: Path | None = None) -> bytes:
    """Return the key of a file, empty for a plain one; ``data_dir`` is the memory it belongs to, where that is not the
    file's folder. Raises StoreKeyError."""
    folder = data_dir or path.parent
    if identity_of(str(folder / KEY_STATE)) is None and not os.environ.get(KEY_COMMAND):
        return b""
    inode = identity_of(str(path))
    if _OPEN[inode] > 0:  # to look into the file and close it would give up the locks that this process has on it
        return _KEYS[inode]
    from engram_py.base.database import keys

    return keys.key_of(path, folder)


def connect(path: Path, key: bytes = b"", *, driver: Any = None) -> sqlite3.Connection:
    """Return a connection with row access by name, usable from any thread (callers serialise).

    Raises StoreError: the file cannot be opened, is damaged, or stayed locked.
    """
    with translated(path, waited_seconds=LOCK_TIMEOUT_SECONDS):
        connection = open_file(path, key, driver=driver, timeout=BUSY_TIMEOUT_SECONDS, cached_statements=256)
        try:
            connection.execute("pragma foreign_keys = on")
            connection.execute("pragma synchronous = normal")
            connection.execute("pragma secure_delete = on")  # what is destroyed leaves the file; some builds default so
            connection.execute("pragma temp_store = memory")
            connection.execute(f"pragma journal_size_limit = {LOG_BYTES}")
            connection.execute("pragma cache_size = -8000")  # 8 MB: of 100,000 rows a search reads 700 pages
            connection.execute("select count(*) from sqlite_master").fetchone()  # a damaged header shows here
        except BaseException:
            connection.close()
            raise
        return connection


def connect_read_only(path: Path, key: bytes = b"") -> sqlite3.Connection:
    """Return a connection that never writes to the file nor beside it. Raises sqlite3.Error.

    Of a file in WAL mode SQLite writes an index beside it even to read it. Where it may not, and nothing waits in the
    log, the file alone is whole.
    """
    connection = open_to_read(path, key)
    try:
        connection.execute("select 1 from sqlite_master").fetchone()
    except of_any_driver(sqlite3.Error) as exc:
        connection.close()
        if primary_code(exc) not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or has_log(path):
            raise
        connection = open_to_read(path, key, "mode=ro&immutable=1")
    return connection


def has_log(path: Path) -> bool:
    """Return whether something waits in the log beside the file."""
    log = path.with_name(f"{path.name}-wal")
    return log.is_file() and log.stat().st_size > 0


def open_to_read(path: Path, key: bytes = b"", mode: str = "mode=ro") -> sqlite3.Connection:
    return open_file(f"{path.absolute().as_uri()}?{mode}", key, uri=True)


def use_wal(connection: sqlite3.Connection, path: Path) -> None:
    # Switching to WAL ignores the busy timeout, so processes that first open a new file together need this
    # retry (spec/apis.md: 15 of 320 simultaneous opens failed without it).
    with translated(path, waited_seconds=LOCK_TIMEOUT_SECONDS):
        retry_busy(lambda: connection.execute("pragma journal_mode = wal").fetchone())


def begin_immediate(connection: sqlite3.Connection, path: Path, *, lock_timeout: float = LOCK_TIMEOUT_SECONDS) -> None:
    """Take the write lock, waiting up to ``lock_timeout`` seconds."""
    with translated(path, waited_seconds=lock_timeout):
        retry_busy(lambda: connection.execute("begin immediate"), lock_timeout=lock_timeout)


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Read one moment of the file, whatever others write meanwhile."""
    if connection.in_transaction:
        yield
        return
    connection.execute("begin")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("rollback")


def retry_busy(action: Callable[[], object], *, lock_timeout: float = LOCK_TIMEOUT_SECONDS) -> None:
    """Call ``action`` until it is not refused as busy, for at most ``lock_timeout`` seconds."""
    deadline = time.monotonic() + lock_timeout
    while True:
        try:
            action()
            return
        except of_any_driver(sqlite3.OperationalError) as exc:
            if primary_code(exc) not in BUSY or time.monotonic() >= deadline:
                raise
        time.sleep(_STEP_SECONDS)


BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def primary_code(error: sqlite3.Error) -> int:
    """Return the primary result code, without the extended bits."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def is_invalid_text(error: sqlite3.Error) -> bool:
    """Return whether a text in the file is not UTF-8, which Python says without a code of SQLite's."""
    return str(error).startswith("Could not decode to UTF-8")


@contextmanager
def readable(connection: sqlite3.Connection) -> Iterator[None]:
    """Read what is no UTF-8 with a replacement character for each bad byte. Slower, so only where it is needed."""
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        yield
    finally:
        connection.text_factory = str


def translate(error: sqlite3.Error, path: Path, *, waited_seconds: float = 0) -> StoreError | None:
    """Return the StoreError for ``error``, None for a bug of ours (bad SQL, a broken constraint)."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHMSIZE:
        return StoreFullError(str(path))  # the shared memory beside the file could not grow
    match primary_code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusyError(str(path), waited_seconds)
        case sqlite3.SQLITE_FULL:
            return StoreFullError(str(path))
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreReadOnlyError(str(path))
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StoreDamagedError(str(path), str(error))
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PROTOCOL:
            return StoreIOError(str(path), str(error))
    return None


class translated:
    """A context that turns SQLite's own failures into ours; what is a bug of ours passes through, loud.

    A class, for every statement enters one: a generator takes longer.
    """

    def __init__(self, path: Path, *, waited_seconds: float = 0) -> None:
        self._path = path
        self._waited_seconds = waited_seconds

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None and isinstance(error, of_any_driver(sqlite3.Error)) and (ours := self.ours(error)):
            raise ours from error

    def ours(self, error: sqlite3.Error) -> StoreError | None:
        """Return the failure to raise, None for a bug of ours."""
        return translate(error, self._path, waited_seconds=self._waited_seconds)


class ForeignDatabase:
    """An open file of another program. Raises ``sqlite3.Error`` as SQLite does."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        from sqlite_utils import Database  # only an import reads such files

        self._tables = Database(connection, execute_plugins=False)

    def tables(self) -> set[str]:
        return set(self._tables.table_names())

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, bytes decoded to text; none where the file lacks the table."""
        for row in self._tables[table].rows_where(order_by="rowid"):
            yield {name: _plain(value) for name, value in row.items()}


@contextmanager
def open_foreign(path: Path) -> Iterator[ForeignDatabase]:
    """Open the file read-only. Raises sqlite3.Error, OSError."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there")
    with closing(connect_read_only(path)) as connection:
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        yield ForeignDatabase(connection)


def _plain(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


Identity = tuple[int, int] | None

_NONE_YET = (-1, -1)  # no file's identity
_OPEN: Counter[Identity] = Counter()  # how often this process has a file open
_KEYS: dict[Identity, bytes] = {}  # and with which key


# The newest of each kind, to tell whether one memory has something that another lacks.
_HELD = """
select coalesce((select max(id) from observations), 0), coalesce((select max(id) from user_prompts), 0),
    coalesce((select max(id) from turns), 0),
    coalesce((select cast(substr(value, 1, instr(value || '.', '.') - 1) as integer) from meta where key = 'clock'), 0)
"""
_HOLD = """
import json, pathlib, sys
from engram_py.base.database.connection import key_of, open_file
path = pathlib.Path(sys.argv[1])
connection = open_file(path, key_of(path))
print(json.dumps(tuple(connection.execute(sys.argv[2]).fetchone())), flush=True)
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
        self._key = b""

    @property
    def moved(self) -> bool:
        """Whether another file than the open one, or none, is at the path, or at that of its log."""
        return not self._done and (self.replaced or identity_of(self._wal) != self._log)

    @property
    def replaced(self) -> bool:
        """Whether that is so of the file itself."""
        return identity_of(self._file) != self._inode

    def before_opening(self) -> Identity:
        """Return the identity of the file that will be opened. A later replacement is noticed by the next statement."""
        inode = identity_of(self._file)
        if _OPEN[inode] < 1:
            filesystem.drop_foreign_log(self._path)
        return inode

    def opened(self, inode: Identity, key: bytes) -> None:
        """Record the open file, after its first read: from then on it has a log."""
        self._inode, self._counted = inode, inode
        self._key = _KEYS[inode] = key
        self._log, self._memory = identity_of(self._wal), identity_of(self._shm)
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
            if identity_of(self._wal) == self._log:
                for suffix in ("-shm", "-wal"):
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        finally:
            connection.execute("rollback")

    def carry(self, connection: sqlite3.Connection) -> bool:
        """Bring a log that is not at its path any more into its file. Return False where others began another log, and
        what both wrote cannot be joined."""
        begun = identity_of(self._shm) not in (None, self._memory)
        if begun and _size(self._wal):
            return False
        try:  # alone with the file, the whole log is taken in while nobody can open it
            return str(connection.execute("pragma journal_mode = delete").fetchone()[0]) == "delete"
        except of_any_driver(sqlite3.OperationalError) as exc:
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
        with contextlib.closing(open_file(target, self._key)) as copy:
            connection.backup(copy)
            copy.execute("pragma journal_mode = delete")
        return target


def identity_of(file: str) -> Identity:
    """Return what tells a file from another one at its path; None without a file."""
    try:
        stat = os.stat(file)  # noqa: PTH116 (asked before each statement: a Path takes three times as long)
    except OSError:
        return None
    return (stat.st_dev, stat.st_ino)


def _size(file: str) -> int:
    with contextlib.suppress(OSError):
        return Path(file).stat().st_size
    return 0
