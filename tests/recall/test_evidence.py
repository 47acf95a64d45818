"""The evidence that a prompt needs a row."""

from __future__ import annotations

import pytest

from engram_py.recall.evidence import Evidence, rarity, threshold, weighed
from engram_py.recall.score import Scored, Term, idf, ordinary

TOTAL = 1_000


def rare_term(text: str = "quorum", rows: int = 3, *, visible: bool = True, discount: float = 1.0) -> Term:
    return Term(text, f'"{text}"', idf(rows, TOTAL), rows, stems=(text,), visible=visible, discount=discount)


def evidence(terms: list[Term], *passages: set[int], **more: bool) -> list[Evidence]:
    """The evidence of rows that hold these terms by their number, each once."""
    rows = [
        Scored(number, relevance=sum(terms[one].weight for one in held), held=frozenset(held))
        for number, held in enumerate(passages)
    ]
    return list(weighed(terms, rows, TOTAL, **more).values())


def test_the_more_of_a_question_a_row_holds_and_where_somebody_asks_the_likelier_it_answers() -> None:
    terms = [rare_term("quorum"), rare_term("ledger"), rare_term("replica"), rare_term("vacuum")]
    found = [row.probability for row in evidence(terms, {0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3})]
    assert found == sorted(found)
    assert found[0] < threshold("pointed") < found[-1]
    terms = [rare_term("quorum"), rare_term("ledger")]
    [asked], [ordered] = evidence(terms, {0, 1}, asks=True), evidence(terms, {0, 1}, asks=False)
    assert asked.probability > ordered.probability


def test_a_word_tells_by_its_rarity_less_where_it_is_ordinary_or_spelt_otherwise_and_none_nothing() -> None:
    assert ordinary()["chang"] > 0.01
    assert rarity(rare_term("chang"), TOTAL) < rarity(rare_term("quorum"), TOTAL) < 1
    assert rarity(rare_term(rows=900, visible=False), TOTAL) == rarity(rare_term(rows=0), TOTAL) == 1.0
    [guessed] = evidence([rare_term(discount=0.6), rare_term("ledger")], {0})
    [exact] = evidence([rare_term(), rare_term("ledger")], {0})
    assert guessed.share < exact.share
    assert Evidence().probability == 0.0
    [nothing] = evidence([rare_term()], set())
    assert nothing.probability == 0.0


def test_in_a_foreign_question_the_words_that_nobody_saw_say_nothing() -> None:
    terms = [rare_term("kafka"), rare_term("wegmachen", rows=0), rare_term("einfach", rows=0)]
    [read] = evidence(terms, {0}, foreign=True)
    [as_english] = evidence(terms, {0})
    assert read.share == 1.0 > as_english.share


@pytest.mark.parametrize("part", ["title", "named"])
def test_a_title_that_was_asked_speaks_for_its_row_unasked(part: str) -> None:
    terms = [rare_term("quorum"), rare_term("ledger"), rare_term("replica")]
    plain, titled = Scored(1, held=frozenset({0, 1})), Scored(2, held=frozenset({0, 1}))
    titled.titled, titled.named = (frozenset({0, 1}), 0.0) if part == "title" else (frozenset(), 1.0)
    found = weighed(terms, [plain, titled], TOTAL, asks=False)
    assert found[2].probability > found[1].probability
