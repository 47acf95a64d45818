"""Hiding and hard deletion of observations."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.database import fts
from engram_py.base.database.fts import level_count
from engram_py.base.database.soundness import OBSERVATIONS
from engram_py.base.database.store import Store, waiting
from engram_py.base.errors import ConflictError
from engram_py.memory.observations.errors import ObservationNotFoundError
from engram_py.memory.observations.values import Change
from tests.support import Opener, draft, raising, rows_of


def test_a_soft_delete_hides_an_observation_everywhere_and_keeps_its_text(app: Engram) -> None:
    saved = app.save(draft("Fifteen minutes.", type="decision", topic_key="auth/tokens"))
    app.observations.pin(saved.id)
    deleted = app.observations.delete(saved.id)

    context = app.contexts.assemble()
    assert (deleted.id, deleted.hard, deleted.title) == (saved.id, False, "Token lifetime")
    assert app.search("fifteen").results == app.search("auth/tokens").results == ()
    assert app.search(f"#{saved.id}").results == ()
    assert (context.pinned, context.recent, context.memories) == ((), (), 0)
    with pytest.raises(ObservationNotFoundError) as refusal:
        app.get(saved.id)
    assert refusal.value.deleted_at == "2026-03-01T10:00:00.000Z"
    saved = app.save(draft("One.", topic_key="auth/tokens"))
    app.save(draft("Two.", topic_key="auth/tokens"))
    app.observations.delete(saved.id)
    assert app.store.value("select content from observations where id = :id", id=saved.id) == "Two."
    assert (rows_of(app, "observation_versions"), rows_of(app, "tombstones")) == (1, 0)


@pytest.mark.parametrize("hidden_first", [False, True])
def test_a_hard_delete_leaves_a_tombstone_without_text(app: Engram, hidden_first: bool) -> None:
    saved = app.save(draft("One.", topic_key="auth/tokens"))
    app.save(draft("Two.", topic_key="auth/tokens"))
    if hidden_first:
        app.observations.delete(saved.id)
    deleted = app.observations.delete(saved.id, hard=True)

    [tombstone] = app.store.rows("select * from tombstones")
    assert deleted.hard
    assert (tombstone["entity"], tombstone["entity_key"]) == ("observation", saved.sync_id)
    assert (tombstone["project"], tombstone["session_id"]) == ("widgets", saved.session_id)
    assert (rows_of(app, "observations"), rows_of(app, "observation_versions")) == (0, 0)
    assert app.store.rows("select 1 from observations_fts where observations_fts match 'two'") == []
    with pytest.raises(ObservationNotFoundError):
        app.observations.undelete(saved.id)


def test_a_hard_delete_orphans_the_relations_of_the_observation(app: Engram) -> None:
    old = app.save(draft("Ten.", title="Token lifetime limit"))
    new = app.save(draft("Fifteen.", title="Token lifetime limit raised"))
    third = app.save(draft("Twenty.", title="Token lifetime limit raised again"))
    app.relations.compare(third.id, old.id, "related", confidence=1, reasoning="Both are limits.")
    app.relations.judge(new.candidates[0].judgment_id, "supersedes")
    deleted = app.observations.delete(new.id, hard=True)

    states = app.store.rows("select source_id, target_id, judgment_status from memory_relations order by id")
    assert deleted.relations_orphaned == 2
    assert {row["judgment_status"] for row in states if new.sync_id in (row[0], row[1])} == {"orphaned"}
    assert [note.id for note in app.get(old.id).relations] == [third.id]


@pytest.mark.parametrize("hard", [False, True])
def test_deleting_a_summary_takes_it_from_its_session_too(app: Engram, hard: bool) -> None:
    app.sessions.start("s-1")
    saved = app.episodes.summarize("Built the wrong thing.", session_id="s-1")
    app.observations.delete(saved.id, hard=hard)
    assert app.sessions.get("s-1").summary is None
    assert app.contexts.assemble().sessions == ()


# --- taken back ----------------------------------------------------------------------------------------


def test_what_was_deleted_is_found_again(app: Engram) -> None:
    saved = app.save(Draft("Use WAL", "because of readers"))
    app.observations.delete(saved.id)
    assert not app.search("readers").results

    back = app.observations.undelete(saved.id)

    assert (back.id, back.title, back.project) == (saved.id, "Use WAL", "widgets")
    assert [hit.id for hit in app.search("readers").results] == [saved.id]
    app.observations.undelete(saved.id)
    assert app.store.value("select count(*) from observations where deleted_at is null") == 1


def test_a_topic_that_is_another_observation_now_is_not_taken_from_it(app: Engram) -> None:
    saved = app.save(Draft("Use WAL", "because", topic_key="db/wal"))
    app.observations.delete(saved.id)
    other = app.save(Draft("Use a lock", "instead", topic_key="db/wal"))

    with raising(ConflictError, "topic_taken", match=f"observation #{other.id}$"):
        app.observations.undelete(saved.id)


def test_a_summary_that_comes_back_is_its_sessions_again(app: Engram) -> None:
    app.sessions.start("s-1")
    saved = app.episodes.summarize("Built the parser.", session_id="s-1")
    app.observations.delete(saved.id)
    app.sessions.end("s-1", summary="Goodbye.")

    app.observations.undelete(saved.id)

    said = app.sessions.get("s-1").summary
    assert said is not None
    assert "Built the parser." in said
    assert "Goodbye." in said
    app.observations.undelete(saved.id)
    assert app.sessions.get("s-1").summary == said


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
