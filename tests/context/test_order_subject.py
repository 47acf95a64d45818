"""What an order is about, and whether a session left it to be done."""

from __future__ import annotations

import pytest

from engram_py.context.gate.order_subject import is_step_of, ordered, things_ordered


@pytest.mark.parametrize(
    ("prompt", "verb", "words"),
    [
        ("please bump airflow to 2.11", "bump", ["airflow"]),
        ("clean up the new scan screen", "up", ["scan", "screen"]),
        ("replay the gap from the historian", "replay", ["replay", "gap", "historian"]),
        ("could you write a test for the mailer?", "write", ["mailer"]),
    ],
)
def test_an_order_is_a_verb_and_what_is_told_behind_it(prompt: str, verb: str, words: list[str]) -> None:
    assert ordered(prompt) == (verb, words)
    assert things_ordered(prompt) == (words if len(words) < 3 else [])


@pytest.mark.parametrize("prompt", ["", "write a poem on mailers", "the mailer is slow", "fix it", "why bump airflow?"])
def test_what_orders_nothing_is_no_order(prompt: str) -> None:
    assert ordered(prompt) is None


def test_of_an_order_of_many_things_none_is_the_one_that_is_meant() -> None:
    assert things_ordered("add the badge to the scan screen") == []


@pytest.mark.parametrize(
    ("prompt", "step", "same"),
    [
        ("bump airflow to 2.11", "Upgrade Airflow after the inventory", True),
        ("tune airflow", "Upgrade Airflow after the inventory", False),
        ("bump airflow", "Airflow", False),
        ("replay the gap from the historian", "Replay the gap from the historian (Joris has the export)", True),
        ("the gap of the historian is wide", "Replay the gap from the historian (Joris has the export)", False),
        ("add a Danish translation to the refund mail", "Refund mail in Danish", True),
        ("make the worker skip frames of whales", "let the worker skip blurry frames", False),
    ],
)
def test_an_order_is_a_step_when_one_has_all_words_of_the_other(prompt: str, step: str, same: bool) -> None:
    order = ordered(prompt)

    assert order is not None
    assert is_step_of(order, step) is same
