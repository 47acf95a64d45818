"""The connection: its pragmas, its transactions, and what happens when somebody else has the lock."""

from __future__ import annotations

import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from engram_py.database.connection import BUSY_TIMEOUT_SECONDS, connect, use_wal
from engram_py.database.errors import StoreBusyError
from engram_py.database.journal import get_meta, set_meta
from engram_py.database.store import Store
from tests.database.files import command, elsewhere

pytestmark = pytest.mark.migrates


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


def test_a_transaction_that_raises_leaves_nothing(store: Store) -> None:
    with pytest.raises(RuntimeError, match="after half"):
        write_and_fail(store, "half")
    assert get_meta(store, "half") is None
    with store.transaction():
        set_meta(store, "next", "works")
    assert get_meta(store, "next") == "works"


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


def test_a_write_outside_a_transaction_is_refused(store: Store) -> None:
    with pytest.raises(AssertionError, match="transaction"):
        store.execute("insert into meta (key, value) values ('a', 'b')")
    assert get_meta(store, "a") is None


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
        monkeypatch.setattr("engram_py.database.connection.time.sleep", lambda _seconds: other.rollback())
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
    monkeypatch.setattr("engram_py.database.connection.LOG_BYTES", 100_000)
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
