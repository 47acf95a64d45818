"""Project names have one spelling, and a near miss is recognised."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.projects.names import MAX_NAME, normalize_project, similar_projects, slug_project
from engram_py.projects.values import InvalidProjectError

UNFIT = ["a\ud800", "x" * (MAX_NAME + 1), "x" * 10_000, "wid\u200bgets", "\u202ewidgets"]


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        pytest.param("Widgets", "widgets", id="case"),
        pytest.param("  widgets\n", "widgets", id="surrounding-space"),
        pytest.param("My  Big Project", "my  big project", id="inner-space"),
        pytest.param("a - b", "a - b", id="space-around-a-dash"),
        pytest.param(" CAF\u00c9--API__ ", "caf\u00e9-api_", id="runs-at-the-end"),
        pytest.param("\u0130", "i", id="dotted-capital-i"),
        pytest.param("I\u0307", "i", id="dotted-capital-i-in-two"),
        pytest.param("\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c3", id="sigma-at-the-end"),
        pytest.param("a--b__c", "a-b_c", id="runs"),
        pytest.param("cafe\u0301", "caf\u00e9", id="nfc"),
        pytest.param("engram.py", "engram.py", id="dot"),
        pytest.param("記憶", "記憶", id="cjk"),
    ],
)
def test_a_project_name_has_the_one_spelling_that_engram_gives_it(name: str, spelled: str) -> None:
    assert normalize_project(name) == spelled


PATHS = ["...", ".", "..", "a/b", "a\\b", "~", "~ada", "c:", "C:foo"]


@pytest.mark.parametrize("name", ["", "   ", "--", *PATHS, "a\0b", "a\tb", "a\x1bb", *UNFIT])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidProjectError):
        normalize_project(name)


@given(st.text(alphabet=st.characters(), max_size=120))
def test_any_text_is_a_stable_name_or_refused(text: str) -> None:
    try:
        name = normalize_project(text)
    except InvalidProjectError:
        return
    assert normalize_project(name) == name == unicodedata.normalize("NFC", name)
    assert 0 < len(name) <= MAX_NAME


@given(st.text(alphabet=st.characters(), max_size=300))
def test_any_folder_name_becomes_a_name_or_nothing(text: str) -> None:
    slug = slug_project(text)
    assert slug is None or normalize_project(slug) == slug


SLUGS = {"My Project": "my project", "_notes_": "_notes_", "~backup": "backup", "c:stuff": "c-stuff", "a\nb": "a-b"}


@pytest.mark.parametrize(("folder", "slug"), [*SLUGS.items(), ("caf\udce9", "caf"), ("...", None), ("", None)])
def test_an_odd_folder_name_keeps_what_is_usable(folder: str, slug: str | None) -> None:
    assert slug_project(folder) == slug


def test_similar_projects_come_best_first() -> None:
    known = ["gadgets", "widgets-server", "wigdets", "wid_gets", "widgets", "WIDGETS"]
    assert similar_projects("Widgets", known) == ["wid_gets", "wigdets", "gadgets"]
    assert similar_projects("Widgets", known, limit=9)[-1] == "widgets-server"


@pytest.mark.parametrize(
    ("name", "known", "similar"),
    [
        pytest.param("api", ["cli", "web", "ui", "a", "map"], [], id="short-names"),
        pytest.param("ap", ["api", "a", "b"], [], id="shorter-names"),
        pytest.param("My Project", ["my project", "MY PROJECT"], [], id="itself"),
        pytest.param("My Project", ["my-project"], ["my-project"], id="dashes"),
    ],
)
def test_neither_a_short_name_nor_the_project_itself_is_similar(
    name: str, known: list[str], similar: list[str]
) -> None:
    assert similar_projects(name, known) == similar


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=5))
def test_similar_projects_answers_for_any_text(name: str, known: list[str]) -> None:
    assert set(similar_projects(name, known)) <= set(known)
