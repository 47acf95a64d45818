"""What is learned from searches whose hit was opened, and what is not."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.recall import search_log as rules
from engram_py.settings import Settings
from tests.memory import FakeClock, draft

QUESTION = "How long do access tokens live?"


def saved(app: Engram, number: int = 1, **fields: str) -> list[int]:
    """The ids of so many observations."""
    return [app.save(draft(f"Text {i}.", title=f"Title {i}", **fields)).id for i in range(number)]


def searched(app: Engram, ids: Sequence[int], question: str = QUESTION) -> None:
    app.search_log.searched(question, projects=("widgets",), ids=ids)


def learn(app: Engram, one: int, question: str = QUESTION) -> None:
    """Ask, and open the hit."""
    searched(app, [one], question)
    app.get(one)


def learned(app: Engram) -> dict[str, list[int | None]]:
    """Each question with the ids that answer it."""
    return {one.question: [answer.id for answer in one.answers] for one in app.evaluations.questions()}


def test_opening_hits_is_learned(app: Engram) -> None:
    first, second, third, unseen = saved(app, 4)
    searched(app, [first, second, third])
    for one in (first, third, unseen):
        app.get(one)

    [question] = app.evaluations.questions()
    assert (question.question, question.project, question.origin, question.times) == (QUESTION, "widgets", "learned", 2)
    assert [answer.id for answer in question.answers] == [first, third]


def test_searching_alone_is_not_learned_and_a_server_leaves_nothing_in_the_file(app: Engram) -> None:
    searched(app, saved(app))
    assert learned(app) == {}
    assert app.store.value("select count(*) from search_trail") == 0


def test_a_hit_counts_once_however_often_it_is_read_again(app: Engram) -> None:
    [one] = saved(app)
    searched(app, [one])
    for _ in range(3):
        app.get(one)
    assert [question.times for question in app.evaluations.questions()] == [1]


def test_the_same_question_asked_again_is_counted(app: Engram) -> None:
    [one] = saved(app)
    for text in (QUESTION, QUESTION.upper(), f"  {QUESTION.replace(' ', '   ')}\n"):
        learn(app, one, text)
    [question] = app.evaluations.questions()
    assert (question.question, question.times) == (QUESTION, 3)


@pytest.mark.parametrize(("minutes", "kept"), [(10, True), (10.1, False), (-10, True), (-11, False)])
def test_a_hit_opened_within_ten_minutes_counts_even_when_the_clock_was_set_back(
    app: Engram, clock: FakeClock, minutes: float, kept: bool
) -> None:
    [one] = saved(app)
    searched(app, [one])
    clock.advance(minutes=minutes)
    app.get(one)
    assert bool(learned(app)) == kept


def test_of_two_searches_that_showed_it_the_later_led_there(app: Engram) -> None:
    [one] = saved(app)
    searched(app, [one], "token")
    learn(app, one, "how long does a token live")
    assert list(learned(app)) == ["how long does a token live"]


def test_what_a_silent_search_named_answers_that_search_and_no_older_one(app: Engram) -> None:
    one = app.save(draft("The retry queue drains on restart.", title="Consumers acknowledge too early")).id
    searched(app, [one], "which queue is it")
    asked = "Which restart of the kubernetes ingress renews the wildcard certificates at midnight?"
    silence = app.search(asked).silence
    assert silence is not None
    assert [near.id for near in silence.nearest] == [one]
    app.get(one)
    assert learned(app) == {asked: [one]}


@pytest.mark.parametrize(
    ("query", "type"),
    [
        pytest.param("retry queue", "decision", id="argument"),
        pytest.param("retry queue type:decision", None, id="filter"),
        pytest.param("type:decision", None, id="only-a-filter"),
        pytest.param("#1", None, id="number"),
        pytest.param("retry queue " + "drains " * 100, None, id="a-pasted-log"),
    ],
)
@pytest.mark.parametrize("durable", [False, True])
def test_what_is_opened_after_a_search_that_teaches_nothing_is_no_answer_to_an_older_one(
    data_dir: Path, folder: Path, clock: FakeClock, durable: bool, query: str, type: str | None
) -> None:
    with Engram(settings=Settings(data_dir, clock=clock), directory=folder, agent="cli" if durable else "mcp") as app:
        one = app.save(draft("The retry queue drains on restart.", type="decision")).id
        searched(app, [one], "an older question")
        assert [hit.id for hit in app.search(query, type=type).results] == [one] == [1]
        app.get(one)
        assert learned(app) == {}


@pytest.mark.parametrize(
    ("query", "topic"),
    [
        pytest.param("#{id}", "auth/tokens", id="number"),
        pytest.param("[#{id}]", "auth/tokens", id="handle"),
        pytest.param("[#{id}] [#2]", "auth/tokens", id="handles"),
        pytest.param("tokens", "auth/tokens", id="one-word"),
        pytest.param("TTL", "ttl", id="topic-of-one-word"),
        pytest.param("auth/tokens", "auth/tokens", id="topic"),
        pytest.param("Auth//Tokens ", "auth/tokens", id="topic-spelt-otherwise"),
        pytest.param("decision/ttl", "auth/tokens", id="another-topic"),
        pytest.param("?!", "auth/tokens", id="punctuation"),
        pytest.param("nul\0byte", "auth/tokens", id="nul"),
        pytest.param("half \ud800 a pair", "auth/tokens", id="surrogate"),
        pytest.param("why " * 200, "auth/tokens", id="a-pasted-log"),
        pytest.param("x" * 1_000_000, "auth/tokens", id="a-megabyte"),
        pytest.param("is password=hunter2! right", "auth/tokens", id="password"),
        pytest.param("who uses ghp_" + "a1B2" * 9, "auth/tokens", id="token"),
        pytest.param("what <private>she said</private>", "auth/tokens", id="private"),
    ],
)
def test_what_is_no_question_or_holds_a_secret_is_not_learned(app: Engram, query: str, topic: str) -> None:
    [one] = saved(app, topic_key=topic)
    learn(app, one, query.format(id=one) if "{id}" in query else query)
    assert learned(app) == {}


@pytest.mark.parametrize(
    "query", ["e-mail / password reset", "مدة صلاحية الرمز\u200f", "می‌خواهم رمز", "令牌有效期", "🔑 ttl of it"]
)
def test_a_question_in_any_script_is_learned(app: Engram, query: str) -> None:
    [one] = saved(app)
    learn(app, one, query)
    assert learned(app) == {query: [one]}


@pytest.mark.parametrize(("projects", "learned_for"), [(None, None), (("widgets", "gizmos"), "gizmos")])
def test_a_search_of_all_projects_is_learned_as_one_and_of_several_for_that_of_the_hit(
    app: Engram, projects: tuple[str, ...] | None, learned_for: str | None
) -> None:
    one = app.save(draft("Text."), project="gizmos").id
    app.search_log.searched(QUESTION, projects=projects, ids=[one])
    app.get(one)
    assert [question.project for question in app.evaluations.questions()] == [learned_for]


def test_a_question_of_the_user_is_left_as_it_is(app: Engram) -> None:
    first, second = saved(app, 2)
    app.evaluations.add(QUESTION, [first])
    searched(app, [second])
    app.get(second)
    [question] = app.evaluations.questions()
    assert (question.origin, question.times, [answer.id for answer in question.answers]) == ("user", 1, [first])


def test_only_the_last_searches_are_remembered(app: Engram) -> None:
    [one] = saved(app)
    searched(app, [one])
    for number in range(rules.REMEMBERED):
        searched(app, [one + 1], f"another {number}")
    app.get(one)
    assert learned(app) == {}


@pytest.mark.parametrize("durable", [False, True])
def test_only_a_hit_among_the_first_five_is_learned_also_after_others_were_opened(
    data_dir: Path, folder: Path, durable: bool
) -> None:
    with Engram(settings=Settings(data_dir), directory=folder, agent="cli" if durable else "mcp") as app:
        hits = saved(app, 7)
        searched(app, [hits[5]], "an older question")
        searched(app, hits)
        for one in (hits[0], hits[1], hits[5], hits[6], hits[4]):
            app.get(one)
        assert learned(app) == {QUESTION: [hits[0], hits[1], hits[4]]}


def test_a_search_that_is_not_recorded_leaves_no_trail(app: Engram) -> None:
    [one] = saved(app)
    assert app.searches.search("What is in text 0?", recorded=False).results
    app.get(one)
    assert learned(app) == {}


def test_the_rare_and_old_go_first_when_there_are_too_many(
    app: Engram, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "LEARNED_MOST", 2)
    [one] = saved(app)

    for question in ("how often", "how often", "how often", "how once"):
        learn(app, one, question)
    clock.advance(days=1)
    learn(app, one, "how today")
    assert set(learned(app)) == {"how often", "how today"}
    clock.advance(days=60)
    learn(app, one, "how later")
    assert set(learned(app)) == {"how often", "how later"}
    clock.advance(days=1)
    learn(app, one, "how last")
    assert set(learned(app)) == {"how later", "how last"}  # three times two months ago is less than once yesterday


def test_a_question_keeps_a_bounded_number_of_answers(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "ANSWERS_MOST", 2)
    ids = saved(app, 3)
    app.evaluations.add("mine", ids)
    for one in (ids[0], ids[0], ids[1], ids[1], ids[2]):
        searched(app, ids)
        app.get(one)
    assert learned(app) == {"mine": ids, QUESTION: ids[:2]}


def test_with_the_switch_off_nothing_is_learned(data_dir: Path, folder: Path) -> None:
    with Engram(settings=Settings(data_dir, learn=False), directory=folder, agent="cli") as app:
        [one] = saved(app)
        learn(app, one)
        assert learned(app) == {}
        assert app.store.value("select count(*) from search_trail") == 0


def test_forgetting_takes_what_was_learned_and_leaves_what_was_written(app: Engram) -> None:
    [one] = saved(app)
    learn(app, one)
    app.evaluations.add("mine", [one])

    assert app.evaluations.forget_learned().count == 1
    assert list(learned(app)) == ["mine"]


# --- commands: one process each -----------------------------------------------------------------------------


@pytest.fixture
def command(data_dir: Path, folder: Path, clock: FakeClock) -> Callable[[], Engram]:
    return lambda: Engram(settings=Settings(data_dir, clock=clock), directory=folder, agent="cli")


def test_a_search_of_one_process_and_a_get_of_another_are_learned(command: Callable[[], Engram]) -> None:
    with command() as app:
        first, second = saved(app, 2)
        searched(app, [first, second])
    for one in (first, second, first):
        with command() as app:
            app.get(one)
    with command() as app:
        assert learned(app) == {QUESTION: [first, second]}
        assert [question.times for question in app.evaluations.questions()] == [2]


def test_the_trail_in_the_file_is_short(command: Callable[[], Engram]) -> None:
    with command() as app:
        [one] = saved(app)
        for number in range(rules.REMEMBERED + 5):
            searched(app, [one], f"question {number}")
        kept = [row[0] for row in app.store.rows("select question from search_trail order by id")]
    assert kept == [f"question {number}" for number in range(5, rules.REMEMBERED + 5)]


@pytest.mark.parametrize("query", ["is password=hunter2! right", "who uses ghp_" + "a1B2" * 9, "half \ud800", "nul \0"])
def test_a_query_that_may_hold_a_secret_never_reaches_the_file(command: Callable[[], Engram], query: str) -> None:
    with command() as app:
        searched(app, saved(app), query)
        assert [row[0] for row in app.store.rows("select question from search_trail")] == [""]


def test_while_another_process_writes_nothing_is_learned_and_nobody_waits(command: Callable[[], Engram]) -> None:
    with command() as app, closing(sqlite3.connect(app.store.path)) as other:
        [one] = saved(app)
        timeout = app.store.value("pragma busy_timeout")
        searched(app, [one])
        other.execute("begin immediate")
        searched(app, [one], "another question")  # would raise, or wait for 30 s
        assert app.get(one).observation.id == one
        other.rollback()

        assert learned(app) == {}
        assert app.store.value("select count(*) from search_trail") == 1
        assert (app.store.value("pragma busy_timeout"), app.store.lock_timeout) == (timeout, 30.0)


def test_learning_inside_of_a_transaction_that_fails_fails_with_it(app: Engram) -> None:
    [one] = saved(app)
    searched(app, [one])
    with contextlib.suppress(RuntimeError), app.store.transaction():
        app.get(one)
        raise RuntimeError
    assert learned(app) == {}


def test_a_trail_that_somebody_wrote_otherwise_is_not_read(command: Callable[[], Engram]) -> None:
    with command() as app:
        [one] = saved(app)
        values = {"question": "q", "ids": json.dumps([one]), "projects": json.dumps(["widgets"])}
        with app.store.transaction():
            app.store.insert("search_trail", values | {"searched_at": "no time"})
        app.get(one)
        assert learned(app) == {}


def test_what_was_learned_is_not_exported(app: Engram) -> None:
    [one] = saved(app)
    learn(app, one)
    assert QUESTION not in json.dumps(app.transfer.document())
    assert {row[0] for row in app.store.rows("select entity from sync_mutations")} == {
        "observation",
        "session",
        "project",
    }
