"""One ranking out of words and vectors, without knowing beforehand which of them can be relied on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.reasons import reason
from engram_py.recall.search import deviations, fuse, strong, vector_nats
from engram_py.vectors.protocol import Nearest

MANY = 1_000


def nearest(cosines: dict[int, float], *, weight: float = 1.2, population: int = MANY) -> Nearest:
    """Cosines in a memory whose others lie around zero, with a deviation of a tenth."""
    return Nearest(tuple(cosines.items()), 0.0, 0.1, population, weight)


def order(ranked: Sequence[tuple[int, float]]) -> list[int]:
    return [key for key, _ in ranked]


def test_what_is_best_on_both_sides_comes_first_and_scores_one() -> None:
    ranked = fuse([(1, 9.0), (2, 5.0)], nearest({1: 0.6, 2: 0.3, 3: 0.2}), nats=12.0)
    assert order(ranked) == [1, 2, 3]
    assert ranked[0][1] == pytest.approx(1.0)


def test_a_sharp_vector_outranks_a_vague_word_and_a_rare_word_outranks_a_dull_vector() -> None:
    vague_words = [(1, 2.0), (2, 1.9)]
    assert order(fuse(vague_words, nearest({3: 0.65, 1: 0.1, 2: 0.1}), nats=2.0))[0] == 3
    rare_words = [(1, 14.0), (2, 3.0)]
    assert order(fuse(rare_words, nearest({3: 0.25, 1: 0.1, 2: 0.1}), nats=14.0))[0] == 1


def test_without_vectors_the_order_of_the_words_stays() -> None:
    words = [(4, 3.0), (9, 2.0), (2, 2.0), (7, 0.5)]
    for silent in (Nearest(), Nearest(note=reason("no_vectors")), nearest({}), Nearest(((9, 0.5),), 0.5, 0.0, 1)):
        assert order(fuse(words, silent, nats=8.0)) == [4, 9, 2, 7]


def test_without_a_known_word_the_nearest_come_first() -> None:
    assert order(fuse([], nearest({5: 0.2, 6: 0.6, 7: 0.4}), nats=0.0)) == [6, 7, 5]


def test_a_model_without_any_weight_changes_nothing() -> None:
    words = [(1, 3.0), (2, 2.9), (3, 2.8)]
    assert order(fuse(words, nearest({3: 0.9, 4: 0.8}, weight=0.0), nats=6.0))[:3] == [1, 2, 3]


def test_a_cosine_is_worth_the_logarithm_of_the_normal_tail_times_the_weight_of_the_model() -> None:
    near = {weight: vector_nats(nearest({1: 0.5}, weight=weight))[1] for weight in (0.25, 1.0)}
    assert near[1.0] == pytest.approx(5.0**2 / 2)
    assert near[0.25] * 4 == pytest.approx(near[1.0])


def test_an_observation_that_has_no_vector_yet_keeps_its_place_among_the_words() -> None:
    words = [(1, 9.0), (2, 8.0), (3, 2.0)]
    with_all = fuse(words, nearest({1: 0.5, 2: 0.45, 3: 0.2}), nats=10.0)
    one_missing = fuse(words, nearest({1: 0.5, 3: 0.2}), nats=10.0)
    assert order(with_all) == order(one_missing) == [1, 2, 3]


def test_the_scale_of_the_word_scores_does_not_matter() -> None:
    near = nearest({1: 0.3, 2: 0.5, 3: 0.4})
    small = fuse([(1, 0.003), (2, 0.002)], near, nats=9.0)
    large = fuse([(1, 300.0), (2, 200.0)], near, nats=9.0)
    assert order(small) == order(large)
    assert [score for _, score in small] == pytest.approx([score for _, score in large])


def test_each_side_counts_by_the_best_it_has_to_show() -> None:
    words = [(1, 8.0), (2, 4.0)]
    far, near = (fuse(words, nearest({1: 0.0, 2: 0.0, 3: cosine}, weight=1.0), nats=8.0) for cosine in (0.33, 0.34))
    assert order(far)[:2] == [1, 2]  # half of 8² against 5.4²
    assert order(near) == [1, 3, 2]  # 5.8² is more


def test_what_is_farther_than_usual_counts_against_an_observation() -> None:
    assert vector_nats(nearest({1: -0.2}))[1] < 0
    assert order(fuse([(1, 5.0), (2, 5.0)], nearest({1: -0.2, 2: 0.1, 3: 0.3}), nats=5.0))[-1] == 1


def test_a_match_is_strong_when_chance_would_not_bring_it_and_the_model_is_trusted() -> None:
    bar = math.sqrt(2 * math.log(MANY / 0.01)) / 10
    near = {1: bar + 0.01, 2: bar - 0.01}
    assert strong(nearest(near)) == {1}
    assert strong(nearest(near, weight=0.3)) == frozenset()
    assert strong(nearest(near, population=MANY**2)) == frozenset()
    assert strong(nearest(near, population=0)) == frozenset()
    assert strong(Nearest(note=reason("no_vectors"))) == frozenset()


numbers = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False)
scored = st.lists(st.tuples(st.integers(1, 40), numbers), max_size=25, unique_by=lambda one: one[0])


@given(
    scored,
    scored,
    st.floats(0, 200),
    st.floats(-1, 1),
    st.floats(0, 1),
    st.integers(0, 10**6),
    st.floats(0, 2),
)
def test_any_two_lists_become_one_total_order_with_scores_from_zero_to_one(
    words: list[tuple[int, float]],
    near: list[tuple[int, float]],
    nats: float,
    mean: float,
    deviation: float,
    population: int,
    weight: float,
) -> None:
    found = Nearest(tuple(near), mean, deviation, population, weight)
    ranked = fuse(words, found, nats=nats)
    keys = order(ranked)
    assert len(keys) == len(set(keys))
    assert {key for key, score in words if score > 0} <= set(keys)
    assert all(0.0 <= score <= 1.0 + 1e-9 for _, score in ranked)
    assert [score for _, score in ranked] == sorted((score for _, score in ranked), reverse=True)
    assert fuse(words, found, nats=nats) == ranked
    assert set(deviations(found)) <= {key for key, _ in near}
