"""What the page refuses in a real Chromium: stale edits, wrong links, foreign forms; and texts that try to break it."""

from __future__ import annotations

import pytest

from engram_py import Draft
from engram_py.interfaces.web.access import Access
from engram_py.observations.values import Change
from tests.interfaces.web.test_browser import Place, another_site, place

__all__ = ["place"]
pytestmark = pytest.mark.browser
NARROW = 360


def test_a_stale_edit_is_refused_with_both_texts_and_kept_when_sent_again(place: Place) -> None:
    browser = place.browser
    place.open("/ui/memory/1/edit")
    with place.app() as app:
        app.observations.update(1, Change(content="An agent moved it to the cellar."))
    browser.type("textarea", "I moved it to the attic.", clear=True)
    browser.press("Save")
    assert "Not saved" in browser.text
    assert "An agent moved it to the cellar." in browser.text
    assert browser.run("return document.querySelector('textarea').value") == "I moved it to the attic."
    browser.press("Save")
    with place.app() as app:
        assert app.get(1).observation.content == "I moved it to the attic."
    assert "An agent moved it to the cellar." in browser.text


def test_a_stale_page_deletes_nothing(place: Place) -> None:
    place.open("/ui/memory/1")
    with place.app() as app:
        app.observations.update(1, Change(content="An agent moved it to the cellar."))
    place.browser.press("Delete")
    assert "was changed meanwhile" in place.browser.text
    place.browser.click("main p a")
    assert "An agent moved it to the cellar." in place.browser.text


def test_a_wrong_or_used_link_lets_nobody_in(place: Place) -> None:
    used = Access(place.data_dir).link_token()
    assert Access(place.data_dir).enter(used)
    place.browser.forget()
    for token in ("", "swordfish", f"{used[:-1]}x"):
        place.open(f"/ui/enter?token={token}")
        assert "each works once" in place.browser.text
        place.open("/ui/memory/1")
        assert "engram open" in place.browser.text
        assert "second shelf" not in place.browser.text
    good = Access(place.data_dir).link_token()
    place.open(f"/ui/enter?token={good}")
    assert "Recently changed" in place.browser.text
    place.browser.forget()
    place.open(f"/ui/enter?token={good}")
    assert "each works once" in place.browser.text


@pytest.mark.parametrize("action", ["edit", "delete", "merge", "move", "archive"])
def test_a_form_of_another_origin_changes_no_memory(place: Place, action: str) -> None:
    fields = "".join(f'<input name="{name}" value="2">' for name in ("content", "title", "into", "to", "seen"))
    form = f'<form method="post" action="{place.home}/ui/memory/1/{action}">{fields}<button>Go</button></form>'
    with another_site(form) as address:
        place.browser.open(address)
        place.browser.press("Go")
    assert "this form is not one of this page's own" in place.browser.text
    with place.app() as app:
        assert app.get(1).observation.content == "On the second shelf."
        assert app.get(1).observation.lifecycle == "active"


def test_a_form_with_a_wrong_token_changes_nothing(place: Place) -> None:
    place.open("/ui/memory/1")
    place.browser.run("document.querySelectorAll('[name=form_token]').forEach(one => { one.value = 'x' })")
    place.browser.press("Pin")
    assert "this form is not one of this page's own" in place.browser.text
    with place.app() as app:
        assert not app.get(1).observation.pinned


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


def test_text_that_turns_around_or_links_to_a_script_is_shown_as_it_is(place: Place) -> None:
    with place.app() as app:
        text = (
            "\u202egnp.exe\u202c \u05e9\u05dc\u05d5\u05dd [here](javascript:alert(1)) <a href=javascript:alert(1)>x</a>"
        )
        row = app.save(Draft("\u202eTurned", text)).id
    place.open(f"/ui/memory/{row}")
    assert "⟦RLO⟧" in place.browser.text
    assert "[here](javascript:alert(1))" in place.browser.text
    script = "return [...document.querySelectorAll('main a')].filter(one => !one.href.startsWith('http')).length"
    assert place.browser.run(script) == 0
    assert not place.browser.alert()
