"""The page in a real Chromium: actions and their undo, narrow, by keyboard, hostile, another server's form."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.interfaces.web.access import Access
from engram_py.settings import Settings
from tests.interfaces.http.asking import serving
from tests.interfaces.web.browser import Browser, chromium, until
from tests.interfaces.web.test_hostile import EVIL, TITLE

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
    browser.type("input[name=q]", "tea shelf" + ENTER)
    until(lambda: browser.address.endswith("/ui/?q=tea%20shelf&project=widgets"))
    until(lambda: browser.run("return document.querySelector('.hit') !== null"))
    browser.click(".hit h2 a")
    assert browser.address == place.home + "/ui/memory/1"
    browser.click("a.button")
    browser.type("textarea", "On the third shelf.\nBehind the cups.", clear=True)
    browser.press("Save")
    assert "Behind the cups." in browser.text
    with place.app() as app:
        assert app.get(1).observation.content == "On the third shelf.\nBehind the cups."
    browser.press("Undo")
    assert "second shelf" in browser.text
    browser.press("Delete")
    assert "Restore" in browser.text
    browser.press("Restore")
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


@pytest.mark.parametrize("width", [500, 1_200])
def test_no_page_is_wider_than_its_window(place: Place, width: int) -> None:
    place.browser.resize(width, 800)
    for path in ("/ui/", "/ui/?q=tea", "/ui/memory/1", f"/ui/memory/{place.evil}", f"/ui/memory/{place.evil}/edit",
                 "/ui/given", "/ui/ask?project=widgets", "/ui/today", "/ui/review", "/ui/worth", "/ui/projects",
                 "/ui/timeline"):  # fmt: skip
        place.open(path)
        wide, room = place.browser.run("const it = document.documentElement; return [it.scrollWidth, it.clientWidth]")
        assert wide <= room, path


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
        assert "this form is not one of this page's own" in place.browser.text
    with place.app() as app:
        assert not app.get(1).observation.pinned
    place.open("/ui/")
    assert "Recently changed" in place.browser.text
