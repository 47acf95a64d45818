"""The figures, worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from bench.datasets import Question
from bench.scoring import Answer, answered, by_part, figures, hit, ndcg, recall, reciprocal_rank


def answer(keys: Sequence[str], gold: Sequence[str], part: str = "", *, seconds: float = 0.001) -> Answer:
    return Answer(Question("q", "p", "?", tuple(gold), part), keys, seconds)


def test_recall_is_the_share_of_the_evidence_in_the_first_k() -> None:
    keys = ["a", "x", "y", "b", "z", "c"]

    assert [recall(keys, ["a", "b", "c"], k) for k in (1, 5, 10)] == pytest.approx([1 / 3, 2 / 3, 1])


def test_a_hit_is_any_of_the_evidence() -> None:
    assert hit(["x", "b"], ["a", "b"], 5) == 1
    assert hit(["x", "b"], ["a", "b"], 1) == 0


def test_the_reciprocal_rank_ends_at_ten() -> None:
    others = [f"x{number}" for number in range(10)]

    assert reciprocal_rank([*others[:9], "a"], ["a"]) == pytest.approx(0.1)
    assert reciprocal_rank([*others, "a"], ["a"]) == 0


def test_ndcg_compares_with_the_best_order_that_ten_places_allow() -> None:
    assert ndcg(["a", "b"], ["a", "b"]) == 1
    assert ndcg(["x", "a"], ["a"]) == pytest.approx(1 / math.log2(3))
    many = [f"g{number}" for number in range(12)]
    assert ndcg(many[:10], many) == pytest.approx(1)


def test_the_figures_of_a_set_count_what_was_empty_or_refused() -> None:
    question = Question("q", "p", "?", ("a",), "")
    values = figures([answer(["a"], ["a"]), answer([], ["a"]), Answer(question, [], 0.1, refused=True)])

    assert (values["questions"], values["refused"]) == (3, 1)
    assert values["recall@1"] == pytest.approx(1 / 3, abs=1e-4)
    assert values["empty"] == pytest.approx(2 / 3, abs=1e-4)
    assert (values["p50_ms"], values["p95_ms"]) == (1, 100)


def test_parts_are_reported_where_there_is_more_than_one() -> None:
    assert by_part([answer(["a"], ["a"], "en"), answer([], ["a"], "es")]) == {"en": 1, "es": 0}
    assert by_part([answer(["a"], ["a"], "en")]) == {}


def test_answered_is_the_share_with_anything_in_it() -> None:
    assert answered([answer(["x"], ["a"]), answer([], ["a"])]) == 0.5
