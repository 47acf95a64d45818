"""What a save decides: a new row, a revision, a duplicate."""

from __future__ import annotations

from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.errors import TextTooLongError
from engram_py.observations import table
from engram_py.observations.values import Change
from tests.memory import FakeClock, draft, rows_of, whole


def test_a_new_text_is_added_with_its_identity_and_its_place(app: Engram) -> None:
    saved = app.save(draft("Fifteen minutes.", type="Decision", tool_name="mem_save"))

    kept = whole(app, saved.id)
    assert (saved.outcome, saved.project, saved.project_source) == ("added", "widgets", "dir_basename")
    assert (kept.title, kept.content, kept.type) == ("Token lifetime", "Fifteen minutes.", "decision")
    assert (kept.scope, kept.origin, kept.lifecycle, kept.tool_name) == ("project", "agent", "active", "mem_save")
    assert (kept.revision_count, kept.duplicate_count, kept.pinned) == (1, 1, False)
    assert kept.created_at == kept.updated_at == kept.last_seen_at == "2026-03-01T10:00:00.000Z"
    assert kept.sync_id.startswith("obs-")
    assert len(kept.sync_id) == len("obs-") + 16


@pytest.mark.parametrize(
    ("minutes", "outcome"), [(0, "duplicate"), (15, "duplicate"), (15.001, "added"), (16, "added")]
)
def test_the_same_text_counts_as_a_duplicate_for_fifteen_minutes(
    app: Engram, clock: FakeClock, minutes: float, outcome: str
) -> None:
    first = app.save(draft("Fifteen minutes."))
    clock.advance(minutes=minutes)
    second = app.save(draft("Fifteen minutes."))
    assert second.outcome == outcome
    assert (second.id == first.id) == (outcome == "duplicate")


def test_a_duplicate_is_counted_and_leaves_the_text_and_its_date_alone(app: Engram, clock: FakeClock) -> None:
    first = app.save(draft("Fifteen minutes."))
    clock.advance(minutes=5)
    second = app.save(draft("Fifteen minutes."))

    kept = whole(app, first.id)
    assert (second.revision_count, second.duplicate_count) == (1, 2)
    assert (kept.created_at, kept.updated_at) == ("2026-03-01T10:00:00.000Z",) * 2
    assert kept.last_seen_at == "2026-03-01T10:05:00.000Z"
    assert rows_of(app, "observation_versions") == 0


@pytest.mark.parametrize(
    "text", [pytest.param("fifteen MINUTES.", id="case"), pytest.param("  Fifteen \n\n minutes.\t", id="white-space")]
)
def test_texts_that_differ_in_case_or_white_space_are_one(app: Engram, text: str) -> None:
    app.save(draft("Fifteen minutes."))
    assert app.save(draft(text)).outcome == "duplicate"


@pytest.mark.parametrize("fields", [{"title": "Another title"}, {"type": "decision"}, {"scope": "personal"}])
def test_the_same_text_under_another_heading_is_a_row_of_its_own(app: Engram, fields: dict[str, Any]) -> None:
    app.save(draft("Fifteen minutes."))
    assert app.save(draft("Fifteen minutes.", **fields)).outcome == "added"


def test_saving_to_a_topic_again_revises_the_observation_it_names(app: Engram, clock: FakeClock) -> None:
    first = app.save(draft("Fifteen minutes.", topic_key="auth/tokens"))
    clock.advance(days=40)
    second = app.save(draft("One hour.", title="Token lifetime, revised", topic_key="auth/tokens", type="decision"))

    kept = whole(app, first.id)
    assert (second.outcome, second.id, second.sync_id) == ("updated", first.id, first.sync_id)
    assert (second.revision_count, kept.revision_count) == (2, 2)
    assert (kept.title, kept.content, kept.type) == ("Token lifetime, revised", "One hour.", "decision")
    assert (kept.created_at, kept.updated_at) == ("2026-03-01T10:00:00.000Z", "2026-04-10T10:00:00.000Z")
    assert [hit.id for hit in app.search("token lifetime").results] == [first.id]
    assert app.search("fifteen").results == ()


def test_the_text_a_topic_has_already_is_a_duplicate_at_any_age_and_makes_no_version(
    app: Engram, clock: FakeClock
) -> None:
    first = app.save(draft("Fifteen minutes.", topic_key="auth/tokens"))
    clock.advance(days=400)
    second = app.save(draft("Fifteen minutes.", topic_key="auth/tokens"))
    assert (second.outcome, second.id, second.revision_count, second.duplicate_count) == ("duplicate", first.id, 1, 2)
    assert rows_of(app, "observation_versions") == 0


@pytest.mark.parametrize("other", [{"project": "gadgets"}, {"scope": "personal"}, {"scope": "global"}])
def test_a_topic_is_one_per_project_and_scope(app: Engram, other: dict[str, str]) -> None:
    first = app.save(draft("Fifteen minutes.", topic_key="auth/tokens"))
    second = app.save(
        draft("One hour.", topic_key="auth/tokens", scope=other.get("scope")), project=other.get("project")
    )

    assert second.outcome == "added"
    assert whole(app, first.id).content == "Fifteen minutes."


@pytest.mark.parametrize("spelling", ["Auth/Tokens", " auth//tokens/ ", "AUTH/TOKENS"])
def test_spellings_of_one_topic_key_name_one_topic(app: Engram, spelling: str) -> None:
    first = app.save(draft("Fifteen minutes.", topic_key="auth/tokens"))
    second = app.save(draft("One hour.", topic_key=spelling))
    assert (second.id, second.topic_key) == (first.id, "auth/tokens")


def test_a_revision_keeps_the_aliases_unless_it_brings_its_own(app: Engram) -> None:
    first = app.save(draft("Fifteen minutes.", topic_key="auth/tokens", aliases=("jwt", "bearer; token")))
    app.save(draft("One hour.", topic_key="auth/tokens"))
    assert whole(app, first.id).aliases == "jwt; bearer, token"

    app.save(draft("Two hours.", topic_key="auth/tokens", aliases=("session cookie",)))
    assert whole(app, first.id).aliases == "session cookie"
    assert [hit.id for hit in app.search("cookie").results] == [first.id]


def test_a_save_without_a_topic_suggests_one_and_a_save_with_one_does_not(app: Engram) -> None:
    assert app.save(draft("Fifteen minutes.", type="decision")).suggested_topic_key == "decision/token-lifetime"
    assert app.save(draft("One hour.", topic_key="auth/tokens")).suggested_topic_key is None


@pytest.mark.parametrize(
    "key",
    [
        "decision/token-lifetime", "decision/lifetime-token", "decision/lifetimes-of-tokens",
        "decision/access-token-lifetime", "token/lifetime", "token-lifetime", "topic/token_lifetime",
    ],
)  # fmt: skip
def test_a_save_suggests_the_topic_that_is_there_and_near(app: Engram, key: str) -> None:
    held = app.save(draft("Fifteen minutes.", title="What was decided", topic_key=key))
    app.save(draft("Elsewhere.", title="Elsewhere", topic_key="decision/token-lifetime"), project="gizmos")
    saved = app.save(draft("One hour.", type="decision"))
    assert (saved.outcome, saved.suggested_topic_key, saved.topic_holder) == ("added", held.topic_key, held.id)
    assert app.save(draft("Two hours.", topic_key=saved.suggested_topic_key)).id == held.id


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("bug/token-lifetime", id="another-family"),
        pytest.param("decision/tokens", id="one-word-of-two"),
        pytest.param("decision/token-lifetime-in-gizmos-tests", id="two-words-more"),
        pytest.param("decision/token-length", id="another-word"),
        pytest.param("entity/token-lifetime", id="an-entity"),
    ],
)
def test_a_topic_about_something_else_is_not_suggested(app: Engram, key: str) -> None:
    app.save(draft("Fifteen minutes.", title="What was decided", topic_key=key))
    saved = app.save(draft("One hour.", type="decision"))
    assert (saved.suggested_topic_key, saved.topic_holder) == ("decision/token-lifetime", None)


def test_a_deleted_topic_and_one_of_another_scope_are_not_suggested(app: Engram) -> None:
    gone = app.save(draft("Fifteen minutes.", title="What was decided", topic_key="decision/lifetime-token"))
    app.observations.delete(gone.id)
    app.save(draft("Mine.", title="Mine", topic_key="decision/lifetime-tokens", scope="personal"))
    assert app.save(draft("One hour.", type="decision")).topic_holder is None


def test_a_near_topic_is_found_by_one_step_into_the_index_however_many_topics_there_are(app: Engram) -> None:
    for number in range(300):
        app.save(draft(f"The {number}th.", title=f"Note {number}", topic_key=f"decision/aa{number}"))
    held = app.save(draft("Fifteen minutes.", title="What was decided", topic_key="decision/lifetime-of-tokens"))
    statement = "explain query plan " + table.TOPICS_BEGINNING
    values = {"beginnings": "[]", "last": "z", "limit": 1, "project": "widgets", "scope": "project"}

    plan = [row["detail"] for row in app.store.rows(statement, **values)]

    assert app.save(draft("One hour.", type="decision")).topic_holder == held.id
    assert any("USING INDEX observations_topic" in one or "COVERING INDEX observations_topic" in one for one in plan)


def test_a_suggested_topic_is_of_the_row_it_was_suggested_for_whatever_its_title_became(app: Engram) -> None:
    first = app.save(Draft("Fixed flaky login test", "A sleep of one second.", "bugfix"))
    app.save(Draft("Something else", "In between.", "bugfix"))
    app.observations.update(first.id, Change(title="Login test"))
    second = app.save(Draft("The login test waits", "For the event.", topic_key=first.suggested_topic_key))
    assert (second.outcome, second.id, second.topic_key) == ("updated", first.id, first.suggested_topic_key)
    assert app.get(first.id, history=True).versions[-1].content == "A sleep of one second."


def test_a_topic_nobody_suggested_takes_no_row_of_the_same_title(app: Engram) -> None:
    first = app.save(Draft("Fixed flaky login test", "A sleep of one second.", "bugfix"))
    second = app.save(Draft("Fixed flaky login test", "It waits for the event.", "bugfix", topic_key="tests/login"))
    assert (second.outcome, app.get(first.id).observation.content) == ("added", "A sleep of one second.")


@pytest.mark.parametrize(
    "away", [pytest.param({"project": "gizmos"}, id="project"), pytest.param({"scope": "personal"}, id="scope")]
)
def test_a_suggested_topic_is_one_of_its_project_and_scope(app: Engram, away: dict[str, str]) -> None:
    first = app.save(Draft("Fixed flaky login test", "A sleep of one second.", "bugfix"))
    scope = away.get("scope")
    taken = Draft("Fixed flaky login test", "It waits.", "bugfix", scope=scope, topic_key=first.suggested_topic_key)
    assert app.save(taken, project=away.get("project")).outcome == "added"


def test_a_row_that_was_deleted_or_has_a_topic_by_now_is_not_revised_by_the_suggested_one(app: Engram) -> None:
    gone = app.save(Draft("Fixed flaky login test", "A sleep of one second.", "bugfix"))
    app.observations.delete(gone.id)
    moved = app.save(Draft("Rotate the keys", "Monthly.", "decision"))
    app.observations.update(moved.id, Change(topic_key="security/keys"))

    for first in (gone, moved):
        assert app.save(Draft("Again", "Another text.", topic_key=first.suggested_topic_key)).outcome == "added"


def test_a_topic_saved_again_with_other_case_or_indentation_is_revised(app: Engram) -> None:
    app.save(Draft("Flag", "Set FLAG=True\n  indented", topic_key="config/flag"))
    again = app.save(Draft("Flag", "Set flag=TRUE\nindented", topic_key="config/flag"))
    assert again.outcome == "updated"
    assert app.get(again.id).observation.content == "Set flag=TRUE\nindented"


def test_new_aliases_of_a_known_text_are_kept_and_found(app: Engram) -> None:
    first = app.save(Draft("Queue", "Jobs are retried thrice.", aliases=("backlog",)))
    again = app.save(Draft("Queue", "Jobs are retried thrice.", aliases=("zebra",)))
    assert (again.outcome, app.get(first.id).observation.aliases) == ("duplicate", "backlog; zebra")
    assert [hit.id for hit in app.search("zebra").results] == [first.id]


def test_a_save_that_is_rolled_back_first_does_not_cost_the_device_its_name(app: Engram) -> None:
    with pytest.raises(TextTooLongError):
        app.save(Draft("a b", "c"), project="gadgets", session_id="s" * 500)
    app.save(Draft("a b", "c"))

    stored = app.store.value("select value from meta where key = 'device_id'")
    [stamp] = [row[0] for row in app.store.rows("select clock from observations")]
    assert stamp.endswith(stored)


@pytest.mark.parametrize(
    ("kind", "usual"),
    [
        ("decison", "decision"), ("bug-fix", "bugfix"), ("bug", "bugfix"), ("fix", "bugfix"), ("patern", "pattern"),
        ("reference", None), ("feat", None), ("quote", None), ("refactoring", None), ("decision", None),
    ],
)  # fmt: skip
def test_a_slip_in_the_type_is_said_and_kept(app: Engram, kind: str, usual: str | None) -> None:
    saved = app.save(draft("It resolves fast.", type=kind))
    assert (saved.type, len(saved.warnings)) == (kind, usual is not None)
    assert usual is None or usual in saved.warnings[0]
