"""What a question about days says of the memories that it has no room for."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.interfaces.wording import render
from engram_py.settings import Settings
from tests.memory import FakeClock

MORE = re.compile(r'\((\d+(?: or more)?) more saved then: search\("([^"]*)"\)\)')


def told(app: Engram, prompt: str, **arguments: Any) -> str:
    return render.text(app.contexts.assemble(query=prompt, **arguments), now=app.journal.moment(), door="python")


@pytest.fixture
def week(app: Engram, clock: FakeClock) -> Engram:
    """A Thursday after a week in which one session left a summary and three memories, and others two more."""
    clock.now = datetime(2026, 2, 25, 10, tzinfo=UTC)
    app.episodes.summarize("## Goal\nCSV parser\n", session_id="s-parser")
    for number in range(3):
        app.save(Draft(f"Quotes, part {number}", f"Doubled by rule {number}.", "gotcha"), session_id="s-parser")
    app.save(Draft("Chose uv", "It locks.", "decision"), session_id="s-1")
    app.save(Draft("Menu of the canteen", "Fish on Friday.", "note"), session_id="s-1")
    clock.now = datetime(2026, 3, 5, 10, tzinfo=UTC)
    app.save(Draft("Chose ruff", "Today.", "decision"), session_id="s-2")
    return app


@pytest.mark.parametrize("prompt", ["what happened last week?", "what was decided last week"])
def test_days_of_a_summary_say_how_many_more_were_saved_and_what_lists_them(week: Engram, prompt: str) -> None:
    found = MORE.search(told(week, prompt))

    assert found is not None
    assert found[1] == "5"
    assert len(week.searches.search(found[2]).results) == 6
    assert render.to_json(week.contexts.assemble(query=prompt), door="python")["note"] == found[0][1:-1]


def test_a_reason_asked_of_days_says_so_too_and_one_that_is_whole_does_not(week: Engram, clock: FakeClock) -> None:
    for number in range(4):
        week.save(Draft(f"Chose color {number}", f"Of hue {number}.", "decision"), session_id="s-2")
    clock.advance(days=1)

    assert MORE.search(told(week, "what did we decide yesterday?")) is None
    for number in range(4):
        week.save(Draft(f"Chose hue {number}", f"Of color {number}.", "decision"), session_id="s-2")
    clock.advance(days=1)
    assert MORE.search(told(week, "what did we decide this week?"))


def test_a_question_about_something_in_those_days_does_not_count_the_others(week: Engram) -> None:
    assert "Chose uv" in told(week, "why did we choose uv last week?")
    assert MORE.search(told(week, "why did we choose uv last week?")) is None


def test_the_note_stays_within_the_budget(week: Engram) -> None:
    said = told(week, "what happened last week?", budget_tokens=100)

    assert len(said.encode()) <= 400
    assert MORE.search(said)


def test_days_of_another_zone_are_told_by_their_moments(data_dir: Path, folder: Path, clock: FakeClock) -> None:
    with Engram(settings=Settings(data_dir, clock=clock, timezone="Europe/Berlin"), directory=folder) as app:
        clock.now = datetime(2026, 3, 3, 23, 30, tzinfo=UTC)  # in Berlin already the 4th
        app.episodes.summarize("## Goal\nCSV parser\n", session_id="s-parser")
        late = app.save(Draft("Chose uv", "It locks.", "decision"), session_id="s-parser").id
        clock.now = datetime(2026, 3, 5, 10, tzinfo=UTC)

        found = MORE.search(told(app, "what happened yesterday?"))

        assert found is not None
        assert found[2] == "since:2026-03-03T23:00:00.000Z until:2026-03-04T23:00:00.000Z"
        assert late in {hit.id for hit in app.searches.search(found[2]).results}
