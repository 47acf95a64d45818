"""The plots of Worth in a real Chromium: each draws its column of a table, and says what the table says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram_py import Draft, Engram
from engram_py.settings import Settings
from tests.interfaces.web.browser import until
from tests.interfaces.web.test_browser import Place, place
from tests.interfaces.web.test_browser_scripts import refusals
from tests.memory import FakeClock

__all__ = ["place"]
pytestmark = pytest.mark.browser
WEEKS = 6
PLOTS = 6
SAID = "return [...document.querySelectorAll('.plot')].map(one => one.querySelectorAll('.u-value')[1].textContent)"
CELLS = """
return [...document.querySelectorAll('.plot')].map(one => {
    const rows = [...document.getElementById(one.dataset.table).tBodies[0].rows].reverse();
    return rows.map(row => row.cells[one.dataset.column].textContent.trim());
})
"""
# The share of the pixels of each plot that hold ink.
INKED = """
return [...document.querySelectorAll('.plot canvas')].map(one => {
    const pixels = one.getContext('2d').getImageData(0, 0, one.width, one.height).data;
    return pixels.filter((value, place) => place % 4 === 3 && value > 0).length / (one.width * one.height);
})
"""


@pytest.fixture
def worked(place: Place) -> Place:
    """Sessions of some weeks, each week with more than the one before."""
    clock = FakeClock(datetime.now(UTC) - timedelta(weeks=WEEKS - 1))
    with Engram(settings=Settings(place.data_dir, clock=clock), directory=place.folder) as app:
        for week in range(WEEKS):
            name = app.sessions.start(f"week-{week}", project="widgets").session.id
            row = app.save(Draft(f"Tea {week}", f"The shelf number {week}.", "note"), session_id=name).id
            app.prompts.save(f"where is the tea {week}?", session_id=name)
            app.citations.inject(name, {1: 40, row: 40}, "session")
            app.citations.cite(name, [row])
            with app.store.transaction():
                app.ledger.injected(name, "session-start", 4_000 * (week + 1))
            clock.advance(weeks=1)
    return place


def test_each_plot_says_under_the_pointer_what_its_table_says(worked: Place) -> None:
    browser = worked.browser
    browser.narrow(1_000)
    worked.open("/ui/worth")
    cells = browser.run(CELLS)
    assert len(cells) == PLOTS
    assert [one for one in cells if len(one) < WEEKS] == []
    assert "6,000" in cells[0]
    assert browser.run(SAID) == [one[-1] for one in cells]  # before the pointer is anywhere: the latest
    for number, column in enumerate(cells):
        browser.run(f"document.querySelectorAll('.plot')[{number}].scrollIntoView({{block: 'center'}})")
        for place_of, expected in enumerate(column):
            browser.hover(".plot .u-over", nth=number, share=(place_of + 0.5) / len(column))
            until(lambda: browser.run(SAID)[number] == expected)  # noqa: B023 - called before the next turn
    assert min(browser.run(INKED)) > 0.005
    assert refusals(worked) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_plots_take_the_colours_of_the_theme_as_it_changes(worked: Place, theme: str) -> None:
    browser = worked.browser
    browser.theme("dark" if theme == "light" else "light")
    worked.open("/ui/worth")
    ink = "return getComputedStyle(document.documentElement).getPropertyValue('--link').trim()"
    before = browser.run(ink)
    browser.theme(theme)
    assert browser.run(ink) != before
    drawn = """
        const canvas = document.querySelector('.plot canvas'), seen = {};
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        for (let place = 0; place < pixels.length; place += 4)
            if (pixels[place + 3] === 255) {
                const name = [...pixels.slice(place, place + 3)].map(one => one.toString(16).padStart(2, '0')).join('');
                seen[name] = (seen[name] || 0) + 1;
            }
        return '#' + Object.keys(seen).sort((one, other) => seen[other] - seen[one])[0];
    """
    until(lambda: browser.run(drawn) == browser.run(ink))


def test_without_scripts_the_table_alone_is_there(worked: Place) -> None:
    worked.browser.scripts(on=False)
    worked.open("/ui/worth")
    worked.browser.scripts(on=True)
    assert "Tokens by week" not in worked.browser.text
    assert "Week by week" in worked.browser.text
    assert "6,000" in worked.browser.text
