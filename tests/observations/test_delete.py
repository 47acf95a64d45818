"""Two ways to delete: hidden, which can be taken back, and destroyed, which can not."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.observations.errors import ObservationNotFoundError, TopicTakenError
from tests.memory import draft, rows_of


def test_a_soft_delete_hides_an_observation_everywhere(app: Engram) -> None:
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


def test_a_soft_delete_keeps_the_text_and_its_versions(app: Engram) -> None:
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
    app.relations.judge(new.candidates[0].judgment_id, "supersedes")
    deleted = app.observations.delete(new.id, hard=True)

    states = app.store.rows("select source_id, target_id, judgment_status from memory_relations order by id")
    assert deleted.relations_orphaned == 2
    assert {row["judgment_status"] for row in states if new.sync_id in (row[0], row[1])} == {"orphaned"}
    assert app.get(old.id).relations == ()
    assert [(one.source_id, one.target_id) for one in app.relations.pending()] == [(third.sync_id, old.sync_id)]


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

    with pytest.raises(TopicTakenError) as refused:
        app.observations.undelete(saved.id)

    assert refused.value.observation_id == other.id


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
