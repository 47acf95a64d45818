"""How a row's words add up, and what its neighbours and its session add."""

from __future__ import annotations

import pytest

from engram_py.recall.index import Length
from engram_py.recall.score import AFTER, BEFORE, K1, SECOND, Neighbours, Term, best_of, first_scores, idf, score

USUAL = 100


def term(rows: dict[int, float], *, titled: tuple[int, ...] = (), idf: float = 2.0, discount: float = 1.0) -> Term:
    return Term("queue", '"queue"', idf, len(rows), mentions=rows, titled=dict.fromkeys(titled, 1.0), discount=discount)


def lengths(**words: int) -> dict[int, Length]:
    return {int(row[1:]): Length(count, 4) for row, count in words.items()}


def test_the_rarer_a_word_the_more_it_tells() -> None:
    weights = [idf(rows, 1000) for rows in (0, 1, 10, 500, 1000)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0
    assert idf(2000, 1000) == idf(1000, 1000)  # rows that were deleted are counted as well
    assert idf(0, 0) > 0


def test_a_row_has_the_sum_of_its_words_each_by_its_worth() -> None:
    found = first_scores([term({1: 1.0, 2: 1.0}), term({1: 1.0}, discount=0.5)])
    assert found == pytest.approx({1: 3.0, 2: 2.0})
    assert best_of(found, 1) == [1]


def test_a_mention_more_adds_less_and_never_more_than_a_word_can_give() -> None:
    once, twice, often = (score([term({1: n})], {1: Neighbours()}, {}, USUAL)[1].bm25 for n in (1.0, 2.0, 1e6))
    assert once < twice < 2 * once
    assert often <= (K1 + 1) * 2.0


def test_a_long_row_needs_more_mentions() -> None:
    around = {1: Neighbours(), 2: Neighbours()}
    found = score([term({1: 1.0, 2: 1.0})], around, lengths(r1=50, r2=500), USUAL)
    assert found[1].bm25 > found[2].bm25


def test_a_word_tells_more_in_a_short_title_than_in_a_long_one_and_there_more_than_in_the_text() -> None:
    words = term({1: 0.0, 2: 0.0, 3: 1.0}, titled=(1, 2))
    sizes = {1: Length(USUAL, 1), 2: Length(USUAL, 12), 3: Length(USUAL, 1)}
    found = score([words], {row: Neighbours() for row in sizes}, sizes, USUAL)
    assert found[1].bm25 > found[2].bm25 > found[3].bm25


def test_a_row_has_the_words_of_its_neighbours_in_part() -> None:
    found = score([term({5: 1.0})], {5: Neighbours(before=4, after=6, second=7)}, {}, USUAL)
    assert {row: one.neighbour_score for row, one in found.items()} == pytest.approx(
        {4: BEFORE * 2.0, 5: 0.0, 6: AFTER * 2.0, 7: SECOND * 2.0}
    )
    assert BEFORE < SECOND < AFTER < 1
    assert [found[row].coverage for row in (4, 5, 6)] == [0.0, 1.0, 0.0]


def test_a_row_borrows_no_word_that_it_has_itself_and_each_word_once() -> None:
    words = [term({1: 1.0, 2: 1.0, 3: 1.0}), term({1: 1.0, 2: 1.0}, idf=3.0)]
    around = {1: Neighbours(after=2, second=3), 2: Neighbours(before=1, after=3), 3: Neighbours()}
    found = score(words, around, {}, USUAL)
    assert (found[1].neighbour_score, found[2].neighbour_score) == (0.0, 0.0)
    assert found[3].neighbour_score == pytest.approx(AFTER * 3.0)
