"""How likely a row answers, from what the words of the question tell."""

from __future__ import annotations

import pytest

from engram_py.recall.score import NONE, Scored, Term, idf, ordinary, rarity, threshold, weigh_evidence

TOTAL = 1_000


def term(text: str = "quorum", rows: int = 3, *, visible: bool = True, discount: float = 1.0) -> Term:
    return Term(text, f'"{text}"', idf(rows, TOTAL), rows, stems=(text,), visible=visible, discount=discount)


def weighed(terms: list[Term], *passages: set[int], **more: bool) -> list[Scored]:
    """The rows that hold these terms by their number, each in a session of its own."""
    rows = [Scored(number, passage=frozenset(held)) for number, held in enumerate(passages)]
    weigh_evidence(terms, rows, {row.id: f"s-{row.id}" for row in rows}, TOTAL, **more)
    return rows


def test_the_more_of_the_question_a_row_holds_the_likelier_it_answers() -> None:
    terms = [term("quorum"), term("ledger"), term("replica"), term("vacuum")]
    found = [row.evidence.probability() for row in weighed(terms, {0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3})]
    assert found == sorted(found)
    assert found[0] < threshold("shown") < threshold("sure") < found[-1]


def test_without_a_word_nothing_answers() -> None:
    assert NONE.probability() == NONE.probability("unasked") == 0.0
    [nothing] = weighed([term()], set())
    assert nothing.evidence.probability() == 0.0


def test_an_ordinary_word_tells_less_than_one_that_as_many_rows_have() -> None:
    assert ordinary()["chang"] > 0.01
    assert rarity(term("chang"), TOTAL) < rarity(term("quorum"), TOTAL) < 1


def test_a_word_that_no_row_in_sight_has_tells_as_much_as_one_that_none_has() -> None:
    assert rarity(term(rows=900, visible=False), TOTAL) == rarity(term(rows=0), TOTAL) == 1.0


def test_a_near_spelling_tells_less_than_the_word() -> None:
    [guessed] = weighed([term(discount=0.6), term("ledger")], {0})
    [exact] = weighed([term(), term("ledger")], {0})
    assert guessed.evidence.passage < exact.evidence.passage


def test_the_rows_of_a_session_speak_for_each_other() -> None:
    terms = [term("quorum"), term("ledger")]
    rows = [Scored(1, passage=frozenset({0})), Scored(2, passage=frozenset({1}))]
    weigh_evidence(terms, rows, {1: "s", 2: "s"}, TOTAL)
    [alone] = weighed(terms, {0})
    assert rows[0].evidence.session > alone.evidence.session
    assert rows[0].evidence.probability() > alone.evidence.probability()


def test_in_a_foreign_question_the_words_that_nobody_saw_say_nothing() -> None:
    terms = [term("kafka"), term("wegmachen", rows=0), term("einfach", rows=0)]
    [read] = weighed(terms, {0}, foreign=True)
    [as_english] = weighed(terms, {0})
    assert read.evidence.passage == 1.0 > as_english.evidence.passage


@pytest.mark.parametrize("part", ["title", "named"])
def test_a_title_that_was_asked_speaks_for_its_row_unasked(part: str) -> None:
    terms = [term("quorum"), term("ledger"), term("replica")]
    plain, titled = Scored(1, passage=frozenset({0, 1})), Scored(2, passage=frozenset({0, 1}))
    titled.titled, titled.named = (frozenset({0, 1}), 0.0) if part == "title" else (frozenset(), 1.0)
    weigh_evidence(terms, [plain, titled], {}, TOTAL, asks=False)
    assert titled.evidence.probability("unasked") > plain.evidence.probability("unasked")


def test_who_asks_is_likelier_to_need_what_is_found_than_who_orders() -> None:
    terms = [term("quorum"), term("ledger")]
    [asked], [ordered] = weighed(terms, {0, 1}, asks=True), weighed(terms, {0, 1}, asks=False)
    assert asked.evidence.probability("unasked") > ordered.evidence.probability("unasked")
