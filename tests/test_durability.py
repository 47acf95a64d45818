"""Nothing acknowledged is lost: not with eight processes saving at once, not to ``kill -9``."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Engram
from tests.savers import join, save_many, save_the_same

WRITERS = 3
# Each behaviour is shown quickly, and left to chance for longer by `make soak`.
SAVES = [(4, 20), pytest.param(8, 200, marks=pytest.mark.soak)]
KILLS = [10, pytest.param(60, marks=pytest.mark.soak)]

EARLIER_TEXTS = """
select observations.sync_id, observation_versions.content
from observation_versions
join observations on observations.id = observation_versions.observation_id
"""

# Says what was acknowledged, after it was: the sync id and the number of the row.
WRITER = """
import sys
from engram_py import Engram
from engram_py.memory.observations.values import Draft

folder, name = sys.argv[1:]
app = Engram(folder, directory=folder, project="widgets")
number = 0
while True:
    number += 1
    topic = f"decision/{name}-{number % 5}" if number % 3 == 0 else None
    saved = app.save(Draft(f"Row {number} of {name}", f"What {name} learned in row {number}.", topic_key=topic))
    print(saved.sync_id, number, flush=True)
"""


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "engram.db")) as connection:
        return connection.execute(sql).fetchall()


def assert_sound(folder: Path) -> None:
    """The file is whole, the index agrees with the table, and every row is queued once."""
    with Engram(folder, directory=folder, project="widgets") as app:
        report = app.doctor.examine()
        assert [check for check in report.checks if check.result != "ok"] == []
    queued = "select entity_key from sync_mutations where entity = 'observation' order by 1"
    assert rows(folder, queued) == rows(folder, "select sync_id from observations order by 1")


@pytest.mark.parametrize(("processes", "saves"), SAVES)
def test_processes_that_save_at_once_on_a_new_file_lose_nothing(tmp_path: Path, processes: int, saves: int) -> None:
    folder = tmp_path / "data"
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Barrier(processes)
    with ProcessPoolExecutor(processes, mp_context=spawn, initializer=join, initargs=(start,)) as pool:
        work = pool.map(save_many, [str(folder)] * processes, range(processes), [saves] * processes)
        answered = [sync_id for saved in work for sync_id in saved]

    total = processes * saves
    assert len(set(answered)) == total
    assert {row[0] for row in rows(folder, "select sync_id from observations")} == set(answered)
    assert rows(folder, "select count(distinct title), count(distinct clock) from observations") == [(total, total)]
    assert_sound(folder)


def test_processes_that_save_one_text_at_once_make_one_memory(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Barrier(2)
    with ProcessPoolExecutor(2, mp_context=spawn, initializer=join, initargs=(start,)) as pool:
        answered = {row for ids in pool.map(save_the_same, [str(folder)] * 2, [10] * 2) for row in ids}

    assert rows(folder, "select id, duplicate_count from observations") == [(*answered, 20)]


class Writer:
    """A process that saves until it is killed."""

    def __init__(self, folder: Path, name: str) -> None:
        command = [sys.executable, "-c", WRITER, str(folder), name]
        self.name = name
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.acknowledged: list[str] = []

    def wait_for(self, saves: int) -> None:
        assert self.process.stdout is not None
        self.acknowledged += [self.process.stdout.readline() for _ in range(saves)]

    def kill(self, after: float) -> None:
        """Kill it some moments later, wherever in a save it is then, and read what it had still said."""
        try:
            self.process.wait(timeout=after)
        except subprocess.TimeoutExpired:
            self.process.kill()
        rest, _ = self.process.communicate()
        self.acknowledged += rest.splitlines(keepends=True)

    def saved(self) -> list[tuple[str, str]]:
        """The sync id and the content of each acknowledged save. A line the kill cut short was not acknowledged."""
        lines = [line.split() for line in self.acknowledged if line.endswith("\n")]
        return [(sync_id, f"What {self.name} learned in row {number}.") for sync_id, number in lines]


def kill_one_after_the_other(folder: Path, kills: int) -> Sequence[Writer]:
    chance = random.Random(20260102)
    killed: list[Writer] = []
    running = [Writer(folder, f"writer-{number}") for number in range(WRITERS)]
    try:
        while len(killed) < kills:
            writer = running.pop(0)
            writer.wait_for(chance.randrange(1, 5))
            writer.kill(after=chance.uniform(0.0, 0.03))
            killed.append(writer)
            if len(killed) + len(running) < kills:
                running.append(Writer(folder, f"writer-{WRITERS + len(killed)}"))
    finally:
        for writer in running:
            writer.kill(after=0)
    return killed


@pytest.mark.parametrize("kills", KILLS)
def test_every_acknowledged_save_survives_a_kill_at_any_moment(tmp_path: Path, kills: int) -> None:
    folder = tmp_path / "data"
    killed = kill_one_after_the_other(folder, kills)

    live = set(rows(folder, "select sync_id, content from observations"))
    kept = live | set(rows(folder, EARLIER_TEXTS))
    assert [writer.process.returncode for writer in killed] == [-9] * kills
    assert all(writer.saved() for writer in killed)
    assert {saved for writer in killed for saved in writer.saved()} <= kept
    # Of what a writer was killed in, at most one save was finished and not acknowledged.
    assert len(kept) <= sum(len(writer.saved()) + 1 for writer in killed)
    assert_sound(folder)
