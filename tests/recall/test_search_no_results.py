"""When a search finds, and when it is silent and says why."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram_py import Engram
from engram_py.base.reasons import Reason, reason
from tests.recall.searching import ids, kept, silence

pytestmark = pytest.mark.usefixtures("others")

QUEUE = "The retry queue drains on restart because consumers acknowledge too early."


@pytest.mark.parametrize(
    "question",
    [
        pytest.param("How do I configure kubernetes ingress certificates?", id="every-word-unknown"),
        pytest.param("¿Cómo se cocina la tortilla española?", id="spanish"),
        pytest.param("如何做红烧肉", id="chinese"),
    ],
)
def test_a_question_about_something_else_is_met_with_silence(app: Engram, question: str) -> None:
    kept(app, QUEUE)
    assert silence(app, question).unknown


def test_beside_an_answer_what_shares_one_common_word_is_left_out(app: Engram) -> None:
    saved = kept(app, QUEUE)
    assert ids(app, "what is there to know of the retry queue that drains on restart of consumers") == [saved]


def test_an_answer_names_the_words_this_memory_never_saw_and_shows_what_has_the_others(app: Engram) -> None:
    saved = kept(app, QUEUE, topic_key="queue/retry")
    asked = "Which restart of the kubernetes ingress renews the wildcard certificates at midnight?"
    found = app.searches.search(asked)
    assert found.unknown == ("kubernetes", "ingress", "renews", "wildcard", "certificates", "midnight")
    assert [hit.id for hit in found.results] == [saved]


@pytest.mark.parametrize(
    "asked", ["why did we ditch the gyroscope?", "who asked for the gyroscope?", "gyroscope maintenance"]
)
def test_what_holds_a_telling_word_of_a_question_is_shown(app: Engram, asked: str) -> None:
    saved = kept(app, "The gyroscope is calibrated at start-up.", title="Calibration")
    assert ids(app, asked) == [saved]


def test_what_has_only_ordinary_words_stands_below_what_has_a_telling_one(app: Engram) -> None:
    ordinary = kept(app, "Change the code of the file.", title="Work")
    made = [kept(app, f"The gyroscope of drone {name}{name}.", title=f"Drone {name}") for name in "abc"]
    found = ids(app, "why did we ditch the gyroscope because of a file in kubernetes?")
    assert set(found[:3]) == set(made)
    assert ordinary not in found[:3]


_ASKED = ("rabbitmq", "invoices", "ditch", "night")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    held=st.sets(st.sampled_from(_ASKED), min_size=1),
    more=st.lists(st.tuples(st.sets(st.sampled_from(_ASKED), min_size=1), st.integers(0, 40)), min_size=1, max_size=3),
)
def test_another_memory_about_the_asked_thing_never_takes_an_answer_away(
    tmp_path_factory: pytest.TempPathFactory, held: set[str], more: list[tuple[set[str], int]]
) -> None:
    with Engram(tmp_path_factory.mktemp("memory"), directory=tmp_path_factory.mktemp("widgets")) as app:
        best: set[int] = set()
        for words, others in [(held, 3), *more]:
            best.add(kept(app, f"{' '.join(sorted(words))} {'tulips ' * others}", title="Saved"))
            found = ids(app, "why did we ditch the RabbitMQ invoices at night?")
            assert found
            assert set(found) <= best
        assert len(ids(app, "RabbitMQ invoices ditch night")) >= 1


def test_a_summary_is_named_by_its_goal(app: Engram) -> None:
    app.episodes.summarize("## Goal\nDrain the queue\n## Accomplished\nThe restart of it.", session_id="s-1")
    [near] = app.searches.search("restart kubernetes ingress").results
    assert (near.title, near.goal) == ("Session summary: widgets", "Drain the queue")


STAMPS = " ".join(f"2026-03-04T10:{minute}:{minute}.123Z 0xe3d6{minute}b9" for minute in range(10, 30))
TIMES = " ".join(f"10:{number} {number * 7}ms {number:08x}" for number in range(10, 40))


@pytest.mark.parametrize(
    "log",
    [
        pytest.param(f"{STAMPS} pool deadlock: worker restarts, no connection", id="addresses"),
        pytest.param(f"{TIMES} connection pool deadlocks worker restarts {TIMES}", id="times-before-and-behind"),
    ],
)
def test_the_addresses_and_times_of_a_pasted_log_do_not_silence_what_it_says(app: Engram, log: str) -> None:
    kept(app, "The connection pool deadlocks when the worker restarts.", title="Pool deadlock")
    for number in range(40):
        kept(app, f"Backup {number} took {number} seconds at 10:{number}.", title=f"Backup {number}")
    assert [hit.title for hit in app.searches.search(log).results][:1] == ["Pool deadlock"]


def test_a_quoted_name_in_a_long_text_does_not_silence_it(app: Engram) -> None:
    saved = kept(
        app, "The deadlock of stock rows: lock them in the order of their bins.", title="Deadlock of stock rows"
    )
    asked = 'ERROR deadlock detected while locking stock rows in relation "orders_line"'
    assert ids(app, asked) == [saved]


def test_a_pasted_log_that_quotes_a_stop_word_and_has_options_is_read_as_words(app: Engram) -> None:
    saved = kept(app, "The linker needs rpath on BSD, or the loader misses librte.", title="Linker and rpath")
    log = " ".join(f"0x{number:08x}" for number in range(30))
    assert ids(app, f'{log} cc -shared -rpath linker: the "in" keyword, loader misses librte') == [saved]


def test_two_known_words_in_two_memories_find_both(app: Engram) -> None:
    one = kept(app, "The tariff is read when the app starts.", title="Tariffs are cached")
    other = kept(app, "Expo builds what is mobile.", title="Expo")
    assert sorted(ids(app, "mobile app")) == [one, other]


def test_an_answer_names_the_words_that_nobody_knows_and_a_pasted_log_does_not(app: Engram) -> None:
    kept(app, QUEUE)
    assert app.searches.search("does the retry queue drain in darkness").unknown == ("darkness",)
    log = " ".join(f"unheard{letter}" for letter in "abcdefghijkl")
    assert app.searches.search(f"retry queue worker restart {log}").unknown == ()


def test_silence_about_unknown_words_only_says_so(app: Engram) -> None:
    kept(app, QUEUE)
    found = silence(app, "kubernetes")
    assert found.reason == reason("unknown_words")
    assert found.unknown == ("kubernetes",)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        pytest.param('"retry acknowledge"', reason("not_as_marked", quotes=True, minus=False), id="quotes"),
        pytest.param("retry -queue", reason("not_as_marked", quotes=False, minus=True), id="minus"),
        pytest.param('"retry drains" -early', reason("not_as_marked", quotes=True, minus=True), id="both"),
        pytest.param('"zebra crossing"', reason("unknown_words"), id="unknown-in-quotes"),
        pytest.param("zebra -queue", reason("unknown_words"), id="unknown-beside-a-minus"),
        pytest.param("type:note -queue", reason("nothing_passes", without_words=True), id="filters"),
    ],
)
def test_quotes_and_minus_are_blamed_only_for_words_that_are_known(app: Engram, asked: str, why: Reason) -> None:
    kept(app, QUEUE)
    found = silence(app, asked)
    assert (found.reason, found.marked) == (why, why.name != "unknown_words")


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("the", id="one"),
        pytest.param("who is it", id="english"),
        pytest.param("¿qué es lo que hay?", id="spanish"),
        pytest.param("the -queue", id="and-an-excluded-word"),
    ],
)
def test_a_query_of_stop_words_alone_finds_nothing_and_says_that_nothing_was_looked_up(app: Engram, query: str) -> None:
    kept(app, "The pool is what it is, and who is it that has it? ¿Qué es lo que hay?")

    found = silence(app, query)

    assert found.reason == reason("no_content_word")
    assert (found.unworded, found.unknown) == (True, ())


def test_quoted_stop_words_are_looked_for(app: Engram) -> None:
    saved = kept(app, "Of an alarm at night: who is it for?")
    kept(app, "It is what the pool is, and who waits for it.")
    assert ids(app, '"who is it"') == [saved]
    assert silence(app, '"who is she"').reason == reason("not_as_marked", quotes=True, minus=False)
    assert ids(app, '"who is she" for what') == []


def test_a_topic_key_of_stop_words_is_found_by_it(app: Engram) -> None:
    saved = kept(app, "The pool waits.", topic_key="how/it-is")
    assert ids(app, "how/it-is") == [saved]


def test_a_question_framed_by_its_only_word_asks_for_that(app: Engram) -> None:
    saved = kept(app, "We decided on Postgres.")
    assert ids(app, "what did we decide?") == [saved]


def test_a_dutch_question_is_held_to_what_it_asks_about_alone(app: Engram) -> None:
    saved = kept(app, "Op vrijdag na twaalf uur wordt niets uitgerold; uitrollen kan weer op maandag.")
    assert ids(app, "mag ik vrijdag uitrollen") == [saved]
    assert silence(app, "waar komt het model vandaan?").unknown == ("model",)
