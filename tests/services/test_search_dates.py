"""Questions that name a date."""

from __future__ import annotations

import pytest

from engram_py import Engram
from tests.services.conftest import FakeClock
from tests.services.searching import ids, kept

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
