"""What leaves as a file comes back the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.settings import Settings
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


def test_an_export_imported_into_an_empty_memory_is_exported_the_same_and_once_more_changes_nothing(
    open_at: OpenAt, tmp_path: Path, clock: FakeClock
) -> None:
    here, there = open_at("here"), open_at("there")
    furnish(here)
    file = tmp_path / "memory.json"
    here.transfer.export(file)
    first, own = json.loads(file.read_text(encoding="utf-8")), digest(here)
    clock.advance(days=3)

    there.transfer.import_file(file, trusted=True)
    before, second = digest(there), there.transfer.document()
    clock.advance(hours=1)
    again = there.transfer.import_file(file, trusted=True)
    here.transfer.import_file(file)

    assert portable(second) == portable(first)
    assert (digest(there), digest(here)) == (before, own)
    assert counts(again) == (0, 0, 4, 0)
    assert counts(again, "sessions")[:2] == counts(again, "prompts")[:2] == counts(again, "relations")[:2] == (0, 0)
    # where a row came from is what the user says of the file
    assert {row[0] for row in here.store.rows("select origin from observations")} == {"agent", "user"}
    assert {row[0] for row in there.store.rows("select origin from observations")} == {"agent", "user"}


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


def test_what_one_memory_destroyed_comes_in_nowhere_again_and_destroys_nothing_that_is_elsewhere(
    open_at: OpenAt, tmp_path: Path
) -> None:
    here, there, third = open_at("here"), open_at("there"), open_at("third")
    old = write(tmp_path / "old.json", export(observations=[observation()]))
    for memory in (here, third):
        memory.transfer.import_file(old)
    [row] = here.store.rows("select id from observations")
    here.observations.delete(row["id"], hard=True)
    here.transfer.export(tmp_path / "new.json")

    for memory in (there, third):
        memory.transfer.import_file(tmp_path / "new.json")
    again, late = here.transfer.import_file(old), there.transfer.import_file(old)

    assert counts(again) == counts(late) == (0, 0, 1, 0)
    assert [memory.store.value("select count(*) from observations") for memory in (here, there)] == [0, 0]
    assert third.store.value("select content from observations") == "One file, no daemon."


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
