"""What stands where in an answer: neighbours, what was replaced, what says the same; and the numbers that say why."""

from __future__ import annotations

from math import prod

import pytest

from engram_py import Engram
from engram_py.base.reasons import reason
from engram_py.recall import hits, terms
from engram_py.recall.values import Explain
from tests.recall.searching import ids, kept
from tests.support import FakeClock

pytestmark = pytest.mark.usefixtures("others")

QUEUE = "The retry queue drains on restart."


def explained(app: Engram, query: str, **arguments: object) -> Explain:
    found = app.searches.search(query, explain=True, **arguments).explain  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_word_in_a_title_and_one_often_said_count_as_much_when_the_index_did_not_count_them(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(app, "Deadlock seen once.", title="Other")
    titled = kept(app, "Seen once.", title="Deadlock")
    kept(app, "Deadlock, then a deadlock: deadlock upon deadlock.", title="Often")
    counted = {one.id: one.whole for one in explained(app, "deadlock").hits}
    monkeypatch.setattr(terms, "COUNTED_ROWS", 0)
    found = {one.id: one.whole for one in explained(app, "deadlock").hits}
    assert len(found) == 3
    assert found[titled] == max(found.values())
    assert found == pytest.approx(counted)


# --- neighbours -------------------------------------------------------------------------------------------------

ASKING = ("Why does the retry queue drain on restart?", "Retry queue drains on restart: Bob saw it as well.")


@pytest.fixture
def generous(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that have nothing but what was lent are shown however far they are behind."""
    monkeypatch.setattr(hits, "LENT", 0.0)


def asking(app: Engram, project: str = "widgets") -> list[int]:
    """Two good hits, one after the other."""
    return [kept(app, text, title="Asking", session="day", project=project) for text in ASKING]


def test_what_was_saved_right_after_good_hits_is_found_without_a_word_of_the_question(
    app: Engram, generous: None
) -> None:
    asked = asking(app)
    reply = kept(app, "Because consumers acknowledge too early.", title="Cause", session="day")
    after = kept(app, "The retry queue no longer drains on restart.", title="Mended", session="day")
    other = kept(app, "Because the printer was out of paper.", title="Printer")
    found = ids(app, "retry queue drains on restart")
    assert set(found) == {*asked, reply, after}
    assert other not in found


def test_rows_of_other_projects_never_lend_and_never_appear(app: Engram, generous: None) -> None:
    theirs = asking(app, "gadgets")
    ours = kept(app, "Consumers acknowledge too early.", title="Cause", project="widgets", session="day")
    theirs.append(kept(app, "The retry queue drains on restart.", title="More", project="gadgets", session="day"))
    assert ids(app, "retry queue drains on restart") == []
    assert set(ids(app, "retry queue drains on restart", project="gadgets")) == set(theirs)
    assert ours in ids(app, "retry queue drains on restart", all_projects=True)


def lent(app: Engram, row: int) -> float:
    """What the rows beside it lend a row."""
    return next(one.lent for one in explained(app, "retry queue drains on restart").hits if one.id == row)


def test_a_deleted_neighbour_neither_lends_nor_appears_nor_keeps_others_apart(app: Engram, generous: None) -> None:
    asked = asking(app)
    gone = kept(app, "Consumers acknowledge too early.", title="Cause", session="day")
    later = kept(app, "Nobody noticed for a week.", title="Later", session="day")
    apart = lent(app, later)
    app.observations.delete(gone)
    assert set(ids(app, "retry queue drains on restart")) == {*asked, later}
    assert lent(app, later) > 1.2 * apart
    for row in asked:
        app.observations.delete(row)
    assert ids(app, "retry queue drains on restart") == []


# --- what sinks, and what gives way -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "change"),
    [
        pytest.param("newer", "review_after = '2020-01-01T00:00:00.000Z'", id="overdue"),
        pytest.param("newer", "expires_at = '2020-01-01T00:00:00.000Z'", id="expired"),
        pytest.param("newer", "salience = 0.0", id="unimportant"),
        pytest.param("newer", "updated_at = '2020-01-01T00:00:00.000Z'", id="old"),
        pytest.param("older", "pinned = 1", id="pinned"),
        pytest.param("older", "salience = 1.0", id="important"),
        pytest.param("older", "access_count = 50", id="used"),
    ],
)
def test_of_two_equal_rows_the_one_that_counts_more_rises_above_the_newer(app: Engram, row: str, change: str) -> None:
    older = kept(app, "The retry queue lives in redis.", title="Place", type="passive")
    newer = kept(app, "The retry queue lives in kafka.", title="Place", type="passive")
    assert ids(app, "retry queue lives") == [newer, older]
    with app.store.transaction():
        changed = {"older": older, "newer": newer}[row]
        app.store.execute(f"update observations set {change} where id = :id", id=changed)
    assert ids(app, "retry queue lives") == [older, newer]


def test_of_two_that_may_contradict_each_other_the_newer_comes_first_and_says_so(app: Engram) -> None:
    old = kept(app, "Scheduled publishing uses Sidekiq: the cron of Sidekiq is there.", title="Scheduled publishing")
    new = kept(app, "Scheduled publishing uses cron after all, Sidekiq was too heavy.", title="Publishing by cron")
    found = app.searches.search("scheduled publishing Sidekiq").results
    assert [hit.id for hit in found] == [new, old]
    assert any(note.id == old for note in found[0].relations)


def test_twenty_notes_that_differ_in_numbers_do_not_bury_another(app: Engram) -> None:
    for number in range(20):
        kept(app, f"The mirror {number} runs there.", title=f"RabbitMQ mirror {number} moved to host {number}")
    given_up = kept(app, "Operating it cost a day a week.", title="RabbitMQ was given up")
    assert given_up in ids(app, "why did we stop using RabbitMQ?")[:5]


def test_what_says_the_same_gives_way_to_what_says_something_else_and_is_not_shown_again(app: Engram) -> None:
    text = "The retry queue drains on restart because consumers acknowledge a message before they wrote it down"
    first = kept(app, f"{text} again", type="passive")
    second = kept(app, f"{text} today", type="passive")
    third = kept(app, f"{text} anyway", type="passive")
    other = kept(app, "A queue hangs on restart.", title="Other")
    found = app.searches.search("retry queue drains on restart").results
    assert [(hit.id, hit.like) for hit in found] == [(third, None), (other, None), (second, third), (first, third)]
    assert [bool(hit.snippet) for hit in found] == [True, True, False, False]
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


# --- the numbers ------------------------------------------------------------------------------------------------


def test_the_numbers_of_a_hit_add_up_and_stand_in_the_order_of_the_answer(app: Engram, clock: FakeClock) -> None:
    pinned = kept(app, QUEUE, title="Pinned", session="day")
    app.observations.pin(pinned)
    kept(app, "Consumers acknowledge too early.", title="Cause", session="day")
    clock.advance(days=20)
    kept(app, "A queue of people.", title="People")
    kept(app, "Restart the retry daemon.", title="Daemon")
    found = app.searches.search("retry queue on restart", explain=True)
    assert found.explain is not None
    assert [one.id for one in found.explain.hits] == [hit.id for hit in found.results]
    assert len(found.results) >= 3
    for one in found.explain.hits:
        assert one.score == pytest.approx(one.relevance * prod(one.factors.values()), rel=0.01, abs=0.005)
        assert one.relevance == pytest.approx((2 * one.passage + one.whole) / 3 + one.lent + one.session, abs=0.003)
        assert 0 <= one.coverage <= 1
    assert {hit.id: hit.coverage for hit in found.results} == {one.id: one.coverage for one in found.explain.hits}
    assert "pinned" in next(one for one in found.explain.hits if one.id == pinned).factors


def test_the_rungs_tell_what_each_step_found_and_why_it_stopped(app: Engram) -> None:
    kept(app, QUEUE)
    kept(app, "A queue of people.", title="People", topic_key="retry-queue")
    found = explained(app, "retry queue")
    assert [(rung.name, rung.found) for rung in found.rungs] == [
        ("exact", 1),
        ("all words", 2),
        ("any word", 0),
    ]
    assert all(rung.why for rung in found.rungs)
    assert [(word.word, word.rows, word.use) for word in found.words] == [
        ("retry", 2, reason("looked_up")),
        ("queue", 2, reason("looked_up")),
    ]
    assert found.seconds > 0


def test_words_that_are_scattered_over_a_text_are_not_told_as_all_words(app: Engram) -> None:
    kept(app, f"The queue stalls. {'Nothing else is known of it. ' * 60} They retry.")
    together = kept(app, QUEUE)
    found = explained(app, "retry queue")
    assert [(rung.name, rung.found) for rung in found.rungs[:2]] == [("all words", 1), ("any word", 1)]
    assert found.hits[0].id == together


def test_the_rungs_say_what_was_read_for_a_misspelt_word(app: Engram) -> None:
    kept(app, QUEUE)
    whys = {rung.name: rung.why for rung in explained(app, "retry qeueu daemon").rungs}
    assert whys["all words"] == reason("in_one_passage")
    assert whys["prefix and near spelling"] == reason("nothing_alike")


def test_filters_in_force_are_part_of_the_explanation(app: Engram) -> None:
    saved = kept(app, QUEUE, type="bugfix")
    found = explained(app, "queue type:bugfix")
    assert found.filters == ("type:bugfix",)
    assert [one.id for one in found.hits] == [saved]
    alone = explained(app, "type:bugfix")
    assert [(rung.name, rung.found) for rung in alone.rungs] == [("filters", 1)]


# --- use --------------------------------------------------------------------------------------------------------


def uses(app: Engram, row: int) -> int:
    app.usage.flush()
    return int(app.store.value("select access_count from observations where id = :id", id=row))


def test_a_search_counts_what_it_shows_and_only_that(app: Engram) -> None:
    shown = kept(app, QUEUE)
    other = kept(app, "A worker.", title="Other")
    assert app.searches.search("retry queue").explain is None  # nor is anything explained unasked
    ids(app, "kubernetes ingress")
    app.observations.timeline(shown)
    app.projects.list()
    assert (uses(app, shown), uses(app, other)) == (1, 0)


def test_words_of_one_stem_count_once(app: Engram) -> None:
    kept(app, "The nightly tests are run on two cores.")
    assert [word.word for word in explained(app, "tests of the nightly test testing").words] == ["tests", "nightly"]


def test_another_form_of_a_word_finds_as_much_as_the_word(app: Engram) -> None:
    kept(app, "The mail was sent twice.")
    scores = [explained(app, query).hits[0].whole for query in ("who sent mail", "who sends mail")]
    assert scores[1] == pytest.approx(scores[0], rel=0.1)


def test_a_title_that_says_more_than_was_asked_comes_after_one_that_says_just_that(app: Engram) -> None:
    plain = kept(
        app, "The code is long, and it was long for as many years as we know of.", title="Retry queue", type="passive"
    )
    other = kept(app, "The code is long.", title="Retry queue metrics dashboard panel colours")
    assert ids(app, "retry queue") == [plain, other]
