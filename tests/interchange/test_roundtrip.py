"""What leaves as a file comes back the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.config import Settings
from tests.interchange.transfer_files import OpenAt, counts, digest, export, furnish, observation, portable, write
from tests.memory import FakeClock


@pytest.fixture
def open_at(tmp_path: Path, folder: Path, clock: FakeClock) -> Iterator[OpenAt]:
    """Opens a memory in a data directory of its own, as another machine would have."""
    with ExitStack() as stack:

        def opened(name: str) -> Engram:
            settings = Settings(tmp_path / name, clock=clock)
            return stack.enter_context(Engram(settings=settings, directory=folder))

        yield opened


def test_an_export_imported_into_an_empty_memory_is_exported_the_same(
    open_at: OpenAt, tmp_path: Path, clock: FakeClock
) -> None:
    here, there = open_at("here"), open_at("there")
    furnish(here)
    file = tmp_path / "memory.json"
    here.transfer.export(file)
    first = json.loads(file.read_text(encoding="utf-8"))
    clock.advance(days=3)

    there.transfer.import_file(file)
    second = there.transfer.document()

    assert portable(second) == portable(first)


def test_everything_a_memory_holds_is_in_its_export(open_at: OpenAt) -> None:
    here = open_at("here")
    furnish(here)

    document = here.transfer.document()

    own = document["engram_py"]
    kinds = ("observations", "prompts", "relations", "prompt_tombstones")
    assert [len(document[kind]) for kind in kinds] == [4, 1, 1, 1]
    assert [row["pinned"] for row in document["observations"]].count(True) == 1
    assert any(row["review_after"] for row in document["observations"])
    assert any(row["deleted_at"] for row in document["observations"])
    assert {one["content"] for one in own["versions"]} == {"Fifteen minutes.", "Compare in UTC."}
    assert own["aliases"] == {"gadgets": "widgets"}
    assert "observation" in {stone["entity"] for stone in own["tombstones"]}
    assert "jwt; ttl" in {row["aliases"] for row in own["observations"].values()}


def test_importing_twice_changes_nothing_the_second_time(open_at: OpenAt, tmp_path: Path, clock: FakeClock) -> None:
    here, there = open_at("here"), open_at("there")
    furnish(here)
    here.transfer.export(tmp_path / "memory.json")
    there.transfer.import_file(tmp_path / "memory.json")
    before = digest(there)
    clock.advance(hours=1)

    again = there.transfer.import_file(tmp_path / "memory.json")

    assert digest(there) == before
    assert counts(again) == (0, 0, 4, 0)
    assert counts(again, "sessions")[:2] == counts(again, "prompts")[:2] == counts(again, "relations")[:2] == (0, 0)


def test_a_memory_that_reads_its_own_export_stays_as_it_is(open_at: OpenAt, tmp_path: Path) -> None:
    here = open_at("here")
    furnish(here)
    here.transfer.export(tmp_path / "memory.json")
    before = digest(here)

    here.transfer.import_file(tmp_path / "memory.json")

    assert digest(here) == before


def test_what_was_destroyed_does_not_come_back(open_at: OpenAt, tmp_path: Path) -> None:
    here = open_at("here")
    file = write(tmp_path / "old.json", export(observations=[observation()]))
    here.transfer.import_file(file)
    [row] = here.store.rows("select id from observations")
    here.observations.delete(row["id"], hard=True)

    again = here.transfer.import_file(file)

    assert counts(again) == (0, 0, 1, 0)
    assert here.store.value("select count(*) from observations") == 0


def test_what_another_memory_destroyed_does_not_come_in_with_an_older_file(open_at: OpenAt, tmp_path: Path) -> None:
    here, there = open_at("here"), open_at("there")
    old = write(tmp_path / "old.json", export(observations=[observation()]))
    here.transfer.import_file(old)
    [row] = here.store.rows("select id from observations")
    here.observations.delete(row["id"], hard=True)
    here.transfer.export(tmp_path / "new.json")

    there.transfer.import_file(tmp_path / "new.json")
    late = there.transfer.import_file(old)

    assert counts(late) == (0, 0, 1, 0)


def test_a_tombstone_in_a_file_destroys_nothing_that_is_here(open_at: OpenAt, tmp_path: Path) -> None:
    here, there = open_at("here"), open_at("there")
    old = write(tmp_path / "old.json", export(observations=[observation()]))
    for memory in (here, there):
        memory.transfer.import_file(old)
    [row] = here.store.rows("select id from observations")
    here.observations.delete(row["id"], hard=True)
    here.transfer.export(tmp_path / "new.json")

    there.transfer.import_file(tmp_path / "new.json")

    assert there.store.value("select content from observations") == "One file, no daemon."


def test_where_a_row_came_from_is_believed_only_of_this_memory_s_own_export(open_at: OpenAt, tmp_path: Path) -> None:
    here, there = open_at("here"), open_at("there")
    furnish(here)
    here.transfer.export(tmp_path / "memory.json")

    there.transfer.import_file(tmp_path / "memory.json")

    assert {row[0] for row in here.store.rows("select origin from observations")} == {"agent", "user"}
    assert {row[0] for row in there.store.rows("select origin from observations")} == {"import"}


def test_the_older_format_carries_the_texts_and_neither_pins_nor_relations(open_at: OpenAt, tmp_path: Path) -> None:
    here, there = open_at("here"), open_at("there")
    furnish(here)
    here.transfer.export(tmp_path / "old.json", version="0.1.0")
    document = json.loads((tmp_path / "old.json").read_text(encoding="utf-8"))

    there.transfer.import_file(tmp_path / "old.json")

    assert set(document) == {"version", "exported_at", "sessions", "observations", "prompts"}
    assert not {"pinned", "review_after"} & set(document["observations"][0])
    texts = "select sync_id, title, content, topic_key from observations order by sync_id"
    assert [tuple(row) for row in there.store.rows(texts)] == [tuple(row) for row in here.store.rows(texts)]
    assert there.store.value("select review_after from observations where type = 'decision'") is not None
