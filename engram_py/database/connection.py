"""Open the SQLite file: pragmas, retries that SQLite lacks, and its errors as ours."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engram_py.database.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreFullError,
    StoreIOError,
    StoreReadOnlyError,
)
from engram_py.errors import StoreError

BUSY_TIMEOUT_SECONDS = 5.0
# How long a writer goes on asking for the lock, in seconds: with eight processes saving at once none waited
# more than one; a backup or a checkpoint on a slow disk can hold it for several.
LOCK_TIMEOUT_SECONDS = 30.0

# The log grows while somebody reads; the first write after that gives the disk back what is beyond this.
LOG_BYTES = 8 * 1024 * 1024

_STEP_SECONDS = 0.01

# A list that is bound to a statement arrives there as JSON: `value in (select value from json_each(:ids))`.
for _kind in (list, tuple):
    sqlite3.register_adapter(_kind, json.dumps)


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection with row access by name, usable from any thread (callers serialise).

    Raises StoreError: the file cannot be opened, is damaged, or stayed locked.
    """
    with translated(path, waited_seconds=LOCK_TIMEOUT_SECONDS):
        connection = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_SECONDS, check_same_thread=False, isolation_level=None, cached_statements=256
        )
        try:
            connection.row_factory = sqlite3.Row
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


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Return a connection that never writes to the file nor beside it. Raises sqlite3.Error.

    Of a file in WAL mode SQLite writes an index beside it even to read it. Where it may not, and nothing waits in the
    log, the file alone is whole.
    """
    connection = _opened_to_read(path, "mode=ro")
    try:
        connection.execute("select 1 from sqlite_master").fetchone()
    except sqlite3.OperationalError as exc:
        connection.close()
        if primary_code(exc) not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or has_log(path):
            raise
        connection = _opened_to_read(path, "mode=ro&immutable=1")
    return connection


def has_log(path: Path) -> bool:
    """Return whether something waits in the log beside the file."""
    log = path.with_name(f"{path.name}-wal")
    return log.is_file() and log.stat().st_size > 0


def _opened_to_read(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=5.0, check_same_thread=False, isolation_level=None
    )
    connection.row_factory = sqlite3.Row
    return connection


def use_wal(connection: sqlite3.Connection, path: Path) -> None:
    # Switching to WAL ignores the busy timeout, so processes that first open a new file together need this
    # retry (spec/apis.md: 15 of 320 simultaneous opens failed without it).
    with translated(path, waited_seconds=LOCK_TIMEOUT_SECONDS):
        retry_busy(lambda: connection.execute("pragma journal_mode = wal").fetchone())


def begin_immediate(connection: sqlite3.Connection, path: Path, *, lock_timeout: float = LOCK_TIMEOUT_SECONDS) -> None:
    """Take the write lock, waiting up to ``lock_timeout`` seconds."""
    with translated(path, waited_seconds=lock_timeout):
        retry_busy(lambda: connection.execute("begin immediate"), lock_timeout=lock_timeout)


def retry_busy(action: Callable[[], object], *, lock_timeout: float = LOCK_TIMEOUT_SECONDS) -> None:
    """Call ``action`` until it is not refused as busy, for at most ``lock_timeout`` seconds."""
    deadline = time.monotonic() + lock_timeout
    while True:
        try:
            action()
            return
        except sqlite3.OperationalError as exc:
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
        if isinstance(error, sqlite3.Error) and (ours := self.ours(error)):
            raise ours from error

    def ours(self, error: sqlite3.Error) -> StoreError | None:
        """Return the failure to raise, None for a bug of ours."""
        return translate(error, self._path, waited_seconds=self._waited_seconds)
