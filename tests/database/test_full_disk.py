"""A disk without space: the save is refused, everything saved before stays, and it goes on once there is room."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.database.errors import StoreFullError
from engram_py.database.store import Store
from engram_py.observations.values import Draft
from tests.database.files import elsewhere, opened, save, titles

pytestmark = pytest.mark.migrates


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


@pytest.mark.parametrize("room", [0, 1, 2, 5, 10, 20, 40], ids=lambda pieces: f"{pieces}-pages-left")
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
