"""What is destroyed on purpose is not in the file's bytes any more, the index and the log included."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.database import fts
from engram_py.database.fts import level_count
from engram_py.database.soundness import OBSERVATIONS
from engram_py.database.store import Store, waiting
from engram_py.observations.values import Change
from tests.memory import Opener, draft

WORD = "zyxwvutsecretword"
PART = b"wvutsecretword"  # the index shares the beginnings of neighbouring words


def in_files(data_dir: Path) -> bool:
    return any(PART in file.read_bytes() for file in data_dir.glob("engram.db*"))


@pytest.fixture
def lived_in(app: Engram) -> Engram:
    """Enough rows that the index has several segments."""
    for number in range(60):
        app.save(draft(f"Text {number} of the usual kind.", title=f"Title {number}"))
    return app


@pytest.mark.parametrize("hidden_first", [False, True])
def test_a_destroyed_observation_leaves_no_word_in_the_file(
    lived_in: Engram, data_dir: Path, open_memory: Opener, hidden_first: bool
) -> None:
    saved = lived_in.save(draft(f"The {WORD} is here.", title=f"About {WORD}", aliases=(f"{WORD}Alias",)))
    lived_in.observations.update(saved.id, Change(content=f"The {WORD} was corrected."))
    lived_in.save(draft("Another."))
    open_memory().search("another")  # an idle reader
    assert in_files(data_dir)
    if hidden_first:
        lived_in.observations.delete(saved.id)

    lived_in.observations.delete(saved.id, hard=True)

    assert not in_files(data_dir)
    assert lived_in.doctor.examine().status == "ok"


def test_a_deleted_prompt_leaves_no_word_in_the_file(lived_in: Engram, data_dir: Path) -> None:
    kept = lived_in.prompts.save(f"Remember the {WORD}")
    lived_in.prompts.save("Another")
    lived_in.prompts.delete(kept.id)
    assert not in_files(data_dir)


def test_a_rebuild_takes_the_words_out_of_a_large_index(
    lived_in: Engram, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fts, "MERGED_AT_ONCE", 10)
    saved = lived_in.save(draft(f"The {WORD} is here."))
    lived_in.observations.delete(saved.id, hard=True)
    assert in_files(data_dir)

    lived_in.reindexing.run()
    lived_in.observations.delete(1, hard=True)  # which empties the log

    assert not in_files(data_dir)


def test_somebody_who_writes_or_reads_just_then_is_no_reason_to_fail(lived_in: Engram, data_dir: Path) -> None:
    first, second = (lived_in.save(draft(f"The {WORD} is here.", title=name)).id for name in ("one", "two"))
    with closing(sqlite3.connect(data_dir / "engram.db", isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from observations").fetchone()
        assert lived_in.observations.delete(first, hard=True).hard
        reader.execute("rollback")
    assert lived_in.observations.delete(second, hard=True).hard
    assert not in_files(data_dir)


def test_a_writer_that_is_quicker_than_the_erasing_is_no_reason_to_fail(
    lived_in: Engram, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = lived_in.save(draft(f"The {WORD} is here."))
    with closing(sqlite3.connect(data_dir / "engram.db", isolation_level=None)) as writer:

        @contextmanager
        def contended(store: Store, seconds: float) -> Iterator[None]:
            writer.execute("begin immediate")
            with waiting(store, seconds):
                yield

        monkeypatch.setattr(fts, "waiting", contended)
        assert lived_in.observations.delete(saved.id, hard=True).hard
    assert lived_in.search(WORD).results == ()


def test_an_index_stays_whole_however_often_something_is_destroyed(lived_in: Engram, data_dir: Path) -> None:
    highest = 0
    for number in range(230):
        saved = lived_in.save(draft(f"The {WORD} is here.", title=f"Secret {number}"))
        lived_in.observations.delete(saved.id, hard=True)
        highest = max(highest, level_count(lived_in.store, OBSERVATIONS.name))

    assert highest < 250  # of 2,000 that SQLite reads
    assert not in_files(data_dir)
    assert lived_in.doctor.examine().status == "ok"
    assert len(lived_in.search("usual").results) == 10


def test_many_are_destroyed_in_one_transaction(lived_in: Engram) -> None:
    ids = [saved.id for saved in lived_in.bulk.listed(limit=50).items]
    writes = lived_in.store.writes
    assert len(lived_in.observations.delete_many(ids, hard=True)) == 50
    assert lived_in.store.writes - writes == 2  # with the erasing


def test_a_deletion_that_is_rolled_back_destroys_nothing(lived_in: Engram) -> None:
    saved = lived_in.save(draft(f"The {WORD} is here."))
    with pytest.raises(ZeroDivisionError):
        delete_and_fail(lived_in, saved.id)
    assert lived_in.search(WORD).results[0].id == saved.id


def delete_and_fail(app: Engram, observation_id: int) -> None:
    with app.store.transaction():
        app.observations.delete(observation_id, hard=True)
        raise ZeroDivisionError
