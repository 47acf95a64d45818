"""A snapshot: what is read inside is of one moment, and who wants to write waits for its end."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from engram_py.store.database import Store
from engram_py.store.journal import get_meta, set_meta
from tests.store.files import elsewhere

_WRITE = "store = Store.open(folder)\nwith store.transaction():\n    set_meta(store, 'key', 'new')"


def test_what_another_process_writes_meanwhile_is_seen_after_it(store: Store, data_dir: Path) -> None:
    with store.snapshot():
        assert get_meta(store, "key") is None
        elsewhere(_WRITE, data_dir)
        assert get_meta(store, "key") is None
    assert get_meta(store, "key") == "new"


def test_a_snapshot_within_one_is_of_the_same_moment(store: Store, data_dir: Path) -> None:
    with store.snapshot():
        get_meta(store, "key")
        with store.snapshot():
            elsewhere(_WRITE, data_dir)
        assert get_meta(store, "key") is None


def test_nothing_can_be_written_inside_and_then_be_lost(store: Store) -> None:
    with store.snapshot(), pytest.raises(AssertionError, match="writes belong outside"), store.transaction():
        pass
    with store.snapshot(), store.in_passing() as connection:
        assert connection is None


def test_after_a_failure_inside_the_store_reads_and_writes(store: Store) -> None:
    with pytest.raises(RuntimeError), store.snapshot():
        raise RuntimeError
    with store.transaction():
        set_meta(store, "key", "kept")
    assert get_meta(store, "key") == "kept"


def test_within_a_transaction_what_it_wrote_is_seen(store: Store) -> None:
    with store.transaction():
        set_meta(store, "key", "own")
        with store.snapshot():
            assert get_meta(store, "key") == "own"
    assert get_meta(store, "key") == "own"


def test_another_thread_writes_when_it_ended(store: Store) -> None:
    def write() -> None:
        with store.transaction():
            set_meta(store, "key", "later")

    writer = threading.Thread(target=write)
    with store.snapshot():
        writer.start()
        writer.join(0.05)
        assert writer.is_alive()
        assert get_meta(store, "key") is None
    writer.join(10)
    assert get_meta(store, "key") == "later"
