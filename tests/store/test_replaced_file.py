"""The database is removed or replaced while it is open: what is acknowledged afterwards is in the new file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from engram_py.errors import StoreDamagedError
from engram_py.store.database import Store
from engram_py.store.journal import get_meta, set_meta
from tests.store.files import command, elsewhere, filled, opened, save, titles

READ = "print(get_meta(Store.open(folder), 'key'))"


def remove_files(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def remove_database_alone(folder: Path) -> None:
    (folder / "engram.db").unlink()


@pytest.mark.parametrize("remove", [remove_files, remove_database_alone, shutil.rmtree], ids=lambda one: one.__name__)
def test_a_write_after_the_file_was_removed_is_kept_in_a_new_one(store: Store, data_dir: Path, remove: object) -> None:
    assert callable(remove)
    remove(data_dir)
    with store.transaction():
        set_meta(store, "key", "kept")
    assert get_meta(store, "key") == "kept"
    assert elsewhere(READ, data_dir) == "kept"


def test_a_removed_memory_is_empty_and_goes_on_working(data_dir: Path) -> None:
    with opened(data_dir) as app:
        save(app, "gone")
        remove_files(data_dir)
        assert app.search("gone").results == ()
        assert save(app, "new").id == 1
    assert titles(data_dir / "engram.db") == ["About new"]


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


def test_a_process_that_notices_late_does_not_take_the_new_files_log_with_it(store: Store, data_dir: Path) -> None:
    wait_then_close = "store = Store.open(folder)\nprint('open', flush=True)\ninput()\nstore.close()"
    late = subprocess.Popen(
        command(wait_then_close, data_dir), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with late:
        assert late.stdout is not None
        assert late.stdout.readline() == "open\n"
        remove_files(data_dir)
        with store.transaction():
            set_meta(store, "key", "kept")
        late.communicate("\n")

    with store.transaction():
        set_meta(store, "later", "kept")
    assert elsewhere(READ, data_dir) == "kept"
    assert get_meta(store, "later") == "kept"
