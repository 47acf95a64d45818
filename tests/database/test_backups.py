"""Backups: sound, complete, and made while others write."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.database import backup
from engram_py.database.backup import check_backup
from engram_py.database.errors import InvalidBackupError, StoreIOError
from engram_py.database.journal import set_meta
from engram_py.database.store import Store
from engram_py.times import fixed_clock
from tests.database.files import another_process_writing, save, titles


def test_a_backup_is_one_sound_file_with_everything_that_was_acknowledged(app: Engram) -> None:
    save(app, "one")
    made = app.backups.create()
    assert titles(Path(made.path)) == ["About one"]
    assert (made.observations, made.bytes) == (1, Path(made.path).stat().st_size)
    assert [file.name for file in Path(made.path).parent.iterdir()] == [Path(made.path).name]


def test_a_backup_made_while_another_process_writes_holds_everything_acknowledged_before(
    app: Engram, data_dir: Path
) -> None:
    saved = [save(app, f"number {number}").title for number in range(30)]
    with another_process_writing(data_dir):
        made = app.backups.create()
    assert titles(Path(made.path)) == saved


def test_a_backup_does_not_begin_again_each_time_somebody_writes(
    app: Engram, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "_PAGES_PER_STEP", 1)
    save(app, "one")
    steps: list[int] = []

    with closing(Store.open(data_dir)) as other:

        def write_after_each_step(done: int, total: int) -> None:
            steps.append(done)
            assert done == len(steps) <= total
            with other.transaction():
                set_meta(other, "step", str(done))

        made = app.backups.create(progress=write_after_each_step)

    assert len(steps) > 10
    assert titles(Path(made.path)) == ["About one"]


def test_a_target_that_exists_or_cannot_be_made_is_refused(app: Engram, tmp_path: Path) -> None:
    taken = tmp_path / "taken.db"
    taken.write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidBackupError, match="exists already"):
        app.backups.create(taken)
    assert taken.read_text(encoding="utf-8") == "mine"
    with pytest.raises(StoreIOError):
        app.backups.create(taken / "below" / "copy.db")


def test_backups_of_the_same_moment_get_names_of_their_own(app: Engram) -> None:
    app.backups._clock = fixed_clock("2026-01-02T03:04:05Z")
    made = [Path(app.backups.create().path).name for _ in range(3)]
    assert len(set(made)) == 3
    assert made[0] == "engram-20260102T030405000000Z.db"


def test_checking_a_backup_counts_its_live_observations(app: Engram, tmp_path: Path) -> None:
    save(app, "one")
    app.observations.delete(save(app, "two").id)
    assert check_backup(Path(app.backups.create(tmp_path / "b.db").path)) == 1
