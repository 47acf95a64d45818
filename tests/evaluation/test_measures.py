"""The measures against figures worked out by hand."""

from __future__ import annotations

import math

import pytest

from engram_py.evaluation.evaluation import first_rank, hit_at, mean, ndcg_at, reciprocal_rank


def test_the_first_rank_is_that_of_the_first_relevant_one() -> None:
    assert first_rank("abcd", {"c", "d"}) == 3
    assert first_rank("abcd", {"z"}) is None
    assert first_rank("", {"z"}) is None


@pytest.mark.parametrize(("rank", "hits"), [(1, [True] * 3), (5, [False, True, True]), (6, [False, False, True])])
def test_a_hit_is_one_within_the_first_k(rank: int, hits: list[bool]) -> None:
    assert [hit_at(rank, k) for k in (1, 5, 10)] == hits


def test_what_was_not_found_is_no_hit_and_has_no_reciprocal_rank() -> None:
    assert not hit_at(None, 10)
    assert reciprocal_rank(None) == 0


def test_the_reciprocal_rank_ends_at_k() -> None:
    assert [reciprocal_rank(rank) for rank in (1, 4, 10, 11)] == [1, 0.25, 0.1, 0]


@pytest.mark.parametrize(
    ("found", "relevant", "expected"),
    [
        pytest.param("ab", "ab", 1, id="best-order"),
        pytest.param("xa", "a", 1 / math.log2(3), id="second-place"),
        pytest.param("axb", "ab", (1 + 0.5) / (1 + 1 / math.log2(3)), id="gap"),
        pytest.param("aa", "ab", 1 / (1 + 1 / math.log2(3)), id="found-twice-counts-once"),
        pytest.param("x" * 10 + "a", "a", 0, id="eleventh"),
        pytest.param("ab", "", 0, id="nothing-relevant"),
        pytest.param("", "a", 0, id="nothing-found"),
    ],
)
def test_ndcg_is_the_gain_over_the_best_gain(found: str, relevant: str, expected: float) -> None:
    assert ndcg_at(found, relevant) == pytest.approx(expected)


def test_more_relevant_ones_than_places_still_reach_one() -> None:
    assert ndcg_at(range(10), range(40)) == pytest.approx(1)


def test_the_mean_of_nothing_is_zero() -> None:
    assert mean([]) == 0
    assert mean([1, 0]) == 0.5
