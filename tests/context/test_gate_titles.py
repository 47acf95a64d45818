"""Whether a title is about what a prompt says, by the words they share."""

from __future__ import annotations

import pytest

from engram_py.context.gate.titles import match_titles, shared, words_of


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("the board browns out when the motors start", "Brown-out resets when the motors start"),
        ("gimbal fails: board resets when motors start", "Brown-out resets when the motors start"),
        ("port the SPI driver to DMA on the M4", "SPI DMA corrupts samples when the D-cache is on"),
        ("warum rauscht der Schleifring?", "Schleifring rauscht bei Kälte"),
        ("pourquoi le taux belge est à 6 % ?", "Le taux de TVA belge reste à 6 %"),
        ("remind me what Mara wants in commit messages", "Mara wants French commit bodies but English subjects"),
        ("milk meter overcounts foam", "Milk meter counts foam as milk"),
        ("are overdue fees capped?", "Overdue fees are capped at ten euros"),
        ("RFID pads pick up two shelves", "RFID pads read two shelves at once"),
    ],
)
def test_a_title_with_the_words_of_a_prompt_is_about_it(prompt: str, title: str) -> None:
    assert shared(words_of(prompt), title) > 0


_LONG = [f"word{letter}" for letter in "abcdefghijkl"]


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        pytest.param(
            "the gate closes when I park", "Sorting gate closes on a cow when the heartbeat is lost", id="few"
        ),
        pytest.param("two cups of flour and ten eggs", "Vacuum pump stalls under two cups", id="one"),
        pytest.param("how do vacuum pumps work?", "Vacuum pump stalls", id="the-world"),
        pytest.param("write a poem about a vacuum pump", "Vacuum pump stalls", id="a-text"),
        pytest.param("run the tests", "Tests run in parallel", id="everywhere"),
        pytest.param("the motors start " + " ".join(_LONG), "Motors start", id="long"),
        pytest.param("", "Motors start", id="nothing"),
    ],
)
def test_one_word_a_question_about_the_world_or_much_else_is_not_enough(prompt: str, title: str) -> None:
    assert shared(words_of(prompt), title) == 0


def test_what_else_a_memory_goes_by_counts_as_its_title() -> None:
    words = words_of("do we allow exceptions in the firmware?")
    title = "Jonas: no exceptions and no heap after init"

    assert shared(words, title) == 0
    assert shared(words, title, "preference/firmware-style", None) > 0


def test_words_are_looked_for_by_two_and_never_as_syntax() -> None:
    assert match_titles(["or", "pump"]) == '{title topic_key aliases} : (("or" AND "pump"))'
