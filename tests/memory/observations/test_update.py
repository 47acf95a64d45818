"""Corrections, archiving and moving of observations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.base.errors import (
    ConflictError,
    EmptyFieldError,
    InvalidInputError,
    OperationExpiredError,
)
from engram_py.memory.observations.values import Change, Saved
from engram_py.memory.projects.values import InvalidProjectError, UnknownProjectError
from tests.recall.searching import fill, ids, kept
from tests.support import FakeClock, Opener, draft, names, raising, rows_of, whole

PASSWORD = "correct-" + "horse9-" + "Battery"


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        pytest.param(Change(title="Lifetime"), {"title": "Lifetime"}, id="title"),
        pytest.param(Change(content="One hour."), {"content": "One hour."}, id="content"),
        pytest.param(Change(type=" Decision "), {"type": "decision"}, id="type"),
        pytest.param(Change(scope="Personal"), {"scope": "personal"}, id="scope"),
        pytest.param(Change(topic_key="Auth//Cookies"), {"topic_key": "auth/cookies"}, id="topic"),
        pytest.param(Change(topic_key=""), {"topic_key": None}, id="no-topic"),
    ],
)
def test_an_update_changes_what_it_was_given_and_nothing_else(
    app: Engram, clock: FakeClock, change: Change, changed: dict[str, object]
) -> None:
    saved = app.save(draft("Fifteen minutes.", topic_key="auth/tokens"))
    before = whole(app, saved.id)
    clock.advance(hours=1)
    updated = app.observations.update(saved.id, change)

    after = whole(app, saved.id)
    kept = {name for name in ("title", "content", "type", "scope", "topic_key") if name not in changed}
    assert updated.outcome == "updated"
    assert updated.changed == tuple(changed)
    assert {name: getattr(after, name) for name in changed} == changed
    assert all(getattr(after, name) == getattr(before, name) for name in kept)
    assert (after.revision_count, after.updated_at) == (2, "2026-03-01T11:00:00.000Z")
    assert after.created_at == before.created_at


def test_find_and_replace_changes_every_occurrence_literally(app: Engram) -> None:
    saved = app.save(draft("a.c a.c abc"))
    app.observations.update(saved.id, Change(find="a.c", replace=r"\1"))
    detail = app.get(saved.id, history=True)
    assert detail.observation.content == r"\1 \1 abc"
    assert [old.content for old in detail.versions] == ["a.c a.c abc"]
    app.observations.update(saved.id, Change(find=" abc", replace=""))
    assert whole(app, saved.id).content == r"\1 \1"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param(Change(), "invalid_argument", id="nothing"),
        pytest.param(Change(find="Fifteen"), "invalid_argument", id="find-alone"),
        pytest.param(Change(replace="Ten"), "invalid_argument", id="replace-alone"),
        pytest.param(Change(content="x", find="Fifteen", replace="Ten"), "invalid_argument", id="both-ways"),
        pytest.param(Change(find="fifteen", replace="ten"), "nothing_replaced", id="other-case"),
        pytest.param(Change(find="", replace="ten"), "nothing_replaced", id="find-nothing"),
        pytest.param(Change(find="Fifteen minutes.", replace=" "), "empty_field", id="nothing-left"),
        pytest.param(Change(find="i", replace="x" * 30_000), "text_too_long", id="grows-too-long"),
        pytest.param(Change(title=" "), "empty_field", id="blank-title"),
        pytest.param(Change(content="\n"), "empty_field", id="blank-content"),
        pytest.param(Change(title="x" * 1_001), "text_too_long", id="long-title"),
        pytest.param(Change(content="a\0b"), "invalid_text", id="nul"),
        pytest.param(Change(find="Fifteen", replace="\ud800"), "invalid_text", id="surrogate"),
        pytest.param(Change(scope="team"), "invalid_argument", id="scope"),
        pytest.param(Change(salience=1.5), "invalid_argument", id="salience"),
        pytest.param(Change(expires_at="tomorrowish"), "invalid_argument", id="no-day"),
        pytest.param(Change(expires_at="2026-02-30"), "invalid_argument", id="no-day-of-the-calendar"),
    ],
)
def test_a_refused_update_changes_nothing(app: Engram, change: Change, code: str) -> None:
    saved = app.save(draft("Fifteen minutes."))
    before = whole(app, saved.id)
    with raising(InvalidInputError, code):
        app.observations.update(saved.id, change)
    assert whole(app, saved.id) == before
    assert rows_of(app, "observation_versions") == 0


def test_saying_what_is_there_already_changes_nothing(app: Engram, clock: FakeClock) -> None:
    saved = app.save(draft("Fifteen minutes.", topic_key="auth/tokens"))
    before = whole(app, saved.id)
    clock.advance(hours=1)
    change = Change(" Token  lifetime", "Fifteen minutes.\n", "MANUAL", "project", "auth/tokens/")
    updated = app.observations.update(saved.id, change)

    assert (updated.outcome, updated.changed, updated.revision_count) == ("unchanged", (), 1)
    assert whole(app, saved.id) == before


def test_a_topic_that_names_another_observation_is_refused(app: Engram) -> None:
    taken = app.save(draft("One.", topic_key="auth/tokens"))
    other = app.save(draft("Two.", title="Other"))
    with raising(ConflictError, "topic_taken", match=f"observation #{taken.id}$"):
        app.observations.update(other.id, Change(topic_key="auth/tokens"))


def test_an_update_redacts_and_says_so(app: Engram, saved: Saved) -> None:
    updated = app.observations.update(saved.id, Change(find="Fifteen", replace=f"password={PASSWORD} Fifteen"))
    assert updated.redacted == 1
    assert updated.warnings
    assert PASSWORD not in whole(app, saved.id).content


def test_an_update_cuts_a_long_text_and_says_so(app: Engram, saved: Saved) -> None:
    updated = app.observations.update(saved.id, Change(content="é" * 30_000))
    assert updated.truncation is not None
    assert (updated.truncation.original_bytes, updated.truncation.limit_bytes) == (60_000, 50_000)


# --- put away, and only until a day ------------------------------------------------------------------------------


def test_what_is_archived_is_out_of_searches_and_contexts_until_it_is_taken_out(app: Engram) -> None:
    fill(app)
    row = kept(app, "The retry queue lives in redis.", title="Place", type="decision")
    before = whole(app, row)
    done = app.observations.update(row, Change(archived=True))
    assert (done.outcome, done.changed, done.revision_count) == ("updated", ("lifecycle",), 1)
    assert ids(app, "retry queue") == ids(app, "type:decision") == []
    assert row not in [one.id for one in app.contexts.assemble().recent]
    assert ids(app, "is:archived") == ids(app, "retry is:archived") == ids(app, f"#{row}") == [row]
    app.observations.update(row, Change(archived=False))
    assert ids(app, "retry queue") == [row]
    assert whole(app, row) == before


def test_what_was_replaced_stays_so_when_it_is_taken_out_of_the_archive(app: Engram) -> None:
    old, new = kept(app, "Redis.", title="Cache in Redis"), kept(app, "Memcached.", title="Cache in Memcached")
    app.observations.update(old, Change(archived=True))
    app.relations.compare(new, old, "supersedes", confidence=0.9, reasoning="smaller")
    assert whole(app, old).lifecycle == "archived"
    app.observations.update(old, Change(archived=False))
    assert whole(app, old).lifecycle == "historical"
    assert app.observations.update(old, Change(archived=False)).outcome == "unchanged"


def test_what_expires_is_shown_unasked_until_that_day_is_over(app: Engram, clock: FakeClock) -> None:
    row = kept(app, "No merges to main.", title="Freeze before the launch", type="decision")
    app.observations.update(row, Change(expires_at="2026-03-02"))
    clock.advance(days=1)
    assert row in [one.id for one in app.contexts.assemble().recent]
    clock.advance(days=1)
    assert row not in [one.id for one in app.contexts.assemble().recent]
    app.observations.update(row, Change(expires_at="never"))
    assert row in [one.id for one in app.contexts.assemble().recent]


def test_of_two_equals_the_salient_one_stands_first(app: Engram) -> None:
    fill(app)
    risen = kept(app, "The retry queue lives in redis.", title="Place", type="passive")
    equal = kept(app, "The retry queue lives in kafka.", title="Place", type="passive")
    app.observations.update(risen, Change(salience=1))
    assert ids(app, "retry queue lives") == [risen, equal]


def test_a_moved_observation_is_found_in_its_new_project_alone_and_queued_under_it(app: Engram, saved: Saved) -> None:
    app.save(Draft("Gadgets", "They are blue."), project="gadgets")
    old = app.get(saved.id).observation
    moved = app.observations.move(saved.id, "gadgets")
    assert (moved.project, moved.changed) == ("gadgets", ("project",))
    assert saved.id in [hit.id for hit in app.search(old.title, project="gadgets").results]
    assert saved.id not in [hit.id for hit in app.search(old.title, project=old.project).results]
    assert app.observations.move(saved.id, "gadgets").outcome == "unchanged"
    app.save(Draft("Gadgets", "They are blue."), project="gadgets")
    app.observations.move(saved.id, "gadgets")
    [queued] = app.store.rows("select project from sync_mutations where entity_key = :key", key=saved.sync_id)
    assert queued["project"] == "gadgets"


def test_a_move_to_where_its_topic_is_taken_is_refused(app: Engram) -> None:
    mine = app.save(Draft("Tokens", "They last an hour.", topic_key="auth/tokens"))
    app.save(Draft("Tokens", "They last a day.", topic_key="auth/tokens"), project="gadgets")
    with raising(ConflictError, "topic_taken"):
        app.observations.move(mine.id, "gadgets")
    with pytest.raises(UnknownProjectError):
        app.observations.move(mine.id, "nowhere")
    assert app.get(mine.id).observation.project == mine.project


def test_a_replaced_observation_that_moves_away_stands_for_itself(app: Engram, saved: Saved) -> None:
    newer = app.save(Draft("Cookies last longer", "Thirty minutes now.")).id
    app.save(Draft("Gadgets", "They are blue."), project="gadgets")
    app.relations.compare(newer, saved.id, "supersedes", confidence=1.0, reasoning="It was raised.")
    assert app.get(saved.id).observation.lifecycle == "historical"
    app.observations.move(saved.id, "gadgets")
    assert app.get(saved.id).observation.lifecycle == "active"
    app.observations.move(saved.id, saved.project)
    assert app.get(saved.id).observation.lifecycle == "historical"


def test_an_accepted_observation_is_the_persons_own_and_fades_no_more(app: Engram) -> None:
    derived = app.save(Draft("Port", "The API listens on 8080.", "fact", origin="derived")).id
    assert [row.id for row in app.browsing.unconfirmed()] == [derived]
    accepted = app.observations.accept(derived)
    assert (accepted.origin, app.browsing.unconfirmed()) == ("user", ())
    app.observations.unaccept(accepted)
    assert [row.id for row in app.browsing.unconfirmed()] == [derived]


def test_what_upkeep_rewrites_itself_and_summaries_wait_for_no_confirmation(app: Engram) -> None:
    app.save(Draft("Billing", "A service.", "entity", topic_key="entity/billing", origin="derived"))
    app.save(Draft("Session", "What was done.", "session_summary", origin="derived"))
    assert app.browsing.unconfirmed() == ()


def test_a_repeated_operation_answers_what_the_first_one_did(
    app: Engram, open_memory: Opener, clock: FakeClock
) -> None:
    app.save(draft("Ten minutes.", title="Token lifetime limit"))
    long = draft("x" * 60_000, files=("src/no.py", " "), operation_id="op-1")
    first = app.save(long)
    clock.advance(days=1)
    app.save(draft("Something else."))
    again = open_memory().save(long)

    assert first.candidates
    assert first.truncation
    assert names(first.warnings) == ["cut", "not_anchored", "kept_by_name"]
    assert again == replace(first, replayed=True)
    assert rows_of(app, "observations") == 3
    assert whole(app, first.id).duplicate_count == 1


OTHERS: dict[str, Any] = {"content": "One hour.", "title": "Another", "type": "decision", "topic_key": "auth/tokens"}
OTHERS |= {"scope": "personal", "aliases": ("jwt",), "tool_name": "mem_save"}


@pytest.mark.parametrize("field", OTHERS)
def test_an_operation_with_other_arguments_is_a_conflict_and_writes_nothing(app: Engram, field: str) -> None:
    app.save(draft("Fifteen minutes.", operation_id="op-1"))
    with raising(ConflictError, "operation_conflict"):
        app.save(draft(**({"content": "Fifteen minutes.", "operation_id": "op-1"} | {field: OTHERS[field]})))
    assert rows_of(app, "observations") == 1


@pytest.mark.parametrize("where", [{"project": "gadgets"}, {"session_id": "s-2"}])
def test_an_operation_sent_somewhere_else_is_a_conflict(app: Engram, where: dict[str, str]) -> None:
    app.save(draft("Fifteen minutes.", operation_id="op-1"))
    with raising(ConflictError, "operation_conflict"):
        app.save(draft("Fifteen minutes.", operation_id="op-1"), **where)


def test_arguments_that_differ_only_before_they_are_cleaned_are_the_same(app: Engram) -> None:
    first = app.save(draft("Fifteen minutes.", type="Decision", operation_id="op-1"))
    again = app.save(draft(" Fifteen minutes.\n", type="decision ", operation_id="op-1"))
    assert (again.id, again.replayed) == (first.id, True)


def test_a_refused_save_leaves_its_operation_free(app: Engram) -> None:
    with pytest.raises(EmptyFieldError):
        app.save(draft(" ", operation_id="op-1"))
    with pytest.raises(InvalidProjectError):
        app.save(draft("Fifteen minutes.", operation_id="op-1"), project="a/b")
    assert app.save(draft("One hour.", operation_id="op-1")).outcome == "added"


def test_a_hard_delete_forgets_every_answer_that_showed_the_text(app: Engram) -> None:
    doomed = app.save(draft("Ten.", title="Codename Bluebird token lifetime", operation_id="op-1"))
    later = app.save(draft("Twenty.", title="Token lifetime limit", operation_id="op-2"))
    assert [candidate.id for candidate in later.candidates] == [doomed.id]

    app.observations.delete(doomed.id, hard=True)

    answers = [row["answer"] for row in app.store.rows("select answer from save_operations")]
    assert not any("Bluebird" in answer for answer in answers)
    with pytest.raises(OperationExpiredError):  # the text is gone: a save that is only repeated brings nothing back
        app.save(draft("Ten.", title="Codename Bluebird token lifetime", operation_id="op-1"))


def test_an_operation_is_forgotten_after_thirty_days(app: Engram, clock: FakeClock) -> None:
    app.save(draft("Fifteen minutes.", operation_id="op-1"))
    clock.advance(days=31)
    app.save(draft("Something else.", operation_id="op-2"))
    assert app.save(draft("One hour.", operation_id="op-1")).outcome == "added"
