"""Questions that name a date."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.reasons import Reason, reason
from tests.memory import FakeClock
from tests.recall.searching import dated, ids, kept, silence

ASKED = "what did we change about the scheduler on 3 March 2026?"


@pytest.fixture
def diary(app: Engram, clock: FakeClock) -> dict[str, int]:
    """A memory for each of several days, all of them in the same words: the clock begins on 1 March 2026."""
    made: dict[str, int] = {}
    for day in ("before", "eve", "that day", "two days later", "a week and more later"):
        made[day] = kept(app, f"The scheduler was changed, {day}.", title=f"Scheduler, {day}", session=day)
        clock.advance(days=8 if day == "two days later" else 2 if day == "that day" else 1)
    return made


def test_what_changed_on_that_day_comes_first(app: Engram, diary: dict[str, int]) -> None:
    assert ids(app, ASKED)[0] == diary["that day"]


@pytest.mark.parametrize("date", ["on 9 July 2022", "2022-07-09", "9999-12-30 2024"])
def test_a_date_of_which_nothing_is_known_answers_nothing_by_itself(
    app: Engram, diary: dict[str, int], date: str
) -> None:
    assert ids(app, f"certificate {date}") == []


def test_a_month_is_all_of_its_days(app: Engram, diary: dict[str, int], clock: FakeClock) -> None:
    clock.advance(days=60)
    later = kept(app, "The scheduler was changed for build four.", title="Scheduler, build four", session="may")
    clock.advance(days=60)
    kept(app, "The scheduler was changed for build nine.", title="Scheduler, build nine", session="july")

    found = ids(app, "what did we change about the scheduler in May 2026?")

    assert found[0] == later


def test_a_memory_that_names_the_day_is_about_it_whenever_it_was_saved(
    app: Engram, diary: dict[str, int], clock: FakeClock
) -> None:
    clock.advance(days=60)
    told = kept(app, "The scheduler was changed on 3 March 2026.", title="Scheduler, looking back", session="may")

    assert set(ids(app, ASKED)[:2]) == {told, diary["that day"]}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        pytest.param("outage last week", "outage", id="last-week"),
        pytest.param("what happened in the last 10 days with the outage?", "outage", id="the-last-days"),
        pytest.param("the outage 6 days ago", "outage", id="ago"),
        pytest.param("what did we do yesterday?", "belt", id="nothing-but-a-day"),
    ],
)
def test_days_told_from_today_are_heard(app: Engram, clock: FakeClock, query: str, wanted: str) -> None:
    made = {"old": kept(app, "The pump was replaced after the outage of the winter.", session="old")}
    clock.advance(days=60)
    made["outage"] = kept(app, "The outage began with a full disk.", session="outage")
    clock.advance(days=5)
    made["belt"] = kept(app, "The belt of hall two was changed.", session="belt")
    clock.advance(days=1)
    assert ids(app, query)[:1] == [made[wanted]]


@pytest.mark.parametrize(
    "query",
    [
        "what was decided on 3 March?",
        "what did we fix on 3 March?",
        "which decisions were made on 3 March?",
    ],
)
def test_a_question_that_asks_only_what_was_done_then_gets_the_days(app: Engram, clock: FakeClock, query: str) -> None:
    kept(app, "The pump was replaced after the outage of the winter.", session="old")
    clock.advance(days=2)
    wanted = {kept(app, "The belt of hall two goes east.", session="t"), kept(app, "Disks are of finder.", session="t")}
    clock.advance(days=4)

    found = app.searches.search(query)

    assert wanted <= {hit.id for hit in found.results}
    assert found.unknown == ()


def test_what_else_is_asked_of_the_days_still_counts(app: Engram, clock: FakeClock) -> None:
    kept(app, "The disks are of finder.")
    belt = kept(app, "The belt of hall two goes east.")
    clock.advance(days=1)

    assert ids(app, "what did we decide yesterday about the belt?")[0] == belt


def test_days_on_which_nothing_changed_are_words(app: Engram, clock: FakeClock) -> None:
    saying = kept(app, "The invoices of last week are sent on Monday.")
    clock.advance(days=90)
    assert ids(app, "invoices of last week") == [saying]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        pytest.param('"full disk" this week', "disk", id="a-phrase"),
        pytest.param("outage -disk this week", "cable", id="a-word-that-nothing-may-have"),
        pytest.param('"full disk" in March 2026', "disk", id="a-phrase-in-a-month"),
        pytest.param("outage -disk in March 2026", "cable", id="a-word-that-nothing-may-have-in-a-month"),
    ],
)
def test_a_day_brings_nothing_that_the_query_leaves_out(app: Engram, clock: FakeClock, query: str, wanted: str) -> None:
    clock.advance(days=2)
    made = {
        "disk": kept(app, "The outage began with a full disk.", title="Full disk outage"),
        "cable": kept(app, "The outage began with a cable.", title="Network outage"),
    }
    clock.advance(hours=1)
    found = ids(app, query)
    assert found[:1] == [made[wanted]]
    assert len(found) == 1


def test_a_day_is_heard_where_the_quotes_are_left_out_as_well(app: Engram, clock: FakeClock) -> None:
    kept(app, "The outage of the winter began with a full disk.")
    clock.advance(days=60)
    wanted = kept(app, "The disk was full again during the outage.")
    clock.advance(days=1)
    assert ids(app, 'outage "disk full of water" yesterday')[:1] == [wanted]


@pytest.mark.parametrize(
    "query",
    [
        '"of nobody" last week',
        '"of nobody" in March 2026',
        "-disk yesterday",
        '"yesterday"',
        "since monday -outage -belt",
    ],
)
def test_days_of_which_nothing_is_left_are_no_error(app: Engram, clock: FakeClock, query: str) -> None:
    kept(app, "The disk was full during the outage.")
    kept(app, "The belt broke during the outage.")
    clock.advance(days=1)
    assert app.searches.search(query).silence is not None or ids(app, query)


@pytest.mark.parametrize("query", ["1 May", "what did we do on May 1st?"])
def test_a_day_without_its_year_is_the_latest_there_was(app: Engram, clock: FakeClock, query: str) -> None:
    kept(app, "The pump was replaced.", session="march")
    clock.advance(days=61)
    wanted = kept(app, "The belt of hall two was changed.", session="may")
    clock.advance(days=20)
    assert ids(app, query) == [wanted]


def test_what_names_a_day_of_a_month_is_about_it(app: Engram, clock: FakeClock) -> None:
    saying = kept(app, "The migration is on 1 May.", title="Migration")
    clock.advance(days=61)
    changed = kept(app, "The belt of hall two was changed.", session="may")
    assert set(ids(app, "1 May")) == {saying, changed}


def test_of_a_day_alone_its_summary_comes_first_and_how_the_day_was_read_is_said(app: Engram, clock: FakeClock) -> None:
    clock.advance(days=3)
    summary = app.episodes.summarize("## Goal\nReplace the belt.", session_id="s-1").id
    kept(app, "Ada likes short answers.", type="preference")
    clock.advance(days=2)

    found = app.searches.search("what did we do 2 days ago")

    assert found.results[0].id == summary
    assert dated("2 days ago", "2026-03-04") in found.warnings


def test_of_a_day_on_which_nothing_changed_here_the_answer_says_that(app: Engram, clock: FakeClock) -> None:
    kept(app, "The pump was replaced.")
    clock.advance(days=3)
    kept(app, "The board was soldered.", project="gadgets")
    clock.advance(days=1)

    found = app.searches.search("what did we do yesterday?")

    assert (found.results, found.warnings) == ((), (dated("yesterday", "2026-03-04"),))
    assert found.silence is not None
    assert (found.silence.reason, found.silence.elsewhere) == (
        reason("no_change", start="2026-03-04", last="2026-03-04", open=False),
        (),
    )


def test_a_day_on_which_nothing_changed_anywhere_is_no_word_that_was_never_seen(app: Engram, clock: FakeClock) -> None:
    saved = kept(app, "The belt of hall two was changed.", title="Belt")
    clock.advance(days=90)

    nothing = silence(app, "what did we do yesterday?")
    assert (nothing.reason, nothing.unknown) == (
        reason("no_change", start="2026-05-29", last="2026-05-29", open=False),
        (),
    )
    found = app.searches.search("the belt of hall two yesterday")
    assert ([hit.id for hit in found.results], found.unknown) == ([saved], ())
    assert found.warnings == (dated("yesterday", "2026-05-29", unchanged=True),)


@pytest.mark.parametrize(
    "query",
    ["before 1 May the pump", "pump before the 1st of May", "pump before 2026-05-01"],
)
def test_before_a_day_means_everything_until_then(app: Engram, clock: FakeClock, query: str) -> None:
    early = kept(app, "The pump was replaced.", title="First pump", session="march")
    clock.advance(days=61)
    kept(app, "The pump was painted.", title="Second pump", session="may")
    clock.advance(days=20)
    found = app.searches.search(query)
    assert found.results[0].id == early
    assert [hit.id for hit in app.searches.search("before 1 May").results] == [early]
    if "2026" not in query:
        [dates] = [dict(note.facts) for note in found.warnings if isinstance(note, Reason)]
        assert (dates["last"], dates["open"]) == ("2026-04-30", True)
