"""Times as text, bounded reading of files, and the dataclasses that cost a short process nothing."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.base import files
from engram_py.base.dataclass import asdict, dataclass, field, fields, is_dataclass, replace
from engram_py.base.files import expanded, lines_of, native
from engram_py.base.times import add_months, ago, canonical, fixed_clock, parse_time, to_text, utc_now

MOMENTS = st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 28), timezones=st.timezones())


@pytest.mark.parametrize("text", [
    "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678901234Z", "2026-01-02 03:04:05.678",
    "2026-01-02T04:04:05.678+01:00", " 2026-01-02T03:04:05.678+00:00\n",
])  # fmt: skip
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


@pytest.mark.parametrize(("start", "months", "end"), [
    ("2026-01-31", 1, "2026-02-28"), ("2028-01-31", 1, "2028-02-29"), ("2026-08-31", 6, "2027-02-28"),
    ("2026-12-15", 12, "2027-12-15"), ("2026-10-31", 3, "2027-01-31"),
])  # fmt: skip
def test_months_are_added_within_the_calendar(start: str, months: int, end: str) -> None:
    moment = datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert add_months(moment, months) == datetime.fromisoformat(end).replace(tzinfo=UTC)


@pytest.mark.parametrize(("gone", "said"), [
    (timedelta(seconds=-5), "now"), (timedelta(seconds=59), "now"), (timedelta(minutes=5), "5m"),
    (timedelta(hours=3, minutes=59), "3h"), (timedelta(days=13), "13d"), (timedelta(days=14), "2w"),
    (timedelta(days=800), "2y"),
])  # fmt: skip
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


TEXTS = ["", "a", "a\n", "a\nb", "a\r\nb\rc\n\n", "\n", "\r", "a\u2028b\x85c\x0cd\x1ee\vf\n"]


@pytest.mark.parametrize("text", TEXTS)
def test_lines_end_at_line_feeds_and_carriage_returns_alone(text: str) -> None:
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    assert lines_of(text) == plain.split("\n")[: plain.count("\n") + (not plain.endswith("\n") and bool(plain))]
    assert "".join(lines_of(text, ends=True)) == text
    assert len(lines_of(text, ends=True)) == len(lines_of(text))


def test_a_home_that_does_not_exist_leaves_the_path_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert expanded("~/x") == Path("/home/ada/x")
    assert expanded("~nobody-of-that-name/x") == Path("~nobody-of-that-name/x")
    assert expanded("a/~") == Path("a/~")


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    tags: tuple[str, ...] = field(default=(), compare=False)
    seen: list[int] = field(default_factory=list, repr=False)


@dataclass(frozen=True, slots=True)
class Named(Point):
    name: str = ""


@dataclass(slots=True)
class Open:
    x: int = 0


@dataclass
class Own:  # noqa: PLW1641 - the decorator says what hashes
    x: int

    def __eq__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "own"


@dataclass(frozen=True, slots=True, order=True)
class Ordered:
    x: int


def test_values_compare_and_hash_by_their_fields() -> None:
    point = Point(1, tags=("a",))

    assert point == Point(1) != Point(2)
    assert Point(1) != Named(1)
    assert hash(Ordered(1)) == hash(Ordered(1))
    assert Ordered(1) < Ordered(2)
    assert max(Ordered(3), Ordered(2)) == Ordered(3)
    assert Own(1) == Own(2)
    with pytest.raises(TypeError):
        hash(Open())


def test_a_default_factory_makes_a_value_for_each() -> None:
    assert Point(1).seen is not Point(1).seen
    assert Point(1, seen=[3]).seen == [3]


def test_a_wrong_call_is_refused_as_always() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=3)  # type: ignore[call-arg]


def test_many_values_of_a_class_are_what_the_first_are() -> None:
    class_of_its_own: Any = dataclass(frozen=True)(
        type("Later", (), {"__annotations__": {"x": "int", "y": "int"}, "y": 2})
    )
    values = [class_of_its_own(x) for x in range(200)]

    assert [(one.x, one.y) for one in values] == [(x, 2) for x in range(200)]
    assert values[0] == class_of_its_own(y=2, x=0)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        class_of_its_own(y=1)


def test_the_fields_of_a_value_match_in_their_order() -> None:
    match Named(1, name="a"):
        case Point(1, 2, (), []):
            pass
        case _:
            pytest.fail("fields match in their order")


def test_values_are_shown_copied_and_pickled() -> None:
    named = Named(1, tags=("a",), name="b")

    assert repr(named) == "Named(x=1, y=2, tags=('a',), name='b')"
    assert repr(Own(1)) == "own"
    assert copy.copy(named) == copy.deepcopy(named) == pickle.loads(pickle.dumps(named)) == named


@pytest.mark.parametrize("module", [None, dataclasses])
def test_both_modules_take_a_value_apart(module: object) -> None:
    apart = module or __import__("engram_py.base.dataclass", fromlist=["fields"])
    named = Named(1, seen=[4], name="b")

    assert [one.name for one in apart.fields(Named)] == ["x", "y", "tags", "seen", "name"]  # type: ignore[attr-defined]
    assert apart.asdict(named) == {"x": 1, "y": 2, "tags": (), "seen": [4], "name": "b"}  # type: ignore[attr-defined]
    assert apart.replace(named, x=5) == Named(5, seen=[4], name="b")  # type: ignore[attr-defined]
    assert apart.is_dataclass(named)  # type: ignore[attr-defined]
    assert not apart.is_dataclass(3)  # type: ignore[attr-defined]


def test_it_is_one_decorator_with_the_functions_that_go_with_it() -> None:
    assert asdict(replace(Open(), x=2)) == {"x": 2}
    assert [one.name for one in fields(Open)] == ["x"]
    assert is_dataclass(Open)


@pytest.mark.parametrize(("path", "expected"), [
    ("C:\\Users\\ada\\w", "{drives}/c/Users/ada/w"), ("c:/Users/ada", "{drives}/c/Users/ada"),
    ("/C:/Users/ada", "{drives}/c/Users/ada"), ("\\\\wsl$\\Ubuntu\\home\\ada", "/home/ada"),
    ("\\\\wsl.localhost\\Ubuntu-24.04\\home\\ada", "/home/ada"), ("//WSL.localhost/Ubuntu", "/"),
    ("D:\\w", "D:\\w"), ("/mnt/c/w", "/mnt/c/w"), ("/srv/a\\b", "/srv/a\\b"), ("a:b", "a:b"), ("", ""),
])  # fmt: skip
def test_a_folder_of_windows_is_found_from_wsl(
    path: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c").mkdir()
    monkeypatch.setattr(files, "_DRIVES", (str(tmp_path),))
    assert native(path, windows=False) == expected.format(drives=tmp_path)


@pytest.mark.parametrize(("path", "expected"), [
    ("/mnt/c/Users/ada", "c:/Users/ada"), ("/c/Users/ada", "c:/Users/ada"), ("/cygdrive/d/w", "d:/w"),
    ("/c:/Users/ada", "c:/Users/ada"), ("C:\\Users", "C:\\Users"), ("/home/ada", "/home/ada"),
    ("\\\\server\\share\\w", "\\\\server\\share\\w"), ("//server/share", "//server/share"), ("w", "w"), ("/", "/"),
])  # fmt: skip
def test_a_folder_of_wsl_or_of_a_shell_of_windows_is_found_from_windows(path: str, expected: str) -> None:
    assert native(path, windows=True) == expected
