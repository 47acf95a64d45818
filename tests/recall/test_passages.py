"""The place of a text where the words of a query stand together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.recall.score.bm25 import K1
from engram_py.recall.score.passages import REACH_CHARS, as_a_row, densest, passage
from engram_py.recall.score.proximity import LONG_CHARS, WHOLLY_LONG_CHARS, length, lens, read
from engram_py.recall.score.relevance import Term

FOUND = st.lists(st.tuples(st.integers(0, 9_000), st.integers(0, 3)), max_size=60).map(sorted)


def term(stem: str = "queue", *, idf: float = 2.0, worth: float = 1.0) -> Term:
    return Term(stem, f'"{stem}"', idf, 1, (stem,), worth=worth)


TERMS = (term("retri"), term("queue"), term("worker", idf=1.0), term("crash", idf=4.0))


def test_one_mention_scores_what_bm25_gives_one_mention() -> None:
    assert densest([(500, 0)], TERMS) == pytest.approx(2.0)


def test_without_a_mention_there_is_no_place() -> None:
    assert densest([], TERMS) == 0.0
    assert passage([], TERMS) == frozenset()


def test_words_score_more_the_nearer_they_stand_and_beyond_reach_each_for_itself() -> None:
    side_by_side, apart, beyond = (densest([(0, 0), (gap, 1)], TERMS) for gap in (0, REACH_CHARS // 2, REACH_CHARS))
    assert side_by_side == pytest.approx(4.0)
    assert side_by_side > apart > beyond == pytest.approx(2.0)


def test_a_word_repeated_in_one_place_never_scores_more_than_bm25_allows() -> None:
    once, often = densest([(0, 0)], TERMS), densest([(at, 0) for at in range(100)], TERMS)
    assert once < often < (K1 + 1) * 2.0


def test_the_same_words_far_apart_score_no_more_than_the_best_of_them() -> None:
    assert densest([(0, 0), (2_000, 1), (4_000, 3)], TERMS) == pytest.approx(4.0)


def test_a_near_spelling_scores_for_what_it_is_worth() -> None:
    assert densest([(0, 0)], [term(worth=0.5)]) == pytest.approx(1.0)


@given(found=FOUND)
def test_no_place_scores_less_than_its_rarest_word_or_more_than_all_together(found: list[tuple[int, int]]) -> None:
    seen = {number for _, number in found}
    score = densest(found, TERMS)
    assert score <= (K1 + 1) * sum(TERMS[number].idf for number in seen) + 1e-9
    assert score >= max((TERMS[number].idf for number in seen), default=0.0) - 1e-9


def plainly(found: list[tuple[int, int]]) -> float:
    """The same, by trying every place."""
    best = 0.0
    for here, _ in found:
        near = dict.fromkeys({number for _, number in found}, 0.0)
        for at, number in found:
            near[number] += max(0.0, 1 - abs(at - here) / REACH_CHARS)
        best = max(best, sum(TERMS[number].idf * count * (K1 + 1) / (count + K1) for number, count in near.items()))
    return best


@given(found=FOUND)
def test_the_best_place_is_the_best_of_all(found: list[tuple[int, int]]) -> None:
    few = found[:24]
    assert densest(few, TERMS) == pytest.approx(plainly(few))


def test_a_text_that_repeats_one_word_is_tried_at_few_places() -> None:
    looked_at = 0

    class Mentions(list[tuple[int, int]]):
        def __getitem__(self, key: Any) -> Any:
            nonlocal looked_at
            found = super().__getitem__(key)
            looked_at += len(found) if isinstance(key, slice) else 0
            return found

    assert densest(Mentions((at, 0) for at in range(0, 8_000, 2)), TERMS) > 4.0
    assert looked_at <= 24 * REACH_CHARS


@given(found=FOUND, moved=st.integers(1, 5_000))
def test_where_in_the_text_a_place_is_changes_nothing(found: list[tuple[int, int]], moved: int) -> None:
    assert densest([(at + moved, number) for at, number in found], TERMS) == pytest.approx(densest(found, TERMS))


def test_among_short_rows_a_place_counts_less_and_among_long_ones_wholly() -> None:
    assert as_a_row(2 * REACH_CHARS) == as_a_row(9_000) == 1.0
    assert 0 < as_a_row(0) < as_a_row(100) < as_a_row(300) < 1.0


def test_only_a_long_text_has_a_best_place() -> None:
    terms = (term("retri"), term("crash"))
    glass = lens(terms)
    assert glass is not None
    short, long = (read("retry, then a crash." + "y" * more, glass, terms) for more in (0, LONG_CHARS))
    assert (short.place, short.closeness) == (0.0, long.closeness)
    assert long.place > 3.0
    assert [length("y" * chars) for chars in (LONG_CHARS, 1_500, WHOLLY_LONG_CHARS, 9_000)] == [0.0, 0.5, 1.0, 1.0]


def test_what_the_title_says_does_not_choose_the_passage() -> None:
    terms = (term("deadlock", idf=5.0), term("worker"), term("queue"))
    glass = lens(terms)
    assert glass is not None
    text = "The deadlock struck. " + "x" * 700 + " The worker of the queue was blocked."
    assert read(text, glass, terms).passage == {0}
    assert read(text, glass, terms, besides={0}).passage == {1, 2}
