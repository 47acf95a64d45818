"""The connection: pragmas, transactions, first opening, locks, damaged files and full disks."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.database import migrations
from engram_py.base.database.connection import BUSY_TIMEOUT_SECONDS, connect, use_wal
from engram_py.base.database.errors import StoreBusyError, StoreDamagedError, StoreFullError
from engram_py.base.database.mutation_queue import get_meta, set_meta
from engram_py.base.database.store import Store
from engram_py.memory.observations.values import Draft
from tests import savers
from tests.base.database.files import PAGE, command, damage_table, elsewhere, filled, opened, save, titles


def pragmas(store: Store) -> dict[str, object]:
    names = ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
    return {name: store.value(f"pragma {name}") for name in names}


TIMEOUT = int(BUSY_TIMEOUT_SECONDS * 1000)
EXPECTED = {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 1, "busy_timeout": TIMEOUT}


@contextmanager
def locked_by_another_process(data_dir: Path) -> Iterator[None]:
    code = "store = Store.open(folder)\nwith store.transaction():\n    print('locked', flush=True)\n    input()"
    process = subprocess.Popen(command(code, data_dir), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            process.stdin.write("\n")
            process.stdin.flush()


def write_and_fail(store: Store, key: str) -> None:
    with store.transaction():
        set_meta(store, key, "1")
        raise RuntimeError(f"after {key}")


def test_every_connection_has_wal_foreign_keys_normal_sync_and_a_busy_timeout(store: Store, data_dir: Path) -> None:
    assert pragmas(store) == EXPECTED
    store.reopen()
    assert pragmas(store) == EXPECTED
    with closing(Store.open(data_dir)) as second:
        assert pragmas(second) == EXPECTED


def test_a_row_that_points_nowhere_is_refused(store: Store) -> None:
    prompt = {"sync_id": "p", "session_id": "nobody", "project": "x", "content": "c"}
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"), store.transaction():
        store.insert("user_prompts", prompt | {"created_at": "", "clock": ""})


def test_a_transaction_takes_the_write_lock_before_its_first_read(store: Store, data_dir: Path) -> None:
    with closing(Store.open(data_dir)) as other:
        other.hurry(0)
        with store.transaction(), pytest.raises(StoreBusyError), other.transaction():
            pass
        with other.transaction():  # and gives it back
            pass


def test_a_transaction_that_raises_leaves_nothing_and_a_write_outside_of_one_is_refused(store: Store) -> None:
    with pytest.raises(RuntimeError, match="after half"):
        write_and_fail(store, "half")
    assert get_meta(store, "half") is None
    with store.transaction():
        set_meta(store, "next", "works")
    assert get_meta(store, "next") == "works"
    with pytest.raises(AssertionError, match="transaction"):
        store.execute("insert into meta (key, value) values ('a', 'b')")
    assert get_meta(store, "a") is None


def test_an_inner_transaction_that_raises_takes_back_its_own_writes_alone(store: Store) -> None:
    with store.transaction():
        set_meta(store, "outer", "1")
        with pytest.raises(RuntimeError, match="after inner"):
            write_and_fail(store, "inner")
        with store.transaction():
            set_meta(store, "second", "1")
    assert [get_meta(store, key) for key in ("outer", "inner", "second")] == ["1", None, "1"]


def test_what_an_inner_transaction_wrote_goes_when_the_outer_one_raises(store: Store) -> None:
    def inner_then_fail() -> None:
        with store.transaction():
            with store.transaction():
                set_meta(store, "inner", "1")
            write_and_fail(store, "outer")

    with pytest.raises(RuntimeError, match="after outer"):
        inner_then_fail()
    assert get_meta(store, "inner") is None


def test_threads_that_write_through_one_store_wait_for_each_other(store: Store) -> None:
    barrier = threading.Barrier(4)

    def count_up() -> None:
        barrier.wait()
        for _ in range(25):
            with store.transaction():
                set_meta(store, "counter", str(int(get_meta(store, "counter") or "0") + 1))

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert get_meta(store, "counter") == "100"


def test_a_writer_that_waited_long_enough_is_told_the_file_is_busy_and_wrote_nothing(
    store: Store, data_dir: Path
) -> None:
    store.hurry(0.1)
    with locked_by_another_process(data_dir):
        with pytest.raises(StoreBusyError) as refused, store.transaction():
            set_meta(store, "key", "value")
        assert (refused.value.code, refused.value.waited_seconds) == ("store_busy", 0.1)
        assert get_meta(store, "key") is None  # reading never waits for a writer
    with store.transaction():
        set_meta(store, "key", "value")


def test_a_writer_waits_for_another_process_to_finish(store: Store, data_dir: Path) -> None:
    done = threading.Event()

    def write() -> None:
        with store.transaction():
            set_meta(store, "patient", "yes")
        done.set()

    with locked_by_another_process(data_dir):
        thread = threading.Thread(target=write)
        thread.start()
        assert not done.wait(timeout=0.05)
    thread.join()
    assert get_meta(store, "patient") == "yes"


def test_switching_a_new_file_to_wal_is_tried_again_while_another_process_has_it_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new.db"
    with closing(connect(path)) as mine, closing(sqlite3.connect(path)) as other:
        other.execute("begin immediate")
        monkeypatch.setattr("engram_py.base.database.connection.time.sleep", lambda _seconds: other.rollback())
        use_wal(mine, path)
        assert not other.in_transaction
        assert mine.execute("pragma journal_mode").fetchone()[0] == "wal"


def test_a_second_store_of_the_same_process_does_not_cost_the_first_one_its_log(store: Store, data_dir: Path) -> None:
    # Closing any descriptor of a file drops the process's locks on it; the other process would then believe it
    # closes the file last, and delete the write-ahead log the first store goes on writing to.
    Store.open(data_dir).close()
    elsewhere("store = Store.open(folder)\nstore.close()", data_dir)
    with store.transaction():
        set_meta(store, "acknowledged", "yes")
    assert elsewhere("print(get_meta(Store.open(folder), 'acknowledged'))", data_dir) == "yes"


def test_the_first_write_after_a_reader_left_gives_back_what_the_log_took(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram_py.base.database.connection.LOG_BYTES", 100_000)
    log = data_dir / "engram.db-wal"
    with closing(Store.open(data_dir)) as store:
        with closing(sqlite3.connect(store.path, isolation_level=None)) as reader:
            reader.execute("begin")
            reader.execute("select count(*) from meta").fetchone()
            for number in range(60):
                with store.transaction():
                    set_meta(store, f"key {number}", "x" * 100_000)
            assert log.stat().st_size > 4_000_000
        for value in "abc":
            with store.transaction():
                set_meta(store, "key", value)
        assert log.stat().st_size <= 100_000


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda raw: b"this is no database. " * (len(raw) // 20),
    "half": lambda raw: raw[: len(raw) // 2],
    "half-a-page": lambda raw: raw[: PAGE // 2],
    "without-header": lambda raw: b"\0" * 100 + raw[100:],
    "schema-overwritten": lambda raw: raw[:100] + b"\xff" * (PAGE - 100) + raw[PAGE:],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_reported_and_not_a_byte_changed(data_dir: Path, damage: Callable[[bytes], bytes]) -> None:
    path = filled(data_dir)
    path.write_bytes(damage(path.read_bytes()))
    before = path.read_bytes()

    for _ in range(2):  # trying again does not make it anew either
        with pytest.raises(StoreDamagedError) as reported:
            Store.open(data_dir)
        assert (reported.value.code, reported.value.path) == ("store_damaged", str(path))
        assert "restore" in reported.value.hint

    assert path.read_bytes() == before
    assert [file.name for file in data_dir.iterdir()] == ["engram.db"]


def test_damage_met_while_reading_is_reported_as_damage(data_dir: Path) -> None:
    damage_table(filled(data_dir), "observations")
    with opened(data_dir) as app, pytest.raises(StoreDamagedError):
        app.get(1)


def test_damage_met_while_writing_is_reported_and_the_save_leaves_nothing(data_dir: Path) -> None:
    damage_table(filled(data_dir), "observations")
    with opened(data_dir) as app:
        sessions = app.store.value("select count(*) from sync_mutations")
        with pytest.raises(StoreDamagedError):
            save(app, "another")
        assert app.store.value("select count(*) from sync_mutations") == sessions


def fill(path: Path) -> None:
    """Take what space there is."""
    handle = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        while os.write(handle, b"x" * PIECE):
            pass
    except OSError:
        pass
    finally:
        os.close(handle)


PIECE = 4096


def save_until_refused(app: Engram) -> tuple[list[str], StoreFullError]:
    """The titles that were acknowledged, and the refusal."""
    kept: list[str] = []
    for number in range(10_000):
        try:
            kept.append(app.save(Draft(f"Row {number}", f"{number} " + "words " * 2_000)).title)
        except StoreFullError as refusal:
            return kept, refusal
    raise AssertionError("the disk never got full")


def counts(app: Engram) -> dict[str, int]:
    tables = ("observations", "sessions", "sync_mutations", "save_operations", "observations_fts_docsize")
    return {table: app.store.value(f"select count(*) from {table}") for table in tables}


def test_a_save_on_a_full_disk_is_refused_and_works_again_when_there_is_space(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 500_000)
    with opened(small_disk / "data") as app:
        kept, refusal = save_until_refused(app)
        assert (refusal.code, refusal.path) == ("disk_full", str(small_disk / "data" / "engram.db"))
        assert "nothing was written" in refusal.hint
        assert len(kept) > 5
        before = counts(app)
        assert before["observations"] == before["observations_fts_docsize"] == len(kept)
        with pytest.raises(StoreFullError):
            app.save(Draft("Too much", "words " * 8_000, operation_id="retried"))
        assert counts(app) == before

        ballast.unlink()

        assert app.save(Draft("Too much", "words " * 8_000, operation_id="retried")).outcome == "added"
        assert app.doctor.examine(check="integrity").status == "ok"
        assert app.doctor.examine(check="search_index").status == "ok"
    assert titles(small_disk / "data" / "engram.db") == [*kept, "Too much"]


def test_what_was_saved_before_the_disk_got_full_is_there_for_another_process(small_disk: Path) -> None:
    with opened(small_disk / "data") as app:
        kept, _ = save_until_refused(app)
        count = "print(Store.open(folder).value('select count(*) from observations'))"
        assert elsewhere(count, small_disk / "data") == str(len(kept))


@pytest.mark.migrates
@pytest.mark.parametrize("room", [0, 2, 10, 40], ids=lambda pieces: f"{pieces}-pages-left")
def test_a_new_memory_on_a_full_disk_is_refused_and_can_be_made_later(small_disk: Path, room: int) -> None:
    fill(small_disk / "ballast")
    os.truncate(small_disk / "ballast", (small_disk / "ballast").stat().st_size - room * PIECE)
    with pytest.raises(StoreFullError):
        Store.open(small_disk / "data")

    (small_disk / "ballast").unlink()

    with opened(small_disk / "data") as app:
        assert save(app, "one").id == 1


def test_a_backup_the_disk_has_no_room_for_leaves_no_half_of_it(small_disk: Path, data_dir: Path) -> None:
    with opened(data_dir) as app:
        app.save(Draft("Long", "words " * 8_000))
        fill(small_disk / "ballast")
        with pytest.raises(StoreFullError) as refused:
            app.backups.create(small_disk / "copy.db")
    assert refused.value.path == str(small_disk / "copy.db")
    assert [file.name for file in small_disk.iterdir()] == ["ballast"]


def test_a_database_that_may_not_grow_refuses_the_save_that_would_need_it(data_dir: Path) -> None:
    # The same without a mount, for machines where the tests do not run as root.
    with opened(data_dir) as app:
        save(app, "before")
        with app.store.connection() as connection:
            pages = connection.execute("pragma page_count").fetchone()[0]
            connection.execute(f"pragma max_page_count = {pages + 20}")
        kept, _ = save_until_refused(app)
        before = counts(app)
        assert before["observations"] == before["observations_fts_docsize"] == len(kept) + 1
        with app.store.connection() as connection:
            connection.execute("pragma max_page_count = 100000")
        assert save(app, "after").outcome == "added"
        assert app.doctor.examine(check="search_index").status == "ok"


PROCESSES, FILES = 4, 2


def test_processes_that_open_a_new_file_at_the_same_moment_all_succeed_and_migrate_it_once(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, mp_context=spawn, initializer=savers.join, initargs=(start,)) as pool:
        list(pool.map(savers.open_many, [str(tmp_path)] * PROCESSES, range(PROCESSES), [FILES] * PROCESSES))

    for file in range(FILES):
        with closing(sqlite3.connect(tmp_path / str(file) / "engram.db")) as connection:
            assert migrations.applied(connection) == list(migrations.names())
            assert connection.execute("select count(*) from meta where key like 'process-%'").fetchone() == (PROCESSES,)
            assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
