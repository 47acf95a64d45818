"""How long is waited, and moments that another clock wrote."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram_py.sync.autosync.schedule import delay, passed, remaining
from engram_py.times import to_text

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


def text(**away: float) -> str:
    return to_text(NOW + timedelta(**away))


def test_the_wait_doubles_up_to_five_minutes_a_quarter_more_or_less() -> None:
    assert [delay(failures, chance=0.5) for failures in (1, 2, 3, 4)] == [1, 2, 4, 8]
    assert [delay(3, chance=chance) for chance in (0.0, 0.5, 1.0)] == [3, 4, 5]
    assert delay(10_000, chance=1.0) == 300
    assert delay(10_000, chance=0.0) == 180


def test_what_the_server_asked_for_is_the_least_but_not_a_day() -> None:
    assert delay(1, chance=0.5, retry_after=77) == 77
    assert delay(9, chance=0.5, retry_after=1) > 100
    assert delay(1, chance=0.5, retry_after=86_400) == 3_600


@pytest.mark.parametrize(
    ("until", "left"),
    [
        pytest.param(text(seconds=10), 10, id="ahead"),
        pytest.param(text(seconds=-10), 0, id="over"),
        pytest.param(text(days=400), 0, id="from-a-clock-that-was-wrong"),
        pytest.param(None, 0, id="none"),
        pytest.param("nonsense", 0, id="no-time"),
    ],
)
def test_a_moment_that_nobody_would_have_set_is_not_waited_for(until: str | None, left: float) -> None:
    assert remaining(until, NOW, most=60) == left


def test_a_moment_of_the_future_was_long_ago() -> None:
    assert passed(text(days=3), NOW, seconds=30)
    assert passed(text(seconds=-30), NOW, seconds=30)
    assert not passed(text(seconds=-29), NOW, seconds=30)
    assert passed(None, NOW, seconds=30)
