"""The index is brought into few pieces while nobody asks: the same answers, nobody waits, nothing is lost."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.database import compaction, fts
from engram_py.base.database.compaction import MOST_PIECES, Compaction, compact
from engram_py.base.database.store import Store
from engram_py.base.errors import StoreError
from tests.support import Opener, locked
from tests.upkeep.index_contents import contents

SECONDS = 20.0


@pytest.fixture(autouse=True)
def soon_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "QUIET_SECONDS", 0.05)


@pytest.fixture(scope="module")
def index_in_pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory whose index is in many pieces, to be copied by each test."""
    # FTS5 merges sixteen pieces of a level by itself, and as a rule four when it is asked to: fewer are left of each.
    folder = tmp_path_factory.mktemp("pieces")
    with Engram(folder, directory=folder, project="widgets") as app:
        number = 0
        while number < 48 or len(pieces(app)) <= MOST_PIECES:
            number += 1
            parts = " ".join(f"part{number}x{part}" for part in range(100))  # so that a piece has several pages
            app.save(Draft(f"Number {number}", f"The pump number {number} drips once in {number * 7} seconds: {parts}"))
        return app.store.path


@pytest.fixture
def in_pieces(index_in_pieces: Path, data_dir: Path, open_memory: Opener) -> Engram:
    data_dir.mkdir(mode=0o700)
    shutil.copy(index_in_pieces, data_dir)
    app = open_memory()
    assert len(pieces(app)) > MOST_PIECES
    return app


def pieces(app: Engram) -> list[int]:
    """As a stranger sees them: who asks through the store keeps its server busy."""
    with contextlib.closing(sqlite3.connect(app.store.path)) as stranger:
        return [row[0] for row in stranger.execute("select count(*) from observations_fts_idx group by segid")]


def watched(app: Engram) -> tuple[Compaction, list[Store]]:
    """A thread that is not started yet, and the connections that it will open."""
    opened: list[Store] = []

    def open_store() -> Store:
        opened.append(Store(app.store.path))
        return opened[-1]

    return Compaction(app.store, open_store=open_store), opened


@contextlib.contextmanager
def running(working: Compaction) -> Iterator[None]:
    working.start()
    try:
        yield
    finally:
        working.stop()


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_index_in_few_pieces_says_what_it_said_in_many(in_pieces: Engram) -> None:
    held = contents(in_pieces)
    with in_pieces.usage.paused():
        found = in_pieces.search("which pump drips once in 140 seconds", explain=True)

    assert compact(in_pieces.store)

    assert len(pieces(in_pieces)) <= MOST_PIECES
    assert contents(in_pieces) == held
    again = in_pieces.search("which pump drips once in 140 seconds", explain=True)
    assert [hit.id for hit in again.results] == [hit.id for hit in found.results]
    assert again.explain is not None
    assert found.explain is not None
    assert again.explain.hits == found.explain.hits


def test_stopped_in_the_middle_the_next_run_goes_on(in_pieces: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fts, "_MERGED_PAGES", 1)
    held, runs = contents(in_pieces), 0
    while not compact(in_pieces.store, go_on=lambda: False):
        runs += 1
        assert contents(in_pieces) == held
        assert in_pieces.search("number 17 pump").results[0].title == "Number 17"
    assert runs > 1
    assert len(pieces(in_pieces)) <= MOST_PIECES


def test_what_is_saved_between_two_steps_is_found(in_pieces: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fts, "_MERGED_PAGES", 1)
    saved: list[int] = []

    def save_one() -> bool:
        saved.append(in_pieces.save(Draft(f"Valve {len(saved)}", f"The valve {len(saved)} sticks.")).id)
        return len(saved) < 5

    compact(in_pieces.store, go_on=save_one)
    compact(in_pieces.store)
    for number, id in enumerate(saved):
        assert in_pieces.search(f'"valve {number} sticks"').results[0].id == id


def test_what_was_deleted_stays_away(in_pieces: Engram) -> None:
    in_pieces.observations.delete(7, hard=True)
    in_pieces.observations.delete(8)
    held = contents(in_pieces)
    compact(in_pieces.store)
    assert contents(in_pieces) == held


def test_a_server_that_nobody_asks_does_it_by_itself(in_pieces: Engram) -> None:
    with Engram(in_pieces.settings.data_dir, session_mode="process") as server:
        wait_until(lambda: len(pieces(in_pieces)) <= MOST_PIECES)
        assert server.search("pump number 3", all_projects=True).results


def test_a_server_that_is_asked_waits(in_pieces: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "QUIET_SECONDS", 0.5)
    with Engram(in_pieces.settings.data_dir, session_mode="process") as server:
        before = pieces(in_pieces)
        for _ in range(30):
            server.search("pump number 3")
            time.sleep(0.05)
        assert pieces(in_pieces) == before


def test_a_server_looks_again_after_many_writes(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_LOOK_AFTER_WRITES", 20)
    with Engram(app.settings.data_dir, session_mode="process") as server:
        time.sleep(0.3)  # its first look finds nothing to do
        for number in range(43):
            server.save(Draft(f"Number {number}", f"The pump number {number} drips."))
        wait_until(lambda: len(pieces(app)) <= MOST_PIECES)


def test_somebody_who_writes_is_not_waited_for_and_nothing_is_merged_in_a_transaction(in_pieces: Engram) -> None:
    before = pieces(in_pieces)
    with locked(in_pieces.store.path):
        started = time.monotonic()
        with pytest.raises(StoreError):
            compact(in_pieces.store)
        compaction.compacted(in_pieces.store, seconds=10)
        assert time.monotonic() - started < 2
    assert pieces(in_pieces) == before
    before = pieces(in_pieces)
    with in_pieces.store.transaction():
        compaction.compacted(in_pieces.store, seconds=10)
    assert pieces(in_pieces) == before


def test_a_busy_file_is_tried_again(in_pieces: Engram) -> None:
    with locked(in_pieces.store.path) as other, running(Compaction(in_pieces.store)):
        time.sleep(0.5)
        assert len(pieces(in_pieces)) > MOST_PIECES
        other.rollback()
        wait_until(lambda: len(pieces(in_pieces)) <= MOST_PIECES)


def test_an_error_ends_nothing_but_the_attempt(in_pieces: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Store:
        failed.append(True)
        raise OSError("no more descriptors")

    monkeypatch.setattr(compaction, "_LOOK_AFTER_WRITES", 1)
    failed: list[bool] = []
    with running(Compaction(in_pieces.store, open_store=fail)):
        wait_until(lambda: len(failed) == 1)
        in_pieces.save(Draft("Another", "The last straw of the camel."))
        wait_until(lambda: len(failed) == 2)


@pytest.mark.parametrize("door", ["file", "other program"])
def test_an_import_leaves_an_index_in_few_pieces(
    in_pieces: Engram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    monkeypatch.setattr(compaction, "IMPORT_SHARE", 1_000)
    file = tmp_path / "memory.json"
    in_pieces.transfer.export(file)
    with Engram(tmp_path / "other") as other:
        for number in range(13):
            other.save(Draft(f"Number {number}", f"Another thing of number {number}."), project="widgets")
        if door == "file":
            other.transfer.import_file(file)
        else:
            (tmp_path / "AGENTS.md").write_text("# Pumps\n\nThe pump drips when it rains for a long time.\n")
            other.importers.adopt("instructions", tmp_path / "AGENTS.md", project="widgets")
        assert len(pieces(other)) <= MOST_PIECES


def test_a_small_import_does_not_wait_for_a_large_index(
    in_pieces: Engram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fts, "_MERGED_PAGES", 1)
    monkeypatch.setattr(compaction, "_PAUSE_SECONDS", 0.2)
    file = tmp_path / "memory.json"
    with Engram(tmp_path / "other") as other:
        other.save(Draft("One", "A single memory."), project="widgets")
        other.transfer.export(file)
    started = time.monotonic()
    in_pieces.transfer.import_file(file)
    assert time.monotonic() - started < 1
    assert len(pieces(in_pieces)) > 2  # what it would come to


def test_the_index_of_prompts_is_merged_as_well(app: Engram) -> None:
    for number in range(12):
        app.prompts.save(f"What did we decide about number {number}?")
    assert fts.segment_count(app.store, "prompts_fts") > MOST_PIECES
    assert compact(app.store)
    assert fts.segment_count(app.store, "prompts_fts") <= MOST_PIECES


def test_each_look_closes_what_it_opened(in_pieces: Engram) -> None:
    working, opened = watched(in_pieces)
    with running(working):
        wait_until(lambda: len(pieces(in_pieces)) <= MOST_PIECES)
        with pytest.raises(sqlite3.ProgrammingError):
            wait_until(lambda: opened[0].value("select 1") is None)


def test_a_closed_memory_has_no_thread_left(in_pieces: Engram) -> None:
    server = Engram(in_pieces.settings.data_dir, session_mode="process")
    assert any(thread.name == "engram-compaction" for thread in threading.enumerate())
    server.close()
    wait_until(lambda: all(thread.name != "engram-compaction" for thread in threading.enumerate()))


def test_a_server_looks_once_for_many_writes(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_LOOK_AFTER_WRITES", 5)
    looks: list[str] = []
    count = fts.segment_count

    def counted(store: Store, index: str) -> int:
        looks.append(index)
        return count(store, index)

    with Engram(app.settings.data_dir, session_mode="process") as server:
        time.sleep(0.3)  # its first look
        monkeypatch.setattr(fts, "segment_count", counted)
        for number in range(20):
            server.save(Draft(f"Number {number}", f"The pump number {number} drips."))
            time.sleep(0.2)
            if looks:
                break
        looked = len(looks)
        assert looked > 0
        server.save(Draft("Another", "The last straw of the camel."))
        time.sleep(0.3)
        assert len(looks) == looked


def test_a_server_ends_at_once_in_the_middle_of_it(in_pieces: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fts, "_MERGED_PAGES", 1)
    monkeypatch.setattr(compaction, "_PAUSE_SECONDS", 5.0)
    working = Compaction(in_pieces.store)
    working.start()
    before = in_pieces.store.asked
    wait_until(lambda: in_pieces.store.asked > before)
    time.sleep(0.3)
    started = time.monotonic()
    working.stop()
    assert time.monotonic() - started < 1
    assert not working._thread._thread.is_alive()
    assert len(pieces(in_pieces)) > MOST_PIECES  # it was in its first pause


def test_a_server_that_is_asked_in_the_middle_waits(in_pieces: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fts, "_MERGED_PAGES", 1)
    monkeypatch.setattr(compaction, "_PAUSE_SECONDS", 0.1)
    working, opened = watched(in_pieces)
    with running(working):
        wait_until(lambda: len(opened) == 1)
        in_pieces.search("pump number 3")
        wait_until(lambda: len(opened) == 2)
        wait_until(lambda: len(pieces(in_pieces)) <= MOST_PIECES)


_KILLED = """
import os, sys
from pathlib import Path
from engram_py.base.database import compaction
from engram_py.base.database import fts
from engram_py.base.database.store import Store

fts._MERGED_PAGES = 1
step, steps = fts.merge_some, []

def killed(store, index):
    step(store, index)
    steps.append(index)
    if len(steps) == 3:
        os._exit(9)
    return True

fts.merge_some = killed
compaction.compact(Store(Path(sys.argv[1])))
"""


def test_a_process_that_dies_in_a_step_leaves_a_whole_index(in_pieces: Engram) -> None:
    held = contents(in_pieces)
    died = subprocess.run([sys.executable, "-c", _KILLED, str(in_pieces.store.path)], check=False, timeout=60)
    assert died.returncode == 9
    assert contents(in_pieces) == held
    compact(in_pieces.store)
    assert contents(in_pieces) == held
    assert len(pieces(in_pieces)) <= MOST_PIECES


def test_a_log_that_a_reader_made_grow_is_emptied(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "LOG_BYTES", 100_000)
    app.save(Draft("One", "The pump drips."))
    with Engram(app.settings.data_dir, session_mode="process") as server:
        with contextlib.closing(sqlite3.connect(app.store.path, isolation_level=None)) as reader:
            reader.execute("begin")
            reader.execute("select count(*) from observations").fetchone()
            for number in range(20):
                server.save(Draft(f"Number {number}", " ".join(f"part{number}x{part}" for part in range(500))))
            assert compaction.log_bytes(app.store) > 100_000
        server.save(Draft("Last", "The pump is mended."))
        wait_until(lambda: compaction.log_bytes(app.store) == 0)


def large(app: Engram) -> int:
    """Save two megabytes in a project of their own, and return the size of the file."""
    for number in range(50):
        app.save(Draft(f"Row {number}", random.Random(number).randbytes(20_000).hex()), project="gadgets")
    with app.store.connection() as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    return app.store.path.stat().st_size


@pytest.mark.parametrize("what", ["everything", "project"])
def test_what_is_cleared_gives_its_disk_back(app: Engram, open_memory: Opener, what: str) -> None:
    other = open_memory()
    kept = app.save(Draft("Kept", "The pump drips."))
    size = large(app)
    app.clearing.clear(what, project="gadgets" if what == "project" else None)
    assert app.store.path.stat().st_size < size / 2
    assert len(app.search("pump").results) == (what == "project")
    assert other.save(Draft("Another", "After it.")).id != kept.id
    assert app.doctor.examine(check="integrity").status == "ok"


def test_upkeep_gives_back_the_disk_of_what_was_destroyed_one_by_one(app: Engram) -> None:
    size = large(app)
    for number in [row[0] for row in app.store.tuples("select id from observations")]:
        app.observations.delete(number, hard=True)
    assert app.store.path.stat().st_size >= size
    [done] = app.maintenance.run("consolidate").passes
    assert done.steps[-1].counts["bytes_freed"] > size / 2
    assert app.store.path.stat().st_size < size / 2


def test_a_file_that_somebody_reads_is_given_back_later(app: Engram) -> None:
    size = large(app)
    with contextlib.closing(sqlite3.connect(app.store.path, isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from observations").fetchone()
        app.clearing.clear("everything")
        assert reader.execute("select count(*) from observations").fetchone() == (50,)
        reader.execute("commit")
    app.save(Draft("Another", "After it."))
    compaction.give_back(app.store)
    with app.store.connection() as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    assert app.store.path.stat().st_size < size / 2
