"""A file that is no database any more: said, left as it is, never made anew over it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py.database.errors import StoreDamagedError
from engram_py.database.store import Store
from tests.database.files import PAGE, damage_table, filled, opened, save

pytestmark = pytest.mark.migrates


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
