"""Backups that are made while others write, and restoring them."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.database import backup, migrations
from engram_py.base.database.backup import check_backup, restore
from engram_py.base.database.errors import InvalidBackupError, StoreBusyError, StoreIOError, StoreTooNewError
from engram_py.base.database.mutation_queue import set_meta
from engram_py.base.database.store import Store
from engram_py.base.times import fixed_clock, utc_now
from tests.base.database.files import (
    another_process_writing,
    command,
    damage_table,
    elsewhere,
    filled,
    make_foreign,
    make_newer,
    make_of_schema,
    opened,
    save,
    titles,
)


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


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A backup that holds two observations."""
    with opened(tmp_path / "source") as app:
        save(app, "first")
        save(app, "second")
        return Path(app.backups.create(tmp_path / "good.db").path)


FROM_BACKUP = ["About first", "About second"]


def foreign(path: Path) -> None:
    path.unlink()
    make_foreign(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


# What becomes of a file.
UNUSABLE: dict[str, Callable[[Path], object]] = {
    "garbage": lambda path: path.write_bytes(b"garbage " * 2_000),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "a-broken-table": lambda path: damage_table(path, "observations"),
    "foreign": foreign,
}
NO_BACKUP: dict[str, Callable[[Path], object]] = {
    **UNUSABLE,
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "a-folder": folder,
    "newer": make_newer,
}


def test_a_restore_puts_the_backup_in_place_and_keeps_what_was_there(data_dir: Path, good: Path) -> None:
    filled(data_dir, ["mine"])
    restored = restore(data_dir, good, clock=utc_now)
    assert titles(data_dir / "engram.db") == FROM_BACKUP
    assert restored.observations == 2
    assert restored.kept is not None
    assert titles(Path(restored.kept)) == ["About mine"]
    with opened(data_dir) as app:
        assert app.doctor.examine().status == "ok"
        assert [hit.title for hit in app.search("second").results] == ["About second"]


def test_prompts_alone_are_memory_enough_to_be_kept(data_dir: Path, good: Path) -> None:
    with opened(data_dir) as app:
        app.prompts.save("remember this")
    restored = restore(data_dir, good, clock=utc_now)
    assert restored.kept is not None
    with closing(sqlite3.connect(restored.kept)) as connection:
        assert connection.execute("select content from user_prompts").fetchall() == [("remember this",)]


@pytest.mark.parametrize("there", ["nothing", "empty-memory"])
def test_a_restore_where_there_was_no_memory_keeps_nothing(data_dir: Path, good: Path, there: str) -> None:
    if there == "empty-memory":
        opened(data_dir).close()
    assert restore(data_dir, good, clock=utc_now).kept is None
    assert titles(data_dir / "engram.db") == FROM_BACKUP
    assert sorted(file.name for file in data_dir.iterdir()) == ["engram.db"]


def test_a_backup_whose_search_index_alone_is_damaged_is_restored_with_a_sound_one(data_dir: Path, good: Path) -> None:
    before = titles(good)
    damage_table(good, "observations_fts_data")
    restore(data_dir, good, clock=utc_now)
    with opened(data_dir) as app:
        assert app.doctor.examine().status == "ok"
        assert len(app.search("content").results) == len(before)


@pytest.mark.parametrize("spoil", UNUSABLE.values(), ids=UNUSABLE)
def test_a_restore_over_a_file_that_cannot_be_used_sets_it_aside_byte_for_byte(
    data_dir: Path, good: Path, spoil: Callable[[Path], object]
) -> None:
    path = filled(data_dir, ["mine"])
    for _ in range(2):  # twice within one second of the clock: the first is not overwritten by the second
        spoil(path)
        before = path.read_bytes()
        restored = restore(data_dir, good, clock=fixed_clock("2026-01-02T03:04:05Z"))
        assert restored.kept is not None
        assert Path(restored.kept).read_bytes() == before
        assert titles(path) == FROM_BACKUP
    assert len(list(data_dir.glob("engram-damaged-*.db"))) == 2
    with opened(data_dir) as app:
        assert app.doctor.examine().status == "ok"
        assert not list(data_dir.glob("backups/*.db"))


def test_a_restore_reaches_processes_that_have_the_memory_open(app: Engram, data_dir: Path, good: Path) -> None:
    save(app, "mine")
    elsewhere(
        "from engram_py.base.database.backup import restore\nfrom engram_py.base.times import utc_now\n"
        "restore(folder, Path(sys.argv[2]), clock=utc_now)",
        data_dir,
        good,
    )
    assert app.get(1).observation.title == "About first"
    save(app, "afterwards")
    assert titles(data_dir / "engram.db") == [*FROM_BACKUP, "About afterwards"]


def test_a_restore_while_another_process_writes_is_sound(data_dir: Path, good: Path) -> None:
    filled(data_dir, ["mine"])
    with another_process_writing(data_dir):
        restore(data_dir, good, clock=utc_now)
    with opened(data_dir) as app:
        assert app.doctor.examine().status == "ok"
        assert app.get(2).observation.title == "About second"


def test_what_was_saved_while_a_restore_runs_is_in_the_file_or_in_the_copy(data_dir: Path, good: Path) -> None:
    filled(data_dir, ["mine"])
    for _ in range(3):
        with subprocess.Popen(command(SAVE_AND_SAY, data_dir), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = [process.stdout.readline().strip()]
            restore(data_dir, good, clock=utc_now)
            process.terminate()
            said += process.stdout.read().split()
        files = [data_dir / "engram.db", *data_dir.glob("backups/*.db")]
        kept = {key for file in files for key in keys(file)}
        assert [key for key in said if key not in kept] == []


SAVE_AND_SAY = """
import os, itertools
store = Store.open(folder)
for number in itertools.count():
    key = f"said-{os.getpid()}-{number}"
    with store.transaction():
        set_meta(store, key, "x")
    os.write(1, f"{key}\\n".encode())
"""


def keys(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {row[0] for row in connection.execute("select key from meta")}


def test_a_restore_that_never_gets_the_write_lock_is_refused_and_changes_nothing(app: Engram, good: Path) -> None:
    save(app, "mine")
    app.store.hurry(0)
    with closing(sqlite3.connect(app.store.path)) as other:
        other.execute("begin immediate")
        with pytest.raises(StoreBusyError):
            backup.copy_from(app.store, good)
        other.execute("rollback")
    assert titles(app.store.path) == ["About mine"]
    assert save(app, "another").outcome == "added"


@pytest.mark.parametrize("applied", [1, 20, len(migrations.names()) - 1])  # each schema: test_migrations
def test_a_backup_of_an_earlier_schema_is_brought_up_to_date(data_dir: Path, tmp_path: Path, applied: int) -> None:
    make_of_schema(tmp_path / "old.db", applied)
    filled(data_dir)
    restore(data_dir, tmp_path / "old.db", clock=utc_now)
    with opened(data_dir) as app:
        with app.store.connection() as connection:
            assert migrations.applied(connection) == list(migrations.names())
        assert save(app, "new").id == 1


def test_a_copy_made_with_cp_is_a_backup_too(data_dir: Path, tmp_path: Path) -> None:
    shutil.copy(filled(tmp_path / "source", ["copied"]), tmp_path / "copy.db")
    restore(data_dir, tmp_path / "copy.db", clock=utc_now)
    assert titles(data_dir / "engram.db") == ["About copied"]


def test_restoring_a_memory_over_itself_changes_nothing(data_dir: Path) -> None:
    path = filled(data_dir, ["mine"])
    restore(data_dir, path, clock=utc_now)
    assert titles(path) == ["About mine"]


@pytest.mark.parametrize("spoil", NO_BACKUP.values(), ids=NO_BACKUP)
@pytest.mark.parametrize("there", ["memory", "nothing"])
def test_what_is_no_backup_is_refused_before_anything_is_changed(
    data_dir: Path, good: Path, spoil: Callable[[Path], object], there: str
) -> None:
    spoil(good)
    before = filled(data_dir, ["mine"]).read_bytes() if there == "memory" else None

    with pytest.raises(InvalidBackupError) as refused:
        restore(data_dir, good, clock=utc_now)

    assert refused.value.path == str(good)
    if before is None:
        assert not data_dir.exists()
    else:
        assert (data_dir / "engram.db").read_bytes() == before
        assert [file.name for file in data_dir.iterdir()] == ["engram.db"]


def test_a_memory_of_a_newer_program_is_not_replaced(data_dir: Path, good: Path) -> None:
    path = filled(data_dir, ["mine"])
    make_newer(path)
    before = path.read_bytes()
    with pytest.raises(StoreTooNewError):
        restore(data_dir, good, clock=utc_now)
    assert path.read_bytes() == before
