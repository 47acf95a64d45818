"""Which words of a question say nothing about what it asks."""

from __future__ import annotations

import pytest

from engram_py.text.words import STOP_WORDS, is_foreign, stop_words_of


def telling(question: str) -> list[str]:
    words = question.split()
    nothing = stop_words_of(words)
    return [word for word in words if word.lower() not in nothing]


@pytest.mark.parametrize(
    ("question", "left"),
    [
        pytest.param("mag ik vrijdag uitrollen", ["vrijdag", "uitrollen"], id="dutch-order"),
        pytest.param("hoeveel geheugen heeft de pod nodig", ["geheugen", "pod"], id="dutch-amount"),
        pytest.param("Wat is de limiet van de api", ["limiet", "api"], id="dutch-what"),
        pytest.param("waar komt het model vandaan", ["model"], id="dutch-where"),
        pytest.param("was haben wir am Montag entschieden", ["Montag", "entschieden"], id="german-with-english-words"),
        pytest.param("hur gör vi en release", ["release"], id="swedish"),
        pytest.param("quando dobbiamo fare queste copie", ["fare", "copie"], id="italian"),
        pytest.param("onde estão nossas chaves", ["chaves"], id="portuguese"),
    ],
)
def test_the_small_words_of_a_foreign_question_say_nothing(question: str, left: list[str]) -> None:
    assert telling(question) == left
    assert is_foreign(question.split())


@pytest.mark.parametrize("question", ["convert wat to wasm", "vi mode", "van met op", "the kan board of our door"])
def test_what_is_english_or_a_programs_name_too_is_a_word_of_its_own(question: str) -> None:
    assert not is_foreign(question.split())
    assert {"wat", "vi", "van", "met", "op", "kan", "door"}.isdisjoint(STOP_WORDS)
    assert set(telling(question)) >= set(question.split()) & {"wat", "vi", "mode", "van", "met", "op", "kan", "door"}
