"""What was hidden comes back; what was destroyed does not."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.observations.errors import ObservationNotFoundError, TopicTakenError


def test_what_was_deleted_is_found_again(app: Engram) -> None:
    saved = app.save(Draft("Use WAL", "because of readers"))
    app.observations.delete(saved.id)
    assert not app.search("readers").results

    back = app.observations.undelete(saved.id)

    assert (back.id, back.title, back.project) == (saved.id, "Use WAL", "widgets")
    assert [hit.id for hit in app.search("readers").results] == [saved.id]
    app.observations.undelete(saved.id)
    assert app.store.value("select count(*) from observations where deleted_at is null") == 1


def test_what_was_destroyed_does_not_come_back(app: Engram) -> None:
    saved = app.save(Draft("Use WAL", "because of readers"))
    app.observations.delete(saved.id, hard=True)
    with pytest.raises(ObservationNotFoundError):
        app.observations.undelete(saved.id)


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
