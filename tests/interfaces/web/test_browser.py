"""The page in a real Chromium: actions and their undo, narrow, by keyboard, hostile, another server's form."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.interfaces.web.access import Access
from tests.interfaces.http.asking import serving
from tests.interfaces.web.browser import Browser, chromium, until
from tests.interfaces.web.test_assets import EVIL, TITLE
from tests.support import FakeClock

pytestmark = pytest.mark.browser
TAB, ENTER = "\ue004", "\ue007"


@dataclass
class Place:
    browser: Browser
    home: str
    data_dir: Path
    folder: Path
    evil: int

    def open(self, path: str) -> None:
        self.browser.open(self.home + path)

    def app(self) -> Engram:
        return Engram(settings=Settings(self.data_dir), directory=self.folder)

    def refusals(self) -> list[str]:
        """What the browser complained about, other than a refusal that a test asked for."""
        return [line for line in self.browser.log() if "favicon" not in line]


@pytest.fixture
def place(tmp_path: Path, data_dir: Path, folder: Path) -> Iterator[Place]:
    """A browser that came by the link, and a memory that holds a hostile row."""
    with Engram(settings=Settings(data_dir), directory=folder) as app:
        app.save(Draft("Where the tea is", "On the second shelf.", "note"))
        evil = app.save(Draft(TITLE, EVIL, "note")).id
    with chromium(tmp_path / "profile") as browser, serving(folder) as server:
        home = f"http://127.0.0.1:{server.port}"
        access = Access(data_dir)
        token = access.link_token()
        link = f"{home}/ui/enter?token={token}&project=widgets"
        browser.open(access.leading_to(link, token).as_uri())  # as `engram open` starts it
        until(lambda: browser.address == f"{home}/ui/?project=widgets")
        yield Place(browser, home, data_dir, folder, evil)


def test_a_memory_is_found_edited_and_the_edit_undone(place: Place) -> None:
    browser = place.browser
    assert browser.address == place.home + "/ui/?project=widgets"
    browser.type("input[type=search]", "tea shelf" + ENTER)
    until(lambda: browser.address.endswith("/ui/?q=tea%20shelf&project=widgets"))
    until(lambda: browser.run("return document.querySelector('.hit') !== null"))
    browser.click(".hit h2 a")
    assert browser.address == place.home + "/ui/memory/1"
    browser.click("main a.button")
    browser.type("textarea", "On the third shelf.\nBehind the cups.", clear=True)
    browser.press("Save")
    assert "Behind the cups." in browser.text
    with place.app() as app:
        assert app.get(1).observation.content == "On the third shelf.\nBehind the cups."
    browser.press("Undo")
    assert "second shelf" in browser.text
    browser.press("Delete")
    assert "Undelete" in browser.text
    browser.press("Undelete")
    browser.press("Pin")
    browser.press("Undo")
    with place.app() as app:
        assert app.get(1).observation.content == "On the second shelf."
        assert not app.get(1).observation.pinned
    assert [one for one in browser.log() if "favicon" not in one and "410" not in one] == []


def test_nothing_of_a_hostile_memory_runs_or_is_fetched(place: Place) -> None:
    for path in ("/ui/", "/ui/?q=tea", f"/ui/memory/{place.evil}", f"/ui/memory/{place.evil}/edit", "/ui/timeline"):
        place.open(path)
        assert not place.browser.alert()
        assert place.browser.run("return document.images.length") == 0
        assert place.browser.run("return [...document.scripts].every(one => one.src.includes('/ui/static/'))")
        fetched = place.browser.run("return performance.getEntriesByType('resource').map(one => one.name)")
        assert all(str(one).startswith((f"{place.home}/ui/static/", f"{place.home}/favicon.ico")) for one in fetched)
        assert place.browser.run("return getComputedStyle(document.querySelector('h1')).display") != "none"
    # What a script put here anyway would not run.
    place.browser.run("const one = document.createElement('script'); one.text = 'window.ran = 1';"
                      " document.body.append(one)")  # fmt: skip
    assert place.browser.run("return window.ran === undefined")


def test_the_keyboard_alone_gets_everywhere(place: Place) -> None:
    place.open("/ui/memory/1")
    place.browser.keys(TAB, ENTER)
    assert place.browser.address.endswith("#main")
    place.browser.keys(TAB)
    assert place.browser.run("return document.activeElement.closest('main') !== null")
    assert place.browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    place.browser.run("document.querySelector('form[action$=pin] button').focus()")
    with place.browser.leaving():
        place.browser.keys(ENTER)
    assert "Pinned: every session" in place.browser.text


@contextmanager
def another_site(html: str) -> Iterator[str]:
    """A server on another port of this machine: another origin, but the same site to a browser."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def test_a_form_of_another_server_of_this_machine_changes_nothing(place: Place) -> None:
    """The browser sends our cookie with it: it is the Origin and the token that refuse it."""
    html = f'<form method="post" action="{place.home}/ui/memory/1/pin"><input name="to" value="on"><button>Go</button>'
    with another_site(html) as address:
        place.browser.open(address)
        place.browser.press("Go")
        assert "this form does not come from this page" in place.browser.text
    with place.app() as app:
        assert not app.get(1).observation.pinned
    place.open("/ui/")
    assert "Recently changed" in place.browser.text


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
    assert worked.refusals() == []


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


NARROW = 360


def test_words_of_ten_thousand_letters_are_refused_or_fit_a_narrow_window(place: Place) -> None:
    with place.app() as app:
        row = app.save(Draft("y" * 1_000, "z" * 10_000, "w" * 60, topic_key="k/" + "v" * 100)).id
    place.browser.narrow(NARROW)
    place.open(f"/ui/memory/{row}/edit")
    place.browser.run("const one = document.querySelector('[name=title]'); one.removeAttribute('maxlength');"
                      " one.value = 'x'.repeat(10_000)")  # fmt: skip
    place.browser.press("Save")
    assert "Not saved" in place.browser.text
    with place.app() as app:
        assert app.get(row).observation.title == "y" * 1_000
    for path in ("/ui/", f"/ui/memory/{row}", f"/ui/memory/{row}/edit", "/ui/timeline", "/ui/today"):
        place.open(path)
        wide, room = place.browser.run("const it = document.documentElement; return [it.scrollWidth, it.clientWidth]")
        assert wide <= room <= NARROW, path
