"""Words with two names, through a search: short and long, and what is said either way."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.recall import plan as planner
from engram_py.recall.index.mentions import totals
from engram_py.recall.query.parse import parse_query
from engram_py.recall.score.bm25 import K1
from engram_py.recall.word_scores import look_up
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


def test_names_together_tell_no_more_than_one_word(app: Engram) -> None:
    fill(app)
    both = kept(app, "An int, an integer.", title="Int integer")
    store = app.store
    terms = planner.weigh(store, parse_query("integer").words, size=10)
    look_up(store, parse_query("integer"), terms, totals(store), best=9)
    assert 0 < terms[0].scores[both] <= (K1 + 1) * terms[0].idf


def test_a_rare_word_is_looked_up_even_where_its_other_name_is_everywhere(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        kept(app, f"Error {number}.")
    rare = kept(app, "An exception.")
    monkeypatch.setattr(planner, "ROW_BUDGET", 3)
    question = parse_query("exception")
    (term,) = planner.weigh(app.store, question.words, size=7)
    look_up(app.store, question, [term], totals(app.store), best=9)
    assert list(term.scores) == [rare]
    assert term.partly
    assert term.rows == 1


@pytest.mark.parametrize(
    ("query", "expected"),
    [("#1 #3", [1, 3]), ("[#3] [#1]", [3, 1]), (" [#3],#1; #3\n", [3, 1]), ("[#2]", [2]), ("#1 #99", [1])],
)
def test_several_handles_open_what_they_name_in_that_order(app: Engram, query: str, expected: list[int]) -> None:
    for number in (1, 2, 3):
        kept(app, f"The orders worker number {number} drains queue {number}.", title=f"Note {number}")
    found = app.searches.search(query)

    assert [hit.id for hit in found.results] == expected
    assert found.warnings == (("there is no memory #99, or it was deleted",) if "#99" in query else ())


def test_handles_of_nothing_are_said_and_their_numbers_searched(app: Engram) -> None:
    kept(app, "Pull request 812 closed issue 811.", title="Release")
    found = app.searches.search("#811 #812")

    assert ([hit.id for hit in found.results], found.rung) == ([1], "all words")
    assert found.warnings == ("there is no memory #811, #812, or they were deleted",)


@pytest.mark.parametrize("asked", ["#811 #812", "#811 #812 type:policy"])
def test_ids_of_nothing_are_neither_unknown_words_nor_filtered_away(app: Engram, asked: str) -> None:
    kept(app, "The 13th thing.")
    kept(app, "Elsewhere.", project="gizmos")
    found = app.searches.search(asked)

    assert found.warnings == ()
    assert found.silence is not None
    assert found.silence.reason == "there is no memory #811, #812, or they were deleted"
    assert (found.silence.numbered, found.silence.unknown, found.silence.filters) == (True, (), ())


def test_more_handles_than_an_answer_holds_are_cut_and_it_says_so(app: Engram) -> None:
    for number in range(4):
        kept(app, f"The {number}th thing.", title=f"Note {number}")
    found = app.searches.search("#1 #2 #3 #4", limit=2)

    assert [hit.id for hit in found.results] == [1, 2]
    assert found.warnings == ("4 memories were named; the first 2 were looked up",)


def test_handles_do_not_open_what_was_deleted(app: Engram) -> None:
    one, two = kept(app, "Kept."), kept(app, "The secret plan.")
    app.observations.delete(two)
    found = app.searches.search(f"[#{one}] [#{two}]")

    assert [hit.id for hit in found.results] == [one]
    assert found.warnings == (f"there is no memory #{two}, or it was deleted",)
    app.observations.delete(one)
    assert ids(app, f"[#{one}] [#{two}]") == []


@pytest.mark.parametrize("query", ["#1", "#1 type:bugfix", "[#1] [#2]", "[#1], [#2] type:bugfix"])
def test_a_type_beside_ids_is_not_asked_and_the_answer_says_so(app: Engram, query: str) -> None:
    expected = [kept(app, f"The plan number {number}.", type="decision") for number in (1, 2)]
    found = app.searches.search(query, type=None if "type:" in query else "bugfix")

    assert [hit.id for hit in found.results] == expected[: query.count("#")]
    assert found.warnings == ("not asked of what an id names: type:bugfix",)


def test_an_id_beside_an_exclusion_is_a_word(app: Engram) -> None:
    kept(app, "The plan.", title="Issue 1")
    kept(app, "The plan, and the other plan.", title="Issue 1 again")
    found = app.searches.search("#1 -other")
    assert ([hit.id for hit in found.results], found.warnings) == ([1], ("left out: what has other",))
