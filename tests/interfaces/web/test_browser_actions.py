"""Each further action on a memory in a real Chromium, and its undo."""

from __future__ import annotations

import pytest

from engram_py import Draft
from tests.interfaces.web.test_browser import Place, place

__all__ = ["place"]
pytestmark = pytest.mark.browser


def state(place: Place, row: int = 1) -> tuple[str, str | None]:
    with place.app() as app:
        found = app.get(row).observation
        return found.lifecycle, found.project


def unfold(place: Place) -> None:
    place.browser.run("[...document.querySelectorAll('summary')].find(one => /Merge/.test(one.innerText)).click()")


def test_a_memory_is_archived_and_the_archiving_undone(place: Place) -> None:
    place.open("/ui/memory/1")
    place.browser.press("Archive")
    assert state(place) == ("archived", "widgets")
    place.browser.press("Undo")
    assert state(place) == ("active", "widgets")


def test_an_archived_memory_is_unarchived(place: Place) -> None:
    place.open("/ui/memory/1")
    place.browser.press("Archive")
    place.open("/ui/memory/1")
    place.browser.press("Restore")
    assert state(place) == ("active", "widgets")


def test_a_memory_is_moved_and_moved_back(place: Place) -> None:
    with place.app() as app:
        app.save(Draft("Gadgets", "They are blue.", "note"), project="gadgets")
    place.open("/ui/memory/1")
    unfold(place)
    place.browser.press("Move")
    assert state(place) == ("active", "gadgets")
    place.browser.press("Undo")
    assert state(place) == ("active", "widgets")


def test_a_memory_is_merged_and_the_merge_taken_back(place: Place) -> None:
    with place.app() as app:
        other = app.save(Draft("Where the coffee is", "In the tin.", "note")).id
    place.open("/ui/memory/1")
    unfold(place)
    place.browser.type("input[name=into]", str(other))
    place.browser.press("Merge")
    assert state(place)[0] != "active"
    place.browser.press("Undo")
    assert "Merge undone" in place.browser.text
    assert state(place) == ("active", "widgets")
