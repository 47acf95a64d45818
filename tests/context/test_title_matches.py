"""Prompts in which no cue is heard, and whose words are those of a title."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.context import table
from tests.context.prompting import given, nothing

TITLES = [
    ("Vacuum pump stalls under two cups", "The inverter trips at 12 A.", "bugfix"),
    ("Collar transponders sleep after 90 seconds", "Wake them with a burst of 134 kHz.", "gotcha"),
    ("Sorting gate closes on a cow when the heartbeat is lost", "Fail open.", "decision"),
    ("Wash cycle must not start with a full jar", "Acid in the tank.", "gotcha"),
    ("LNA bias drifts after the dewar warms", "Recalibrate above 25 K.", "discovery"),
    ("Kryostat verliert Helium am Ventil drei", "Dichtung im März getauscht.", "discovery"),
    ("La antena norte pierde el enganche con viento", "Más de 60 km/h.", "discovery"),
    ("Bootloader of the collar reader speaks XMODEM", "Hold the button.", "gotcha"),
]
ASKED = [
    ("vacuum pump stalls when two cups are attached", 0),
    ("the vacuum pump cuts out when the second cup goes on", 0),
    ("collar transponders vanish when the cow lies still", 1),
    ("sorting gate locks up after a lost heartbeat", 2),
    ("do we allow the wash cycle with a full jar?", 3),
    ("measure the LNA bias with a warm dewar", 4),
    ("warum verliert der Kryostat Helium?", 5),
    ("¿por qué la antena norte pierde el enganche?", 6),
    ("flash the collar reader over XMODEM", 7),
]
NOTHING = [
    "write a poem about a vacuum pump",
    "how do vacuum pumps work?",
    "is it ok to use a for loop here?",
    "the gate closes when I park the car",
    "a laptop restarts when I close the lid",
    "warum ist der Himmel blau?",
    "run the tests",
]


@pytest.fixture
def ids(app: Engram) -> list[int]:
    return [app.save(Draft(*one)).id for one in TITLES]


@pytest.mark.parametrize(("prompt", "place"), ASKED)
def test_what_has_the_words_of_a_prompt_in_its_title_is_given(
    app: Engram, ids: list[int], prompt: str, place: int
) -> None:
    assert given(app, prompt) == [ids[place]]
    assert not nothing(app, prompt)


@pytest.mark.parametrize("prompt", NOTHING)
def test_prompts_that_share_a_word_with_a_title_get_nothing(app: Engram, ids: list[int], prompt: str) -> None:
    assert given(app, prompt) == []
    assert nothing(app, prompt)


def test_a_title_of_another_project_or_of_what_was_deleted_is_not_given(app: Engram, ids: list[int]) -> None:
    app.observations.delete(ids[0])
    app.save(Draft("Vacuum pump stalls", "Elsewhere.", "bugfix"), project="gadgets")

    assert given(app, "vacuum pump stalls when two cups are attached") == []


def test_a_title_of_a_small_project_is_found_among_many_like_it_of_others(
    app: Engram, ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        app.save(Draft(f"Vacuum pump {number} stalls under two cups", "The inverter trips."), project="elsewhere")
    monkeypatch.setattr(table, "_NAMED_POOL", 3)
    assert given(app, ASKED[0][0])[:1] == [ids[0]]
