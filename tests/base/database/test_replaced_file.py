"""The database is removed or replaced while it is open: what is acknowledged is in the file that is there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from engram_py.base.database.connection import begin_immediate
from engram_py.base.database.errors import StoreDamagedError, StoreGoneError, StoreReplacedError
from engram_py.base.database.health import integrity
from engram_py.base.database.mutation_queue import get_meta, set_meta
from engram_py.base.database.store import Store
from tests.base.database.files import command, elsewhere, filled, opened, save, titles

READ = "print(get_meta(Store.open(folder), 'key'))"


def remove_files(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def rename_database(folder: Path) -> None:
    (folder / "engram.db").rename(folder / "away.db")


REMOVALS: dict[str, Callable[[Path], object]] = {
    "all-files": remove_files,
    "the-database-alone": lambda folder: (folder / "engram.db").unlink(),
    "renamed": rename_database,
    "the-folder": shutil.rmtree,
}


@pytest.mark.parametrize("remove", REMOVALS.values(), ids=REMOVALS)
def test_a_write_after_the_file_was_removed_is_refused_and_makes_no_empty_memory(
    store: Store, data_dir: Path, remove: Callable[[Path], object]
) -> None:
    remove(data_dir)
    for _ in range(2):
        with pytest.raises(StoreGoneError) as refused, store.transaction():
            set_meta(store, "key", "lost")
        assert refused.value.path == str(data_dir / "engram.db")
    assert not (data_dir / "engram.db").exists()


def test_a_file_that_is_put_back_is_written_again(data_dir: Path) -> None:
    with opened(data_dir) as app:
        save(app, "one")
        rename_database(data_dir)
        with pytest.raises(StoreGoneError):
            save(app, "two")
        assert titles(data_dir / "away.db") == ["About one"]
        (data_dir / "away.db").rename(data_dir / "engram.db")
        save(app, "three")
        assert app.store.news == []
    assert titles(data_dir / "engram.db") == ["About one", "About three"]


@pytest.mark.parametrize("servers", [1, 2])
def test_a_backup_moved_over_an_open_file_stays_as_sound_as_it_was(
    data_dir: Path, tmp_path: Path, servers: int
) -> None:
    """The log of the file that was open is not replayed over it."""
    with ExitStack() as stack:
        apps = [stack.enter_context(opened(data_dir)) for _ in range(servers)]
        for number in range(60):
            save(apps[0], f"early {number}")
        apps[0].backups.create(tmp_path / "backup.db")
        for number in range(60):
            save(apps[-1], f"late {number} " + "and more words " * 50)
        (tmp_path / "backup.db").replace(data_dir / "engram.db")
        for number, app in enumerate(apps):
            save(app, f"swapped {number}")
        for app in apps:
            assert app.search("swapped").results
            assert integrity(app.store) == []
    expected = [f"About early {number}" for number in range(60)] + [f"About swapped {one}" for one in range(servers)]
    assert titles(data_dir / "engram.db") == expected


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open is not replaced there")
def test_another_process_that_is_first_to_open_the_file_put_there_does_not_replay_the_log(
    data_dir: Path, tmp_path: Path
) -> None:
    early = [f"early {number}" for number in range(60)]
    with opened(data_dir) as app:
        for text in early:
            save(app, text)
        app.backups.create(tmp_path / "backup.db")
        for number in range(60):
            save(app, f"late {number} " + "and more words " * 50)
        assert elsewhere("print(Store.open(folder).value('select count(*) from observations'))", data_dir) == "120"
        (tmp_path / "backup.db").replace(data_dir / "engram.db")
        first = "store = Store.open(folder)\nwith store.transaction(): set_meta(store, 'key', 'kept')\n"
        first += "print(store.value('pragma integrity_check'), store.value('select count(*) from observations'))"
        assert elsewhere(first, data_dir) == "ok 60"
        save(app, "swapped")
        assert (integrity(app.store), get_meta(app.store, "key")) == ([], "kept")
    assert titles(data_dir / "engram.db") == [f"About {text}" for text in (*early, "swapped")]


def test_a_file_that_is_replaced_while_a_write_waits_for_the_lock_gets_the_write(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = filled(tmp_path / "other", ["other"])

    def wait(*arguments: Any, **named: Any) -> None:
        begin_immediate(*arguments, **named)
        if other.exists():
            other.replace(data_dir / "engram.db")

    with opened(data_dir) as app:
        save(app, "mine")
        monkeypatch.setattr("engram_py.base.database.store.begin_immediate", wait)
        save(app, "added")
    assert titles(data_dir / "engram.db") == ["About other", "About added"]


def test_a_write_during_which_the_file_is_replaced_is_not_acknowledged(data_dir: Path, tmp_path: Path) -> None:
    other = filled(tmp_path / "other", ["other"])
    with opened(data_dir) as app:

        def save_meanwhile() -> None:
            with app.store.transaction():
                save(app, "mine")
                other.replace(data_dir / "engram.db")

        with pytest.raises(StoreReplacedError):
            save_meanwhile()
        save(app, "mine")
    assert titles(data_dir / "engram.db") == ["About other", "About mine"]


def test_a_file_put_in_its_place_is_what_is_read_and_written(data_dir: Path, tmp_path: Path) -> None:
    other = filled(tmp_path / "other", ["other"])
    with opened(data_dir) as app:
        save(app, "mine")
        remove_files(data_dir)
        other.rename(data_dir / "engram.db")
        assert app.get(1).observation.title == "About other"
        save(app, "added")
    assert titles(data_dir / "engram.db") == ["About other", "About added"]


def test_garbage_put_in_its_place_is_reported_until_a_sound_file_is_back(data_dir: Path, tmp_path: Path) -> None:
    other = filled(tmp_path / "other", ["other"])
    with opened(data_dir) as app:
        remove_files(data_dir)
        (data_dir / "engram.db").write_bytes(b"garbage " * 1_000)
        for _ in range(2):
            with pytest.raises(StoreDamagedError):
                app.get(1)
        assert (data_dir / "engram.db").read_bytes() == b"garbage " * 1_000
        other.replace(data_dir / "engram.db")
        assert app.get(1).observation.title == "About other"


def test_a_memory_whose_file_became_garbage_can_be_closed(data_dir: Path) -> None:
    with opened(data_dir) as app:
        save(app, "one")
        remove_files(data_dir)
        (data_dir / "engram.db").write_bytes(b"garbage " * 1_000)
        with pytest.raises(StoreDamagedError):
            app.get(1)


def test_a_process_that_notices_late_does_not_take_the_new_files_log_with_it(
    store: Store, data_dir: Path, tmp_path: Path
) -> None:
    other = filled(tmp_path / "other", ["other"])
    wait_then_close = "store = Store.open(folder)\nprint('open', flush=True)\ninput()\nstore.close()"
    late = subprocess.Popen(
        command(wait_then_close, data_dir), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with late:
        assert late.stdout is not None
        assert late.stdout.readline() == "open\n"
        other.replace(data_dir / "engram.db")
        with store.transaction():
            set_meta(store, "key", "kept")
        late.communicate("\n")

    with store.transaction():
        set_meta(store, "later", "kept")
    assert elsewhere(READ, data_dir) == "kept"
    assert get_meta(store, "later") == "kept"


# --- the log ----------------------------------------------------------------------------------------------


def remove_log(folder: Path) -> None:
    for suffix in ("-wal", "-shm"):
        (folder / f"engram.db{suffix}").unlink(missing_ok=True)


def put_an_older_log(folder: Path) -> None:
    (folder / "engram.db-wal").rename(folder / "away")
    shutil.copy(folder / "older", folder / "engram.db-wal")


LOST_LOGS: dict[str, Callable[[Path], object]] = {
    "removed": remove_log,
    "the-log-alone": lambda folder: (folder / "engram.db-wal").unlink(),
    "replaced": put_an_older_log,
}


@pytest.mark.parametrize("lose", LOST_LOGS.values(), ids=LOST_LOGS)
@pytest.mark.parametrize("servers", [1, 2])
def test_what_is_saved_after_the_log_was_lost_is_in_the_file(
    data_dir: Path, servers: int, lose: Callable[[Path], object]
) -> None:
    with ExitStack() as stack:
        apps = [stack.enter_context(opened(data_dir)) for _ in range(servers)]
        save(apps[0], "one")
        shutil.copy(data_dir / "engram.db-wal", data_dir / "older")
        save(apps[-1], "two")
        lose(data_dir)
        for number, app in enumerate(apps):
            save(app, f"after {number}")
        expected = ["About one", "About two", *(f"About after {number}" for number in range(servers))]
        read = "print(*(row[0] for row in Store.open(folder).tuples('select title from observations')), sep='|')"
        assert elsewhere(read, data_dir).split("|") == expected
        assert integrity(apps[0].store) == []
        assert "log of engram.db was removed" in apps[0].store.tell()[0]


def test_a_write_during_which_the_log_is_removed_is_kept(store: Store, data_dir: Path) -> None:
    with store.transaction():
        set_meta(store, "key", "kept")
        remove_log(data_dir)
    assert elsewhere(READ, data_dir) == "kept"


def test_what_another_process_saved_without_the_log_leaves_both_in_files_that_are_named(data_dir: Path) -> None:
    with opened(data_dir) as app:
        filled(data_dir, ["first"])
        save(app, "mine")
        remove_log(data_dir)
        elsewhere("store = Store.open(folder)\nwith store.transaction(): set_meta(store, 'key', 'theirs')", data_dir)
        save(app, "after")
        [news] = app.store.tell()
        [aside] = data_dir.glob("backups/*log-removed.db")
        assert str(aside) in news
        assert "About mine" in titles(aside)
        assert get_meta(app.store, "key") == "theirs"
        assert "About after" in titles(data_dir / "engram.db")
