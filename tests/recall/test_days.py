"""The days a prompt names, and the kinds it asks for."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.base.text.prompt_text import PromptText
from engram_py.recall.dates import dates_in, days_in
from tests.support import FakeClock

THURSDAY = date(2026, 3, 5)


def meant(prompt: str, today: date = THURSDAY) -> tuple[str, str] | None:
    days = days_in(PromptText(prompt), today)
    return None if days is None else (days.start.isoformat(), days.end.isoformat())


@pytest.mark.parametrize(
    ("prompt", "start", "end"),
    [
        pytest.param("What did we do yesterday?", "2026-03-04", "2026-03-05", id="yesterday"),
        pytest.param("as I said earlier today", "2026-03-05", "2026-03-06", id="earlier-today"),
        pytest.param("this week's fixes", "2026-03-02", "2026-03-06", id="this-week"),
        pytest.param("last week", "2026-02-23", "2026-03-05", id="last-week"),
        pytest.param("last month", "2026-02-01", "2026-03-01", id="last-month"),
        pytest.param("last year", "2025-01-01", "2026-01-01", id="last-year"),
        pytest.param("on Monday", "2026-03-02", "2026-03-03", id="weekday"),
        pytest.param("on thursday?", "2026-02-26", "2026-02-27", id="weekday-of-today-is-a-week-ago"),
        pytest.param("last Friday", "2026-02-27", "2026-02-28", id="last-weekday"),
        pytest.param("in January", "2026-01-01", "2026-02-01", id="month"),
        pytest.param("in march", "2026-03-01", "2026-04-01", id="this-month-by-name"),
        pytest.param("last March", "2025-03-01", "2025-04-01", id="last-year's-month"),
        pytest.param("in december", "2025-12-01", "2026-01-01", id="month-of-last-year"),
        pytest.param("3 days ago", "2026-03-02", "2026-03-03", id="days-ago"),
        pytest.param("two weeks ago", "2026-02-16", "2026-02-23", id="weeks-ago"),
        pytest.param("a month ago", "2026-02-01", "2026-03-01", id="a-month-ago"),
        pytest.param("14 months ago", "2025-01-01", "2025-02-01", id="months-over-the-year"),
        pytest.param("in the last 3 days", "2026-03-02", "2026-03-06", id="the-last-days"),
        pytest.param("over the past week", "2026-02-26", "2026-03-06", id="the-past-week"),
        pytest.param("the last few days", "2026-03-02", "2026-03-06", id="a-few"),
        pytest.param("since Monday", "2026-03-02", "2026-03-06", id="since-a-weekday"),
        pytest.param("see 2026-01-31.", "2026-01-31", "2026-02-01", id="date"),
        pytest.param("from 2026-02-31 to 2026-02-28", "2026-02-28", "2026-03-01", id="a-day-there-is-not"),
        pytest.param("the day before yesterday", "2026-03-03", "2026-03-04", id="day-before-yesterday"),
        pytest.param("in October 2023", "2023-10-01", "2023-11-01", id="month-of-a-year"),
        pytest.param("what broke on 18 November?", "2025-11-18", "2025-11-19", id="day-of-last-year"),
        pytest.param("the 3rd of March", "2026-03-03", "2026-03-04", id="day-of-this-month"),
        pytest.param("March 5", "2026-03-05", "2026-03-06", id="today-by-its-date"),
        pytest.param("on March 6th", "2025-03-06", "2025-03-07", id="tomorrow-of-last-year"),
        pytest.param("today", "2026-03-05", "2026-03-06", id="today"),
        pytest.param("this afternoon", "2026-03-05", "2026-03-06", id="this-afternoon"),
        pytest.param("this month", "2026-03-01", "2026-03-06", id="this-month"),
        pytest.param("this year", "2026-01-01", "2026-03-06", id="this-year"),
        pytest.param("since last Friday", "2026-02-27", "2026-03-06", id="since-the-last-weekday"),
        pytest.param("since yesterday", "2026-03-04", "2026-03-06", id="since-yesterday"),
        pytest.param("since last week", "2026-02-23", "2026-03-06", id="since-last-week"),
        pytest.param("since the last 3 days", "2026-03-02", "2026-03-06", id="since-the-last-days"),
        pytest.param("since two weeks ago", "2026-02-16", "2026-03-06", id="since-weeks-ago"),
        pytest.param("after last Friday", "2026-02-28", "2026-03-06", id="after-a-weekday"),
        pytest.param("before yesterday", "1970-01-01", "2026-03-04", id="before-yesterday"),
        pytest.param("until last week", "1970-01-01", "2026-03-05", id="until-last-week"),
        pytest.param("since last March", "2025-03-01", "2026-03-06", id="since-last-march"),
        pytest.param("since 9 July 2022", "2022-07-09", "2026-03-06", id="since-a-day-with-its-year"),
        pytest.param("since 2026-03-02", "2026-03-02", "2026-03-06", id="since-a-date"),
        pytest.param("before 2026-03-02", "1970-01-01", "2026-03-02", id="before-a-date"),
        pytest.param("since Feb 27", "2026-02-27", "2026-03-06", id="since-a-day-of-a-month"),
        pytest.param("29 February", "2024-02-29", "2024-03-01", id="leap-day"),
        pytest.param("30 February or 2 March", "2026-03-02", "2026-03-03", id="a-day-after-one-there-is-not"),
        pytest.param("4 July 2024", "2024-07-04", "2024-07-05", id="day-with-its-year"),
        pytest.param("on May 3", "2025-05-03", "2025-05-04", id="may-the-third"),
        pytest.param("first week of January 2025", "2025-01-01", "2025-02-01", id="month-of-a-week"),
    ],
)
def test_words_for_a_time_name_days(prompt: str, start: str, end: str) -> None:
    assert meant(prompt) == (start, end)


@pytest.mark.parametrize(("prompt", "past"), [
    ("send it on Tuesday", False), ("last Tuesday", True), ("yesterday", True), ("ship it on 24 December", False),
    ("since 24 December", True), ("on 24 December 2025", True), ("today", False), ("earlier today", True),
])  # fmt: skip
def test_a_weekday_may_be_one_to_come(prompt: str, past: bool) -> None:
    days = days_in(PromptText(prompt), THURSDAY)
    assert days is not None
    assert days.past == past


@pytest.mark.parametrize(
    "prompt",
    [
        "fix it", "run the tests before Monday", "may I?", "in maybe two places", "days ago", "2026-13-01", "2026-1-1",
        "12026-01-012", "0000-00-00", "9999 months ago", "das ist hier kaputt", "we may 3 times retry", "31 February",
        "Nov 18 10:22:33 host kernel: oops", "friday 13 jobs failed", "november 99", "since may",
    ],
)  # fmt: skip
def test_other_words_name_none(prompt: str) -> None:
    assert meant(prompt) is None


def test_last_week_asked_on_a_monday_is_the_week_before() -> None:
    assert meant("last week", date(2026, 3, 2)) == ("2026-02-23", "2026-03-02")


@pytest.mark.parametrize("today", [date(1, 1, 1), date(9999, 12, 31)])
@pytest.mark.parametrize(
    "prompt",
    [
        *("yesterday", "last week", "last month", "last year", "on monday", "in march", "900 weeks ago", "this week"),
        *("since 31 december", "2 january", "first week of may", "last week of december", "friday the 13th"),
    ],
)
def test_the_first_and_the_last_day_there_is_break_nothing(prompt: str, today: date) -> None:
    days_in(PromptText(prompt), today)


@pytest.mark.parametrize(
    ("prompt", "rest"),
    [
        ("what broke yesterday in the Parser", "what broke in the Parser"),
        ("since the last 3 days, the deploy", ", the deploy"),
        ("on Monday `user_id` changed", "`user_id` changed"),
        ("3 days ago, the deploy", ", the deploy"),
    ],
)
def test_what_named_the_days_is_not_looked_for(prompt: str, rest: str) -> None:
    read = PromptText(prompt)
    days_in(read, THURSDAY)
    assert read.rest == rest


# --- the dates that a question names ------------------------------------------------------------------------------

DAY, MONTH = (date(2026, 7, 9), date(2026, 7, 10)), (date(2026, 7, 1), date(2026, 8, 1))


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("what broke on 9 July, 2026?", DAY),
        ("what broke on July 9th, 2026?", DAY),
        ("what broke on Jul 9 2026?", DAY),
        ("what broke on 2026-07-09?", DAY),
        ("what broke in July 2026?", MONTH),
        ("what broke in 2026-07?", MONTH),
        ("what broke in December 2026?", (date(2026, 12, 1), date(2027, 1, 1))),
    ],
)
def test_a_day_or_a_month_with_its_year_is_a_date(text: str, span: tuple[date, date]) -> None:
    [found] = dates_in(text)
    assert (found.start, found.end) == span


@pytest.mark.parametrize("text", [
    "31 February 2026", "2026-13-01", "July", "may 5 retries of 2026 ms", "in 2026",
    "2026-03-04T14:43:18.690+00:00 ERROR", "2026-03-04 14:43:18 WARN pool",
])  # fmt: skip
def test_what_is_no_day_of_the_calendar_is_no_date(text: str) -> None:
    assert dates_in(text) == []


@given(st.text(max_size=200) | st.from_regex(r"([0-9]{1,4}[-. ]?(july|mai|月)?[, ]?){1,20}", fullmatch=True))
def test_any_text_has_at_most_four(text: str) -> None:
    assert len(dates_in(text)) <= 4


def titles(app: Engram, query: str) -> list[str]:
    return [hit.title for hit in app.searches.search(query).results]


@pytest.fixture
def diary(app: Engram, clock: FakeClock) -> Engram:
    """Two months of work: the clock begins on 1 March 2026. The queue is decided in March and again in April."""
    made = [
        (3, Draft("Chose Redis for the queue", "Streams, one consumer group.", "decision", topic_key="decision/queue")),
        (2, Draft("Fixed the login loop", "The cookie was not renewed.", "bugfix")),
        (1, Draft("Learned how the cache expires", "By the least used key.", "learning")),
        (5, Draft("Chose Tailwind", "Styles are utilities.", "decision")),
        (25, Draft("Chose NATS for the queue", "Redis lost messages.", "decision", topic_key="decision/queue")),
        (1, Draft("Fixed dates in the invoice", "2024-02-29 broke the parser of invoices.", "bugfix")),
    ]
    for days, draft in made:
        clock.advance(days=days)
        app.save(draft)
    clock.advance(days=3)
    return app


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("decisions in March", {"Chose NATS for the queue", "Chose Tailwind"}),
        ("which decisions were made in March 2026?", {"Chose NATS for the queue", "Chose Tailwind"}),
        ("bugs in March", {"Fixed the login loop"}),
        ("what did we decide in March?", {"Chose NATS for the queue", "Chose Tailwind"}),
        ("fixes since 1 April", {"Fixed dates in the invoice"}),
        ("what was learned in March?", {"Learned how the cache expires"}),
        ("decisions in April", {"Chose NATS for the queue"}),
    ],
)
def test_kinds_that_are_asked_for_are_held_to_on_the_days_of_all_texts(
    diary: Engram, query: str, wanted: set[str]
) -> None:
    assert set(titles(diary, query)) == wanted


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("why does the parser fail on 2024-02-29?", "Fixed dates in the invoice"),
        ("login loop on Monday", "Fixed the login loop"),
        ("queue decision last week", "Chose NATS for the queue"),
        ("nats redis lost messages 9 July 2022", "Chose NATS for the queue"),
        ("cookie not renewed yesterday", "Fixed the login loop"),
        ("the may fail case of the login loop", "Fixed the login loop"),
    ],
)
def test_a_date_in_a_technical_question_hides_nothing(diary: Engram, query: str, wanted: str) -> None:
    assert wanted in titles(diary, query)
