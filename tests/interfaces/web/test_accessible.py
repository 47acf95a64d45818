"""Every page in a real Chromium under axe-core, in the light and in the dark, and 360 pixels wide."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.interfaces.web.test_browser import Place, place
from tests.interfaces.web.test_browser_scripts import ESCAPE

__all__ = ["place"]
pytestmark = pytest.mark.browser
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
    entities = "/ui/entities?project=widgets"
    return [
        "/ui/", "/ui/?q=tea", "/ui/?q=zebra", "/ui/memory/1", f"/ui/memory/{place.evil}", "/ui/memory/1/edit", REFUSED,
        "/ui/given", "/ui/session?id=seen", "/ui/ask?project=widgets", "/ui/today", "/ui/review", "/ui/worth",
        entities, f"{entities}&name=Ada", "/ui/projects", "/ui/timeline", "/ui/settings",
    ]  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(place: Place, axe: str, theme: str) -> None:
    place.browser.theme(theme)
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


def test_no_page_scrolls_sideways_on_a_phone(place: Place) -> None:
    place.browser.narrow(NARROW)
    for path in pages(place):
        place.open(path)
        wide, room = place.browser.run("const it = document.documentElement; return [it.scrollWidth, it.clientWidth]")
        assert wide <= room <= NARROW, path
