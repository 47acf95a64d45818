"""One finding of the doctor, and changes of the file that it has to find."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from engram_py import Engram
from engram_py.upkeep.values import Check


def raw(app: Engram, *statements: str) -> None:
    """Change the file as no service would."""
    with closing(sqlite3.connect(app.store.path)) as connection, connection:
        connection.execute("pragma foreign_keys = off")
        for statement in statements:
            connection.execute(statement)


def finding(app: Engram, check: str) -> Check:
    [found] = app.doctor.examine(check=check).checks
    assert found.check_id == check
    return found
