"""Several processes that first open the same file together."""

from __future__ import annotations

import multiprocessing
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path

from engram_py.database import migrations
from tests import savers

PROCESSES, FILES = 8, 5


def test_processes_that_open_a_new_file_at_the_same_moment_all_succeed_and_migrate_it_once(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, mp_context=spawn, initializer=savers.join, initargs=(start,)) as pool:
        list(pool.map(savers.open_many, [str(tmp_path)] * PROCESSES, range(PROCESSES), [FILES] * PROCESSES))

    for file in range(FILES):
        with closing(sqlite3.connect(tmp_path / str(file) / "engram.db")) as connection:
            assert migrations.applied(connection) == list(migrations.names())
            assert connection.execute("select count(*) from meta where key like 'process-%'").fetchone() == (8,)
            assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
