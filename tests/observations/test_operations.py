"""The same save sent twice: one answer, one row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engram_py import Engram
from engram_py.errors import EmptyFieldError, OperationConflictError, OperationExpiredError
from engram_py.projects.values import InvalidProjectError
from tests.memory import FakeClock, Opener, draft, rows_of, whole


def test_a_repeated_operation_answers_what_the_first_one_did(
    app: Engram, open_memory: Opener, clock: FakeClock
) -> None:
    app.save(draft("Ten minutes.", title="Token lifetime limit"))
    first = app.save(draft("x" * 60_000, operation_id="op-1"))
    clock.advance(days=1)
    app.save(draft("Something else."))
    again = open_memory().save(draft("x" * 60_000, operation_id="op-1"))

    assert first.candidates
    assert first.truncation
    assert again == replace(first, replayed=True)
    assert rows_of(app, "observations") == 3
    assert whole(app, first.id).duplicate_count == 1


OTHERS: dict[str, Any] = {"content": "One hour.", "title": "Another", "type": "decision", "topic_key": "auth/tokens"}
OTHERS |= {"scope": "personal", "aliases": ("jwt",), "tool_name": "mem_save"}


@pytest.mark.parametrize("field", OTHERS)
def test_an_operation_with_other_arguments_is_a_conflict_and_writes_nothing(app: Engram, field: str) -> None:
    app.save(draft("Fifteen minutes.", operation_id="op-1"))
    with pytest.raises(OperationConflictError):
        app.save(draft(**({"content": "Fifteen minutes.", "operation_id": "op-1"} | {field: OTHERS[field]})))
    assert rows_of(app, "observations") == 1


@pytest.mark.parametrize("where", [{"project": "gadgets"}, {"session_id": "s-2"}])
def test_an_operation_sent_somewhere_else_is_a_conflict(app: Engram, where: dict[str, str]) -> None:
    app.save(draft("Fifteen minutes.", operation_id="op-1"))
    with pytest.raises(OperationConflictError):
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
