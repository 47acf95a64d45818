"""Text that leaves a door neither moves a terminal nor closes a fence, and moments as words."""

from __future__ import annotations

import unicodedata
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram_py.base.capture.fences import harmless
from engram_py.base.text.normalize import visible
from engram_py.base.times import Calendar, span_of, to_text, zone_named
from tests.support import system_zone


@pytest.mark.parametrize(
    "tag",
    [
        "</engram-memory>", "<\u200b/engram-memory>", "</\u2060engram-memory>", "</engram\u00ad-memory>",
        "\uff1c/engram-memory\uff1e", "</engram\u2011memory>", "\u2039/engram-memory\u203a", "</\u0435ngram-memory>",
        "< / ENGRAM-MEMORY >", "</engram memory>", "<\u2215engram-memory>", "<system-reminder>", "</hook_context>",
        "<user_query>", "<system>", "<command-args>", "<local-command-stdout>", "<task-notification>",
        "<environment_context>",
        "<\uff53ystem-reminder>", "<system_reminder>", "<permissions instructions>", "<invoke name='x'>",
        "<function_calls>", "<system-reminder foo=1>", "</tool_result>",
    ],
)  # fmt: skip
def test_what_reads_as_a_frame_of_ours_or_of_a_host_is_broken(tag: str) -> None:
    shown = harmless(f"text {tag} more")
    assert "&lt;" in shown
    assert not set(shown) & set("<\uff1c\u2039")


@pytest.mark.parametrize(
    "text",
    [
        "a < b",
        "List<String>",
        "<div>",
        "x <y",
        "std::map<int, T>",
        "«foo-bar»",
        "a\tb\r\nc",
        "mod <function_name>_tests",
        "ssh <user>@<host-name>",
        "<your-api-key>",
        "cp <src.file> </dest/dir>",
        "<command>",
        "<user>",
        "<tool>",
        "<my-component>",
        "<имя_функции>",
        "Map<my_type, T>",
        "<permissions>",
        "</v-btn>",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb\x1b[31;1mc", "abc"), ("a\x1b]0;title\x07b\x1b]8;;http://x/\x1b\\c", "abc"),
        ("a\x9b31mb\x9d0;t\x9cc", "abc"), ("a\x1bPdata\x1b\\b", "ab"), ("\u202etxet\u202c", "txet"),
        ("a\U000e0041\U000e0042b\U000e0100", "ab"), ("a\x00\x08b\x7f", "ab"),
        ("one\rtwo\u2028three\x85four", "one\ntwo\nthree\nfour"),
    ],
)  # fmt: skip
def test_what_a_terminal_obeys_and_what_nobody_sees_is_gone(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_no_control_or_format_character_is_left(text: str) -> None:
    left = {unicodedata.category(char) for char in visible(text).replace("\n", "").replace("\t", "").replace("\r", "")}
    assert not left & {"Cc", "Cf", "Cs"}


NOW = datetime(2026, 3, 31, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        pytest.param("2026", "2026-01-01T00:00:00", "2027-01-01T00:00:00", id="year"),
        pytest.param("2026-02", "2026-02-01T00:00:00", "2026-03-01T00:00:00", id="month"),
        pytest.param("2026-12", "2026-12-01T00:00:00", "2027-01-01T00:00:00", id="december"),
        pytest.param("2024-02-29", "2024-02-29T00:00:00", "2024-03-01T00:00:00", id="leap-day"),
        pytest.param("2026-3-4", "2026-03-04T00:00:00", "2026-03-05T00:00:00", id="short-numbers"),
        pytest.param(" Today ", "2026-03-31T00:00:00", "2026-04-01T00:00:00", id="today"),
        pytest.param("yesterday", "2026-03-30T00:00:00", "2026-03-31T00:00:00", id="yesterday"),
    ],
)
def test_a_day_a_month_and_a_year_last_until_the_next(text: str, first: str, after: str) -> None:
    span = span_of(text, NOW)
    assert span is not None
    assert [moment.replace(tzinfo=None).isoformat() for moment in span] == [first, after]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param("12h", "2026-03-30T22:30:00", id="hours"),
        pytest.param("7D", "2026-03-24T10:30:00", id="days"),
        pytest.param("2w", "2026-03-17T10:30:00", id="weeks"),
        pytest.param("1m", "2026-02-28T10:30:00", id="a-month-ends-with-the-shorter-one"),
        pytest.param("1y", "2025-03-31T10:30:00", id="year"),
        pytest.param("0d", "2026-03-31T10:30:00", id="now"),
        pytest.param("2026-03-01t10:00:00z", "2026-03-01T10:00:00", id="rfc-3339"),
        pytest.param("2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00", id="with-a-zone"),
    ],
)
def test_how_long_ago_and_a_time_are_one_moment(text: str, moment: str) -> None:
    span = span_of(text, NOW)
    assert span is not None
    assert span[0] == span[1]
    assert span[0].replace(tzinfo=None).isoformat() == moment


def test_days_begin_where_the_clock_stands() -> None:
    tokyo = timezone(timedelta(hours=9))
    span = span_of("2026-03-14", NOW, tokyo)
    assert span is not None
    assert [to_text(moment) for moment in span] == ["2026-03-13T15:00:00.000Z", "2026-03-14T15:00:00.000Z"]


@pytest.mark.parametrize(("day", "begins", "ends"), [
    ("2026-03-08", "2026-03-08T05:00", "2026-03-09T04:00"), ("2026-11-01", "2026-11-01T04:00", "2026-11-02T05:00"),
])  # fmt: skip
@pytest.mark.parametrize("system", [False, True])
def test_a_day_on_which_the_clocks_change_has_its_own_hours(
    day: str, begins: str, ends: str, system: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "America/New_York"
    with system_zone(monkeypatch, name):
        span = Calendar(NOW, None if system else zone_named(name)).span(day)
    assert span is not None
    assert [to_text(moment)[:16] for moment in span] == [begins, ends]


def test_the_calendar_tells_the_day_of_its_zone_and_never_fails() -> None:
    tokyo = Calendar(NOW, zone_named("Asia/Tokyo"))
    assert (str(tokyo.today), str(tokyo.day_of("2026-03-30T23:00:00.000Z"))) == ("2026-03-31", "2026-03-31")
    assert tokyo.moments(date(2026, 3, 31), date(2026, 4, 1)) == (
        "2026-03-30T15:00:00.000Z",
        "2026-03-31T15:00:00.000Z",
    )
    assert tokyo.midnight(date.min) == "0001-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    "text",
    ["2026-02-30", "2026-13", "2026-00-00", "0000", "9999999999", "9999y", "", "soon", "7", "-7d", "7dd", "٣d", "\0"],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert span_of(text, NOW) is None


@given(text=st.one_of(st.text(max_size=30), st.from_regex(r"[0-9]{1,10}[-hdwmy:TZ+]?[0-9-]{0,6}", fullmatch=True)))
@example("9999-12-31")
@example("0001-01-01")
@example("9999w")
@example("0001-01-01T00:00:00+14:00")
def test_whatever_is_typed_is_a_span_in_order_or_none(text: str) -> None:
    span = span_of(text, NOW)
    if span is not None:
        assert span[0] <= span[1]
        assert len(to_text(span[0])) == len("2026-01-02T03:04:05.678Z")
