"""Time as text: one format out, several in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.times import add_months, ago, canonical, fixed_clock, parse_time, to_text, utc_now

MOMENTS = st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 28), timezones=st.timezones())


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02T03:04:05.678Z",
        "2026-01-02T03:04:05.678901234Z",
        "2026-01-02 03:04:05.678",
        "2026-01-02T04:04:05.678+01:00",
        " 2026-01-02T03:04:05.678+00:00\n",
    ],
)
def test_every_spelling_of_a_moment_is_that_moment(text: str) -> None:
    assert canonical(text) == "2026-01-02T03:04:05.678Z"


@pytest.mark.parametrize(
    "text",
    [None, "", "soon", "2026-13-01", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "\0", "2026-01-02T.Z"],
)
def test_what_is_no_time_is_none(text: str | None) -> None:
    assert parse_time(text) is None
    assert canonical(text) is None


@given(text=st.text())
def test_no_text_makes_the_parser_raise(text: str) -> None:
    parse_time(text)


@given(one=MOMENTS, other=MOMENTS)
def test_text_order_is_time_order(one: datetime, other: datetime) -> None:
    first, second = to_text(one), to_text(other)
    assert len(first) == len(second) == len("2026-01-02T03:04:05.678Z")
    if one + timedelta(milliseconds=1) <= other:
        assert first < second


@given(moment=MOMENTS)
def test_a_written_time_reads_as_the_same_millisecond(moment: datetime) -> None:
    back = parse_time(to_text(moment))
    assert back is not None
    assert timedelta(0) <= moment - back < timedelta(milliseconds=1)
    assert to_text(back) == to_text(moment)


@pytest.mark.parametrize(
    ("start", "months", "end"),
    [
        ("2026-01-31", 1, "2026-02-28"),
        ("2028-01-31", 1, "2028-02-29"),
        ("2026-08-31", 6, "2027-02-28"),
        ("2026-12-15", 12, "2027-12-15"),
        ("2026-10-31", 3, "2027-01-31"),
    ],
)
def test_months_are_added_within_the_calendar(start: str, months: int, end: str) -> None:
    moment = datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert add_months(moment, months) == datetime.fromisoformat(end).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (timedelta(seconds=-5), "now"),
        (timedelta(seconds=59), "now"),
        (timedelta(minutes=5), "5m"),
        (timedelta(hours=3, minutes=59), "3h"),
        (timedelta(days=13), "13d"),
        (timedelta(days=14), "2w"),
        (timedelta(days=800), "2y"),
    ],
)
def test_an_age_is_said_in_its_largest_fitting_unit(gone: timedelta, said: str) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert ago(now - gone, now) == said


def test_a_fixed_clock_stands_still() -> None:
    clock = fixed_clock("2026-01-02T03:04:05+01:00")
    assert clock() == clock() == datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=1)))
    with pytest.raises(ValueError, match="not a time"):
        fixed_clock("soon")


def test_now_is_in_utc() -> None:
    assert utc_now().tzinfo is UTC
