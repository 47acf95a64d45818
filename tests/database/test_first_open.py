"""Several processes that first open the same file together."""

from __future__ import annotations

import multiprocessing
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

from engram_py.database import migrations
from engram_py.database.store import Store

PROCESSES = 8
FILES = 5

_barrier: Barrier


def _join(barrier: Barrier) -> None:
    global _barrier  # noqa: PLW0603 - a spawned process can only be given a barrier when it starts
    _barrier = barrier


def _open_and_write(folder: str, number: int) -> None:
    for file in range(FILES):
        _barrier.wait(timeout=60)
        with closing(Store.open(Path(folder) / str(file))) as store, store.transaction():
            store.insert("meta", {"key": f"process-{number}", "value": "here"})


def test_processes_that_open_a_new_file_at_the_same_moment_all_succeed_and_migrate_it_once(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        PROCESSES, mp_context=spawn, initializer=_join, initargs=(spawn.Barrier(PROCESSES),)
    ) as pool:
        list(pool.map(_open_and_write, [str(tmp_path)] * PROCESSES, range(PROCESSES)))

    for file in range(FILES):
        with closing(sqlite3.connect(tmp_path / str(file) / "engram.db")) as connection:
            assert migrations.applied(connection) == list(migrations.names())
            assert connection.execute("select count(*) from meta where key like 'process-%'").fetchone() == (8,)
            assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
