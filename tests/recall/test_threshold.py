"""When what was found is an answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engram_py.recall.score.bm25 import idf
from engram_py.recall.score.relevance import Scored, Term
from engram_py.recall.score.threshold import ELSEWHERE, FLOOR, Verdict, judge, weights

TOTAL = 1000


def term(rows: int = 1, *, in_sight: bool = True, worth: float = 1.0, text: str = "word") -> Term:
    return Term(text, f'"{text}"', idf(rows, TOTAL), rows, in_sight=in_sight, worth=worth)


def row(number: int, *passage: int) -> Scored:
    return Scored(number, passage=frozenset(passage))


def test_a_passage_with_every_word_covers_all_of_the_question() -> None:
    verdict = judge([term(), term(5)], [row(1, 0, 1)], {1: "s"}, TOTAL)
    assert verdict.coverage == 1.0
    assert verdict.answers(1.0)


def test_nothing_found_covers_nothing() -> None:
    assert judge([term()], [], {}, TOTAL) == judge([], [row(1)], {}, TOTAL) == Verdict(0.0, 0.0)
    assert not Verdict(0.0, 0.0).answers(FLOOR)


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    words = [term(1), term(900)]
    rare = judge(words, [row(1, 0)], {1: "s"}, TOTAL).coverage
    common = judge(words, [row(1, 1)], {1: "s"}, TOTAL).coverage
    assert rare > 0.5 > common


def test_a_word_nobody_here_ever_saw_weighs_the_most() -> None:
    assert judge([term(0), term(900)], [row(1, 1)], {1: "s"}, TOTAL).coverage < FLOOR


def test_a_word_that_only_other_projects_know_weighs_more_than_one_nobody_knows() -> None:
    here, elsewhere, nowhere = weights([term(), term(900, in_sight=False), term(0)], TOTAL)
    assert elsewhere == ELSEWHERE * nowhere > nowhere > here


def test_of_two_words_the_one_that_others_know_weighs_no_more_than_an_unknown_one() -> None:
    words = [term(1), term(3, in_sight=False)]
    assert weights(words, TOTAL)[1] == weights([term(0)], TOTAL)[0]
    assert judge(words, [row(1, 0)], {1: "s"}, TOTAL).answers(FLOOR)


def test_what_a_near_spelling_stands_for_elsewhere_weighs_nothing_more() -> None:
    near = term(900, in_sight=False)
    near.stands_for = ("other",)
    assert weights([near], TOTAL) == weights([term(0)], TOTAL)


def test_a_verdict_says_how_much_of_the_question_is_elsewhere() -> None:
    words = [term(0), term(3, in_sight=False), term()]
    assert judge(words, [row(1, 2)], {}, TOTAL).elsewhere == pytest.approx(ELSEWHERE / (ELSEWHERE + 2), abs=0.05)
    assert judge([term(), term(0)], [row(1, 0)], {}, TOTAL).elsewhere == 0.0


def test_what_something_else_may_hide_counts_as_never_seen() -> None:
    assert weights([term(900, in_sight=False)], TOTAL, hidden=True) == weights([term(0)], TOTAL)


def test_where_other_projects_are_known_a_question_without_their_words_needs_less_of_the_floor() -> None:
    alone = Verdict(FLOOR * 0.95, 0.0, words=1)
    assert (alone.answers(FLOOR), replace(alone, others=True).answers(FLOOR)) == (False, True)
    assert not Verdict(FLOOR * 0.85, 0.0, words=1, others=True).answers(FLOOR)


def test_rows_of_one_session_cover_together_half_of_the_way() -> None:
    words = [term(), term()]
    apart = judge(words, [row(1, 0), row(2, 1)], {1: "s", 2: "t"}, TOTAL)
    together = judge(words, [row(1, 0), row(2, 1)], {1: "s", 2: "s"}, TOTAL)
    assert (apart.coverage, together.coverage) == (0.5, 0.75)


def test_a_session_of_many_things_does_not_answer_what_none_of_them_answers() -> None:
    words = [term() for _ in range(6)]
    rows = [row(number, number) for number in range(6)]
    assert not judge(words, rows, dict.fromkeys(range(6), "s"), TOTAL).answers(FLOOR)


def test_words_whose_endings_the_index_does_not_cut_need_less_of_the_floor() -> None:
    english = judge([term(), term(), term()], [row(1, 0)], {}, TOTAL)
    greek = judge([term(text=word) for word in ("νερό", "ποτάμι", "λίμνη")], [row(1, 0)], {}, TOTAL)
    russian = judge([term(text=word) for word in ("вода", "река", "озеро")], [row(1, 0)], {}, TOTAL)
    assert (english.answers(FLOOR), greek.answers(FLOOR)) == (False, True)
    assert not russian.answers(FLOOR)  # looked up by its beginning


def test_only_the_first_ten_are_judged() -> None:
    rows = [row(number) for number in range(1, 11)] + [row(11, 0)]
    assert judge([term()], rows, {}, TOTAL).coverage == 0.0


def test_a_near_spelling_covers_less_than_the_word() -> None:
    assert judge([term(worth=0.6)], [row(1, 0)], {1: "s"}, TOTAL).coverage == 0.6


def test_a_long_question_is_answered_by_enough_rare_words_though_it_covers_little_of_it() -> None:
    words = [term() for _ in range(20)]
    few = judge(words, [row(1, 0)], {1: "s"}, TOTAL)
    many = judge(words, [row(1, *range(4))], {1: "s"}, TOTAL)
    assert many.coverage < FLOOR
    assert (few.answers(FLOOR), many.answers(FLOOR)) == (False, True)


def test_a_floor_of_nothing_lets_everything_through() -> None:
    assert Verdict(0.0, 0.0).answers(0.0)
