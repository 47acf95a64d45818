"""The place of a text where the words of a query stand together."""

from __future__ import annotations

from engram_py.recall.score.proximity import lens, passage, read
from engram_py.recall.score.relevance import Term


def term(stem: str, *, idf: float = 2.0) -> Term:
    return Term(stem, f'"{stem}"', idf, 1, (stem,))


def test_without_a_mention_there_is_no_passage() -> None:
    assert passage([], [term("queue")]) == frozenset()


def test_what_the_title_says_does_not_choose_the_passage() -> None:
    terms = (term("deadlock", idf=5.0), term("worker"), term("queue"))
    glass = lens(terms)
    assert glass is not None
    text = "The deadlock struck. " + "x" * 700 + " The worker of the queue was blocked."
    assert read(text, glass, terms).passage == {0}
    assert read(text, glass, terms, besides={0}).passage == {1, 2}
