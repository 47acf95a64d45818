"""The hybrid logical clock: it only goes forward, and its text sorts as it does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.clock import ZERO, Stamp, new_device_id, next_stamp, parse_stamp

# Year 10889 is where 12 hex digits of milliseconds end; Python's own times end at 9999.
walls = st.integers(min_value=-(2**40), max_value=253_402_300_799_999)
devices = st.text(alphabet="0123456789abcdef", min_size=16, max_size=16)
stamps = st.builds(
    Stamp, st.integers(min_value=0, max_value=2**48 - 1), st.integers(min_value=0, max_value=0xFFFF), devices
)


@given(st.lists(st.tuples(walls, devices), min_size=1))
def test_each_stamp_is_later_than_the_one_before_whatever_the_wall_clock_does(events: list[tuple[int, str]]) -> None:
    last = ""
    for wall, device in events:
        stamp = next_stamp(last, now_milliseconds=wall, device=device)
        assert stamp > last
        assert parse_stamp(stamp) > parse_stamp(last or ZERO)
        assert parse_stamp(stamp).milliseconds >= wall
        assert parse_stamp(stamp).device == device
        last = stamp


@given(stamps, stamps)
def test_text_order_is_clock_order(one: Stamp, other: Stamp) -> None:
    assert (str(one) < str(other)) == (one < other)


@given(stamps)
def test_a_stamp_is_read_back_as_it_was_written(stamp: Stamp) -> None:
    assert parse_stamp(str(stamp)) == stamp


@pytest.mark.parametrize(
    ("last", "wall", "expected"),
    [
        pytest.param("000000000005-0007-aa", 6, "000000000006-0000-bb", id="moves"),
        pytest.param("000000000005-0007-aa", 5, "000000000005-0008-bb", id="stands"),
        pytest.param("000000000005-0007-aa", -1, "000000000005-0008-bb", id="set-back"),
        pytest.param("000000000005-ffff-aa", 5, "000000000006-0000-bb", id="counter-full"),
    ],
)
def test_a_clock_that_stands_or_was_set_back_counts_on(last: str, wall: int, expected: str) -> None:
    assert next_stamp(last, now_milliseconds=wall, device="bb") == expected
    assert next_stamp("", now_milliseconds=0, device="aa") > ZERO


@pytest.mark.parametrize(
    "text", ["", "x", "5-0-a", "000000000005-0000", "000000000005-0000-AA", "000000000005-0000-aa\n", "-" * 20]
)
def test_what_is_no_stamp_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a clock stamp"):
        parse_stamp(text)


def test_devices_are_hex_and_differ() -> None:
    made = {new_device_id() for _ in range(100)}
    assert len(made) == 100
    assert all(parse_stamp(str(Stamp(1, 1, device))).device == device for device in made)
