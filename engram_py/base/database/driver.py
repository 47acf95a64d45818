"""The drivers that open a SQLite file: Python's own, and SQLCipher's for one that is encrypted."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any, TypeVar

from engram_py.base.errors import StoreError
from engram_py.base.install_hints import install_hint

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
    """Return SQLCipher's driver, which opens plain files too. Raises StoreError where it is not installed."""
    try:
        from sqlcipher3 import dbapi2
    except ImportError as exc:
        raise StoreError(
            f"{path} needs SQLCipher, which is not installed here",
            hint=f"run `{install_hint('encrypted')}`",
            code="encryption_not_installed",
        ) from exc
    return dbapi2 if dbapi2 in _DRIVERS else _load(dbapi2)


def open_file(path: Path | str, key: bytes = b"", *, driver: Any = None, **options: Any) -> sqlite3.Connection:
    """Return a connection to a file that is encrypted with ``key``, or plain where that is empty.

    Raises StoreError (encryption_not_installed), and what the driver raises.
    """
    driver = driver or (cipher(path) if key else sqlite3)
    connection: sqlite3.Connection = driver.connect(path, check_same_thread=False, isolation_level=None, **options)
    if key:
        connection.execute("pragma cipher_log_level = none")  # it writes to stderr what it raises as well
        connection.execute(f"pragma key = \"x'{key.hex()}'\"")
    connection.row_factory = driver.Row
    return connection


def open_to_read(path: Path, key: bytes = b"", mode: str = "mode=ro") -> sqlite3.Connection:
    return open_file(f"{path.absolute().as_uri()}?{mode}", key, uri=True)
