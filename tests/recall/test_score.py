"""How a row's words add up, and what its neighbours lend it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.recall.score.bm25 import K1, idf
from engram_py.recall.score.relevance import (
    INSTEAD,
    LENT_BACK,
    LENT_FORWARD,
    PLACE_SHARE,
    Neighbours,
    Scored,
    Term,
    lend,
    own_scores,
    settle,
)


def term(scores: dict[int, float], *, idf: float = 2.0, worth: float = 1.0, text: str = "queue") -> Term:
    return Term(text, f'"{text}"', idf, len(scores), scores=scores, worth=worth)


def test_the_rarer_a_word_the_more_it_tells() -> None:
    weights = [idf(rows, 1000) for rows in (0, 1, 10, 500, 1000)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0
    assert idf(2000, 1000) == idf(1000, 1000)  # rows that were deleted are counted as well
    assert idf(0, 0) > 0


def test_a_row_has_the_sum_of_its_words_each_by_its_worth() -> None:
    assert own_scores([term({1: 2.0, 2: 1.0}), term({1: 1.0}, worth=0.5)]) == {1: 2.5, 2: 1.0}


def test_a_good_row_lends_to_the_two_after_it_and_to_the_one_before() -> None:
    found = lend([term({5: 2.0})], {5: Neighbours("s", before=4, after=6, second=7)})
    assert {row: (one.bm25, one.lent) for row, one in found.items()} == {
        4: (0.0, LENT_BACK * 2.0),
        5: (2.0, 0.0),
        6: (0.0, LENT_FORWARD * 2.0),
        7: (0.0, LENT_FORWARD * 2.0),
    }
    assert LENT_BACK < LENT_FORWARD < 1


def test_what_is_lent_never_makes_more_than_a_word_can_give() -> None:
    top = (K1 + 1) * 2.0
    around = {row: Neighbours("s", before=9) for row in range(1, 9)}
    found = lend([term(dict.fromkeys(range(1, 10), 4.0))], around | {9: Neighbours("s")})
    assert found[9].bm25 + found[9].lent <= top + 1e-9
    assert found[9].lent > 0


def test_a_borrowed_word_covers_half_as_much_as_an_own_one() -> None:
    words = [term({1: 2.0}, idf=1.0), term({2: 2.0}, idf=3.0, text="worker")]
    found = lend(words, {1: Neighbours("s", after=2), 2: Neighbours("s")})
    assert (found[1].covered, found[1].covered_nearby) == (0.25, 0.25)
    assert (found[2].covered, found[2].covered_nearby) == (0.75, 0.875)


def test_a_row_of_another_session_is_lent_nothing() -> None:
    found = lend([term({1: 2.0})], {1: Neighbours("s"), 2: Neighbours("t")})
    assert (found[2].bm25, found[2].lent, found[2].covered_nearby) == (0.0, 0.0, 0.0)


def test_relevance_is_made_of_its_numbers() -> None:
    one = Scored(1, bm25=3.0, lent=1.0, covered=0.25, covered_nearby=0.5, closeness=0.5)
    settle({1: one}, {})
    assert one.relevance == pytest.approx((0.6 + 0.4 * 0.5) * 4.0 + 0.5)


@pytest.mark.parametrize(
    ("place", "length", "more"),
    [
        pytest.param(0.0, 1.0, 0.0, id="no-place"),
        pytest.param(2.0, 0.0, 0.0, id="a-short-text"),
        pytest.param(2.0, 1.0, PLACE_SHARE * 2.0 - INSTEAD * 2.0, id="a-long-one"),
        pytest.param(2.0, 0.5, (PLACE_SHARE * 2.0 - INSTEAD * 2.0) / 2, id="half-long"),
        pytest.param(0.5, 1.0, 0.0, id="less-than-it-has"),
    ],
)
def test_the_best_place_of_a_long_text_stands_in_for_a_part_of_the_whole(
    place: float, length: float, more: float
) -> None:
    one = Scored(1, bm25=2.0, covered_nearby=1.0, place=place, length=length)
    settle({1: one}, {})
    assert one.relevance == pytest.approx(2.0 + more)
    assert one.closeness == pytest.approx(more)


def test_what_a_title_says_besides_lowers_a_row_up_to_eight_words() -> None:
    rows = {number: Scored(number, bm25=2.0, covered_nearby=1.0, unasked=number) for number in (0, 5, 8, 30)}
    settle(rows, {})
    assert rows[0].relevance == pytest.approx(2.0)
    assert rows[5].relevance == pytest.approx(2.0 / 1.6)
    assert rows[30].relevance == rows[8].relevance < rows[5].relevance


def test_a_session_to_which_several_words_lead_lifts_its_rows() -> None:
    rows = {number: Scored(number, bm25=2.0, covered_nearby=1.0) for number in range(1, 6)}
    settle(rows, {1: "full", 2: "full", 3: "full", 4: "full", 5: "lonely"})
    assert rows[1].session == pytest.approx(1.0)  # half of the mean of the three best
    assert rows[5].session == pytest.approx(1 / 3)
    assert rows[1].relevance > rows[5].relevance


SCORES = st.dictionaries(st.integers(1, 12), st.floats(0, 6), max_size=8)


@given(scores=st.lists(st.tuples(SCORES, st.floats(0.01, 8), st.floats(0.1, 1)), max_size=5))
def test_no_number_is_negative_and_no_share_above_one(scores: list[tuple[dict[int, float], float, float]]) -> None:
    terms = [term(by_row, idf=weight, worth=worth) for by_row, weight, worth in scores]
    heads = sorted(own_scores(terms))
    around = {row: Neighbours("s", row - 1, row + 1, row + 2) for row in heads}
    found = lend(terms, around)
    settle(found, dict.fromkeys(found, "s"))
    for one in found.values():
        assert min(one.bm25, one.covered, one.covered_nearby, one.relevance, one.session) >= 0
        assert one.lent >= -1e-9
        assert one.covered <= one.covered_nearby + 1e-9
        assert one.covered_nearby <= 1 + 1e-9
