"""The dates that a question names."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.recall.query.days import dates_in

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


@pytest.mark.parametrize(
    "text",
    [
        "31 February 2026",
        "2026-13-01",
        "July",
        "may 5 retries of 2026 ms",
        "in 2026",
        "2026-03-04T14:43:18.690+00:00 ERROR",
        "2026-03-04 14:43:18 WARN pool",
    ],
)
def test_what_is_no_day_of_the_calendar_is_no_date(text: str) -> None:
    assert dates_in(text) == []


@given(st.text(max_size=200) | st.from_regex(r"([0-9]{1,4}[-. ]?(july|mai|月)?[, ]?){1,20}", fullmatch=True))
def test_any_text_has_at_most_four(text: str) -> None:
    assert len(dates_in(text)) <= 4
