"""The page's scripts in a real Chromium: keys, live parts, accessibility, and the content security policy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from bench.corpus import Corpus
from bench.filling import fill
from engram_py import Draft
from engram_py.guidance.guards.values import Guard
from engram_py.memory.observations.values import Change
from tests.interfaces.web.browser import until
from tests.interfaces.web.test_browser import ENTER, Place, place

__all__ = ["place"]
pytestmark = pytest.mark.browser
ESCAPE = "\ue00c"
FOCUSED = "return document.activeElement.getAttribute('href')"


def run(place: Place, *arguments: str, stdin: str = "") -> None:
    """Run a command of Engram as another process, as an agent does."""
    subprocess.run(
        [sys.executable, "-m", "engram_py", *arguments], cwd=place.folder, env={**os.environ}, input=stdin, text=True,
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip


def test_today_shows_what_another_process_saves_without_a_reload(place: Place) -> None:
    place.open("/ui/today?project=widgets")
    place.browser.run("window.loaded = 1")
    until(lambda: place.browser.run("return document.querySelector('[data-live-state]').innerText") == "live")
    run(place, "save", "The kettle is blue", "It was bought in March.")
    until(lambda: "The kettle is blue" in place.browser.text)
    run(place, "note", "The kettle boils over")
    until(lambda: "The kettle boils over" in place.browser.text)
    assert place.browser.run("return window.loaded") == 1
    assert place.refusals() == []


def test_today_follows_a_session_as_its_hooks_run(place: Place) -> None:
    place.open("/ui/today")
    hook = f'{{"session_id": "live-1", "cwd": "{place.folder}", "prompt": "where is the tea on the shelf?"}}'
    run(place, "hook", "session-start", "--agent", "claude-code", stdin=hook)
    until(lambda: "live-1" in place.browser.text)
    run(place, "hook", "user-prompt", "--agent", "claude-code", stdin=hook)
    row = "return [...document.querySelectorAll('#today article')].find(one => /live-1/.test(one.innerText)).innerText"
    until(lambda: "Where the tea is" in str(place.browser.run(row)))
    assert not re.search(r"\b0 tokens", str(place.browser.run(row)))


def test_a_part_that_is_replaced_keeps_the_focus_of_the_reader(place: Place) -> None:
    with place.app() as app:
        app.save(Draft("First note", "One.", "note"))
    place.open("/ui/today")
    place.browser.run(
        "[...document.querySelectorAll('#today a')].find(one => /First note/.test(one.innerText)).focus()"
    )
    focused = place.browser.run(FOCUSED)
    with place.app() as app:
        app.save(Draft("Second note", "Two.", "note"))
    until(lambda: "Second note" in place.browser.text)
    until(lambda: place.browser.run(FOCUSED) == focused)


def test_the_keyboard_alone_goes_from_a_search_to_an_edit(place: Place) -> None:
    browser = place.browser
    with place.app() as app:
        app.save(Draft("Where the tea pot is", "Beside the tea.", "note"))
    place.open("/ui/worth")
    with browser.leaving():
        browser.keys("/")
    browser.keys(*"tea jk?/", ENTER)  # in a text field they are letters
    until(lambda: "/ui/?q=tea" in browser.address)
    assert browser.run("return new URLSearchParams(location.search).get('q')") == "tea jk?/"
    browser.keys("/")
    browser.run("document.activeElement.select()")
    browser.keys(*"tea", ENTER)
    until(lambda: browser.address.endswith("/ui/?q=tea"))
    until(lambda: browser.run("return document.activeElement.id") == "found")
    browser.keys("j")
    first = browser.run(FOCUSED)
    browser.keys("j")
    second = browser.run(FOCUSED)
    assert first != second
    browser.keys("k")
    assert browser.run(FOCUSED) == first
    with browser.leaving():
        browser.keys("e")
    assert browser.address == f"{place.home}{first}/edit"
    browser.type("textarea", "On the fourth shelf.", clear=True)
    browser.press("Save")
    assert "On the fourth shelf." in browser.text
    with browser.leaving():
        browser.keys("u")
    assert "Edit undone." in browser.text
    with browser.leaving():
        browser.keys("e")
    assert browser.address == f"{place.home}{first}/edit"
    assert place.refusals() == []


def test_enter_opens_what_j_chose_and_escape_leaves_the_search_field(place: Place) -> None:
    place.open("/ui/")
    assert place.browser.run("return document.activeElement.name") == "q"
    place.browser.keys(ESCAPE, "j")
    chosen = place.browser.run(FOCUSED)
    with place.browser.leaving():
        place.browser.keys(ENTER)
    assert place.browser.address == place.home + chosen


def test_a_question_mark_shows_the_keys_and_escape_gives_the_focus_back(place: Place) -> None:
    place.open("/ui/memory/1")
    place.browser.run("document.querySelector('a.button').focus()")
    place.browser.keys("?")
    assert place.browser.run("return document.querySelector('dialog').open")
    assert "verdict on a pair" in place.browser.text
    place.browser.keys("e")
    assert place.browser.address == place.home + "/ui/memory/1"  # a key does nothing below the dialog
    place.browser.keys(ESCAPE)
    assert not place.browser.run("return document.querySelector('dialog').open")
    assert place.browser.run("return document.activeElement.matches('a.button')")


def test_review_takes_one_key_for_each_verdict_and_stays_in_its_place(place: Place) -> None:
    with place.app() as app:
        for one in ("cup", "jug", "pan"):
            app.save(Draft(f"Derived {one}", f"The {one} is derived.", "note", origin="derived"))
    place.open("/ui/review")
    place.browser.keys("a")  # nothing was chosen: the first press chooses
    first = place.browser.run(FOCUSED)
    for key in ("a", "d"):
        with place.browser.leaving():
            place.browser.keys(key)
    with place.browser.leaving():
        place.browser.keys("e")
    changed = first.rpartition("/")[2]
    with place.app() as app:
        found = app.store.tuples("select id, origin, deleted_at is not null from observations where id > 2 order by id")
    assert sorted(one[1:] for one in found) == [("derived", 0), ("derived", 1), ("user", 0)]
    assert (int(changed), "user", 0) in found
    [left] = [row for row, *state in found if state == ["derived", 0]]
    assert place.browser.address == f"{place.home}/ui/memory/{left}/edit"


def test_a_search_replaces_its_results_and_goes_back_without_losing_them(place: Place) -> None:
    browser = place.browser
    with place.app() as app:
        app.save(Draft("Where the coffee is", "In the tin of tea.", "decision"))
    place.open("/ui/?q=tea")
    browser.run("window.loaded = 1")
    browser.run(
        "const scope = document.querySelector('select[name=scope]'); scope.value = 'personal';"
        " scope.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    until(lambda: browser.address.endswith("/ui/?q=tea&scope=personal"))
    until(lambda: "scope: personal" in browser.text)
    assert browser.run("return window.loaded") == 1
    browser.run("history.back()")
    until(lambda: browser.address.endswith("/ui/?q=tea"))
    until(lambda: "Where the coffee is" in browser.text)
    browser.keys("j", "w")
    assert "its best passage" in browser.text
    assert place.refusals() == []


def test_a_query_that_is_refused_says_so_in_its_place(place: Place) -> None:
    place.open("/ui/")
    place.browser.run("window.loaded = 1")
    place.browser.type("input[type=search]", "is:nonsense tea" + ENTER)
    until(lambda: "is:nonsense" in str(place.browser.run("return document.getElementById('found').innerText")))
    assert place.browser.run("return window.loaded") == 1


def test_a_browser_that_is_let_in_no_more_is_told_by_the_whole_page(place: Place) -> None:
    place.open("/ui/")
    place.browser.forget()
    with place.browser.leaving():
        place.browser.type("input[type=search]", "tea" + ENTER)
    assert "this browser has no access" in place.browser.text


def test_nothing_of_the_memory_stays_in_the_browser(place: Place) -> None:
    """htmx would keep pages for the way back; it keeps the address, as the browser does."""
    place.open("/ui/?q=tea")
    place.browser.type("input[type=search]", " shelf" + ENTER)
    until(lambda: place.browser.address.endswith("q=tea%20shelf"))
    assert place.browser.run("return Object.keys(localStorage)") == []
    assert place.browser.run("return Object.values(sessionStorage)") == ["/ui/?q=tea%20shelf"]


def test_without_scripts_search_and_today_work_by_loading_pages(place: Place) -> None:
    browser = place.browser
    browser.scripts(on=False)
    place.open("/ui/")
    browser.type("input[type=search]", "tea shelf" + ENTER)
    browser.scripts(on=True)
    until(lambda: "Where the tea is" in browser.text and "q=tea+shelf" in browser.address)
    browser.scripts(on=False)
    place.open("/ui/today")
    run(place, "save", "The kettle is blue", "It was bought in March.")
    place.open("/ui/today")
    browser.scripts(on=True)
    assert "The kettle is blue" in browser.text
    assert "Keys" not in browser.text
    assert "live" not in browser.text


def test_an_inline_handler_does_not_run_and_no_other_host_is_asked(place: Place) -> None:
    place.open("/ui/")
    place.browser.log()
    place.browser.run("document.body.setAttribute('onclick', 'window.ran = 1'); document.body.click()")
    assert place.browser.run("return window.ran === undefined")
    assert place.browser.run("return fetch('https://evil.example/').then(() => 'asked', () => 'refused')") == "refused"
    log = " ".join(place.browser.log())
    assert "inline event handler" in log
    assert "connect-src 'self'" in log


AXE = "4.14.1"
CACHE = Path(os.environ.get("ENGRAM_CLIENTS_CACHE") or Path.home() / ".cache" / "engram-clients")
NARROW = 360
REFUSED = "/ui/memory/999"


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core, fetched once; the tests are skipped where the registry does not answer."""
    folder = CACHE / f"axe-core-{AXE}"
    script = folder / "package" / "axe.min.js"
    if not script.exists():
        if shutil.which("npm") is None:
            pytest.skip("axe-core needs npm, which is not on the PATH")
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", f"axe-core@{AXE}", "--silent", "--fetch-retries=0"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip("the npm registry does not answer")
        if done.returncode:
            pytest.skip(f"npm could not fetch axe-core: {done.stderr.strip()[-300:]}")
        shutil.unpack_archive(folder / f"axe-core-{AXE}.tgz", folder)
    return script.read_text(encoding="utf-8")


def pages(place: Place) -> list[str]:
    with place.app() as app:
        app.sessions.start("seen", project="widgets")
        app.entities.link("Ada", "works_on", "Tea", project="widgets")
        app.prompts.save("where is the zebra?", session_id="seen")
        app.citations.inject("seen", {1: 40}, "session")
        gone = app.save(Draft("Where the sugar is", "In the cellar.", "note")).id
        app.observations.delete(gone)
        app.save(Draft("The API listens on port 8080", "It was moved there in May.", "config"))
        app.save(Draft("The API listens on port 9090", "It was moved there in June.", "config"))
    entities = "/ui/entities?project=widgets"
    return [
        "/ui/", "/ui/?q=tea", "/ui/?q=zebra", "/ui/memory/1", f"/ui/memory/{place.evil}", "/ui/memory/1/edit", REFUSED,
        "/ui/given", "/ui/session?id=seen", "/ui/ask?project=widgets", "/ui/today", "/ui/review", "/ui/worth",
        entities, f"{entities}&name=Ada", "/ui/projects", "/ui/timeline", "/ui/settings", "/ui/new", "/ui/guards",
        "/ui/upkeep", "/ui/?type=note", f"/ui/memory/{gone}", "/ui/clear?what=everything", "/ui/ask?prompt=tea",
    ]  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1_280])
def test_axe_finds_nothing_serious_on_any_page(place: Place, axe: str, theme: str, width: int) -> None:
    place.browser.theme(theme)
    place.browser.narrow(width)
    found: dict[str, object] = {}
    for path in pages(place):
        place.open(path)
        assert (place.browser.run("return document.title").startswith("Refused")) == (path == REFUSED), path
        place.browser.run(axe)
        if path == "/ui/":
            place.browser.keys(ESCAPE, "?")
            assert place.browser.run("return document.querySelector('dialog').open")
        worst = place.browser.run(
            "return axe.run().then(all => all.violations.filter(one => ['serious', 'critical'].includes(one.impact))"
            ".map(one => one.id + ': ' + one.nodes.map(node => node.html.slice(0, 150)).slice(0, 3).join(' | ')))"
        )
        if worst:
            found[path] = worst
    assert found == {}


def test_the_project_of_the_bar_acts_at_once_and_keeps_the_search(place: Place) -> None:
    browser = place.browser
    place.open("/ui/")
    browser.type("input[type=search]", "tea" + ENTER)
    until(lambda: browser.address.endswith("/ui/?q=tea"))
    with browser.leaving():
        browser.run(
            "const one = document.querySelector('[data-acts]'); one.value = 'widgets';"
            " one.dispatchEvent(new Event('change', {bubbles: true}))"
        )
    assert browser.address.endswith("/ui/?q=tea&project=widgets")
    browser.narrow(NARROW)
    assert not browser.run("return document.querySelector('a[href^=\"/ui/worth\"]').checkVisibility()")
    browser.run("document.querySelector('.more > summary').click()")
    assert browser.run("return document.querySelector('a[href^=\"/ui/worth\"]').checkVisibility()")


def test_a_setting_acts_at_once_and_keeps_the_focus(place: Place) -> None:
    browser = place.browser
    place.open("/ui/settings")
    with browser.leaving():
        browser.run(
            "const one = document.querySelector('[aria-label=hook_pretool]'); one.value = 'on';"
            " one.dispatchEvent(new Event('change', {bubbles: true}))"
        )
    assert "hook_pretool is on" in browser.text
    assert browser.run("return document.activeElement.getAttribute('aria-label')") == "hook_pretool"
    assert '"hook_pretool": true' in (place.data_dir / "config.json").read_text()
    assert browser.run("return sessionStorage.getItem('engram.field')") is None


def test_no_page_scrolls_sideways_on_a_phone(place: Place) -> None:
    place.browser.narrow(NARROW)
    for path in pages(place):
        place.open(path)
        wide, room = place.browser.run("const it = document.documentElement; return [it.scrollWidth, it.clientWidth]")
        assert wide <= room <= NARROW, path


WIDTHS = (390, 768, 1_280)
TALLEST = 4_000


@pytest.fixture
def large(place: Place) -> Place:
    """A memory of 5,000 in three projects, with a lot of everything that a page lists."""
    fill(place.data_dir, place.folder, Corpus.load().many(4_900), projects=3, step=timedelta(minutes=30))
    long = "Why does the worker lose jobs when it reconnects to the queue in the middle of a deployment? " * 5
    with place.app() as app:
        for number in range(200, 240):
            for turn in range(12):
                app.prompts.save(f"{turn} {long}", session_id=f"bench-{number}")
            shown = dict.fromkeys(range(number, number + 12), 400)
            app.citations.inject(f"bench-{number}", shown, "session")
            app.citations.inject(f"bench-{number}", shown, "prompt")
        for number in range(60):
            app.entities.link(f"Service {number}", "depends_on", f"Library {number}", project="widgets")
            app.save(Draft(f"Derived {number}", long, "discovery", origin="derived"))
            app.save(Draft(f"Note {number}", long, "note"))
            app.identity.add(f"I prefer tool number {number} over its neighbours", project="widgets", origin="user")
        for number in range(20):
            row = app.save(Draft(f"Call tool{number} and not tool{number}x", long, "decision")).id
            app.observations.update(row, Change(content="A line of a long text.\n\n" * 600))
            app.guards.add(row, Guard(command=f"tool{number}x *", use=f"tool{number}"))
    return place


def test_no_page_of_5_000_memories_is_taller_than_4_000_pixels(large: Place) -> None:
    tall: dict[tuple[str, int], object] = {}
    with large.app() as app:
        last = app.bulk.listed("type:decision").items[0].id
    more = ("/ui/?type=bugfix", "/ui/?q=queue", "/ui/session?id=bench-239", "/ui/ask?project=widgets&prompt=worker")
    for path in [*pages(large), *more, f"/ui/memory/{last}"]:
        for width in WIDTHS:
            large.browser.narrow(width)
            large.open(path)
            found = large.browser.run("const it = document.documentElement; return [it.scrollHeight, it.scrollWidth]")
            if found[0] > TALLEST or found[1] > width:
                tall[path, width] = found
    assert tall == {}
