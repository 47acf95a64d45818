"""The line that shows why a row was found, and titles that resemble each other."""

from __future__ import annotations

import pytest

from engram_py.recall.preview import PREVIEW_CHARS, preview
from engram_py.recall.similar import may_contradict, overlap, title_words


def test_a_short_text_is_shown_whole_on_one_line() -> None:
    assert preview("One\n two\t three.", ["two"]) == ("One two three.", False)


def test_a_long_text_is_shown_around_the_first_word_that_was_looked_for() -> None:
    content = "lorem ipsum " * 100 + "the needle is here " + "dolor sit " * 100
    text, cut = preview(content, ["missing", "needle"])
    assert "needle is here" in text
    assert text.startswith("…")
    assert text.endswith("…")
    assert cut
    assert len(text) <= PREVIEW_CHARS


def test_without_a_word_the_beginning_is_shown_and_no_word_is_cut() -> None:
    text, _ = preview("lorem ipsum " * 100)
    assert text.startswith("lorem ipsum")
    assert set(text.removesuffix("…").split()) == {"lorem", "ipsum"}


@pytest.mark.parametrize("size", [PREVIEW_CHARS, PREVIEW_CHARS + 1])
def test_only_what_was_cut_is_said_to_be_cut(size: int) -> None:
    assert preview("x" * size)[1] == (size > PREVIEW_CHARS)


def test_words_every_title_has_tell_no_title_from_another() -> None:
    assert title_words("Fixed the C++ parser: using C# for it") == {"c++", "c#", "parser"}


@pytest.mark.parametrize(
    ("new", "old", "alike"),
    [
        pytest.param("Token storage backend", "Token storage moved away", True, id="two-words"),
        pytest.param("Token storage backend", "Token lifetime in the cache", False, id="one-of-many"),
        pytest.param("Use RS256 for tokens", "Use HS256 for tokens", True, id="one-of-two"),
        pytest.param("Fix the parser", "Use parser", True, id="the-only-one"),
        pytest.param("Fix it", "Fix it", False, id="nothing-but-common-words"),
    ],
)
def test_two_titles_may_contradict_when_they_share_enough(new: str, old: str, alike: bool) -> None:
    assert may_contradict(title_words(new), title_words(old)) == alike


def test_the_overlap_of_two_titles_is_a_share_of_their_words() -> None:
    assert overlap(title_words("Token storage"), title_words("Token storage")) == 1
    assert overlap(title_words("Token storage"), title_words("Token lifetime")) == pytest.approx(1 / 3)
    assert overlap(title_words("Fix it"), title_words("Fix it")) == 0
