"""The same question within ten seconds is answered from memory, unless anybody wrote."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.context.contexts import KEPT_FOR, MOST_KEPT, Cache
from engram_py.observations.values import Change
from tests.memory import START, FakeClock, Opener, draft
from tests.observations.test_usage import counted


def test_row_69_the_same_question_is_answered_once_and_counted_once(app: Engram, clock: FakeClock) -> None:
    saved = app.save(draft("Fifteen minutes."))
    first = app.contexts.assemble()
    clock.advance(seconds=9)

    assert app.contexts.assemble() is first
    app.usage.flush()
    assert counted(app, saved.id)[0] == 1


@pytest.mark.parametrize("seconds", [10, 3_600, -1])
def test_after_ten_seconds_or_with_a_clock_set_back_it_is_answered_anew(
    app: Engram, clock: FakeClock, seconds: int
) -> None:
    app.save(draft("Fifteen minutes."))
    first = app.contexts.assemble()
    clock.advance(seconds=seconds)

    assert app.contexts.assemble() is not first


def test_any_write_of_this_process_is_seen_at_once(app: Engram) -> None:
    saved = app.save(draft("Fifteen minutes."))
    app.contexts.assemble()

    app.observations.update(saved.id, Change(content="One hour."))
    assert app.contexts.assemble().recent[0].content == "One hour."
    app.observations.delete(saved.id)
    assert app.contexts.assemble().recent == ()


def test_a_write_of_another_process_is_seen_at_once(app: Engram, open_memory: Opener) -> None:
    app.save(draft("Fifteen minutes."))
    app.contexts.assemble()

    open_memory().save(draft("One hour.", title="Other"))
    assert len(app.contexts.assemble().recent) == 2


def test_counting_what_was_shown_keeps_what_is_kept(app: Engram) -> None:
    saved = app.save(draft("Fifteen minutes."))
    first = app.contexts.assemble()

    assert app.usage.flush()
    assert counted(app, saved.id)[0] == 1
    assert app.contexts.assemble() is first


@pytest.mark.parametrize(
    "other",
    [
        {"project": "gadgets"},
        {"mode": "full"},
        {"query": "why did we?"},
        {"budget_tokens": 200},
        {"compact": True},
        {"scope": "personal"},
        {"unasked": True},
    ],
)
def test_another_question_has_another_answer(app: Engram, other: dict[str, object]) -> None:
    app.save(draft("Fifteen minutes."))
    assert app.contexts.assemble(**other) is not app.contexts.assemble()  # type: ignore[arg-type]


def test_prompts_are_told_apart_by_their_beginning(app: Engram) -> None:
    long = "why did we choose this " * 10
    assert app.contexts.assemble(query=long + "one") is app.contexts.assemble(query=long + "two")
    assert app.contexts.assemble(query="why one") is not app.contexts.assemble(query="why two")


def test_a_cache_keeps_a_few_answers_and_drops_the_oldest() -> None:
    cache = Cache[int]()
    for number in range(MOST_KEPT + 1):
        cache.keep(number, number, state=0, now=START)

    assert cache.get(0, state=0, now=START) is None
    assert cache.get(1, state=0, now=START) == 1
    assert cache.get(1, state=1, now=START) is None, "the memory is in another state"
    assert cache.get(2, state=0, now=START + KEPT_FOR) is None
