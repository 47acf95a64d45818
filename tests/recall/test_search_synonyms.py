"""Words with two names, through a search: short and long, and what is said either way."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.recall.query.parse import parse_query
from tests.recall.searching import fill, ids, kept


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("authentication", "The auth module signs cookies."),
        ("auth", "Authentication signs cookies."),
        ("deleted folders", "It removes the folder."),
        ("pictures of the kids", "A photo of two children."),
        ("int to str", "From an integer to a string."),
        ("intermittent segfault", "A flaky crash of the resolver."),
        ("yearly price", "The annual plan costs 24.99."),
        ("logins", "A page for signin."),
        ("gyroscope", "The gyro is calibrated at start-up for 3 seconds."),
        ("barometers", "The baro drifts."),
    ],
)
def test_a_word_is_found_by_its_other_name(app: Engram, question: str, text: str) -> None:
    fill(app)
    saved = kept(app, text)
    assert ids(app, question) == [saved]


@pytest.mark.parametrize(("question", "text"), [("playstation", "They play."), ("formation", "The form is sent.")])
def test_a_word_is_not_read_as_a_short_one_that_it_begins_with(app: Engram, question: str, text: str) -> None:
    fill(app)
    kept(app, text)
    assert ids(app, question) == []


def test_a_word_that_is_known_is_never_taken_for_another(app: Engram) -> None:
    fill(app)
    saved = kept(app, "An exception is what to raise here.")
    for number in range(9):
        kept(app, f"Increase and enlarge the heap {number}.")
    assert ids(app, "raise") == [saved]


def test_a_short_word_of_several_things_has_no_other_name() -> None:
    assert [word.forms for word in parse_query("res sub org").words] == [(), (), ()]


def test_a_title_that_says_more_than_was_asked_comes_after_one_that_says_just_that(app: Engram) -> None:
    fill(app)
    plain = kept(app, "The code is long, and it was long for as many years as we know of.", title="Retry queue")
    other = kept(app, "The code is long.", title="Retry queue metrics dashboard panel colours")
    assert ids(app, "retry queue") == [plain, other]
