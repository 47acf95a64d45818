"""What one writes in one word and another in two is found."""

from __future__ import annotations

import pytest

from engram_py import Engram
from tests.recall.searching import fill, ids, kept


@pytest.mark.parametrize(
    ("text", "query"),
    [
        pytest.param("The time zone of the billing run is UTC.", "which timezone", id="in-two"),
        pytest.param("The time zones of the billing run differ.", "timezone", id="in-two-with-an-ending"),
        pytest.param("The hardfault handler of the board resets it.", "hard fault", id="in-one"),
        pytest.param("The hardfault handler of the board resets it.", "what does a hard fault do", id="in-a-question"),
        pytest.param("Der Zeitzonenwechsel stört die Abrechnung.", "zeitzonen wechsel", id="in-another-language"),
    ],
)
def test_a_word_is_found_as_another_writes_it(app: Engram, text: str, query: str) -> None:
    fill(app)
    wanted = kept(app, text)
    assert ids(app, query)[:1] == [wanted]


def test_both_halves_are_known_from_elsewhere(app: Engram) -> None:
    fill(app)
    kept(app, "It was a hard week for the whole crew.")
    kept(app, "The fault lies with the supplier of the cables.")
    wanted = kept(app, "A hardfault of the sensor board is logged with its registers.")
    assert wanted in ids(app, "hard fault registers")


def test_halves_that_stand_apart_are_not_the_word(app: Engram) -> None:
    fill(app)
    kept(app, "The car of the vet is a pet to him.")
    assert ids(app, "carpet") == []


def test_what_was_read_is_told(app: Engram) -> None:
    fill(app)
    kept(app, "The time zone of the billing run is UTC.")
    kept(app, "A hardfault of the board.")
    for query, said in (("timezone", "timezone as time zone"), ("hard fault", "hardfault in one word")):
        found = app.searches.search(query, explain=True)
        assert found.explain is not None
        assert any(said in rung.why for rung in found.explain.rungs)


def test_a_word_that_is_known_is_not_cut(app: Engram) -> None:
    fill(app)
    one = kept(app, "The carpet of the hall is red.")
    kept(app, "The car pet of the vet.")
    assert ids(app, "carpet") == [one]


@pytest.mark.parametrize("query", ["futter", "futterau", "fütterung", "wartung", "mattilsy", "mattil"])
def test_a_long_word_is_found_by_how_it_begins(app: Engram, query: str) -> None:
    fill(app)
    wanted = kept(
        app,
        "Fütterungsmengen kommen aus der Tabelle, das Wartungsfenster von Mattilsynet.",
        title="Futterautomaten dienstags nicht ansprechen",
    )
    assert ids(app, query) == [wanted]
