"""The line that shows why a row was found, and titles that resemble each other."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram_py.recall.preview import PREVIEW_CHARS, Preview, preview
from engram_py.recall.score.proximity import lens
from engram_py.recall.score.relevance import Term
from engram_py.recall.score.similar_titles import may_contradict, overlap, title_words
from engram_py.recall.values import HIT_LINE_CHARS

FILLER = "lorem ipsum " * 40


def shown(content: str, *stems: str, idf: float = 2.0) -> Preview:
    """The preview for a query of these stems; a ``!`` behind one says that it is rare."""
    terms = [Term(stem, stem, idf * (4 if stem.endswith("!") else 1), 1, (stem.removesuffix("!"),)) for stem in stems]
    return preview(content, terms, lens(terms))


def test_a_short_text_is_shown_whole_on_one_line() -> None:
    assert shown("One\n two\t three.", "two") == Preview("One two three.")


@pytest.mark.parametrize("content", ["word  " * 60, " \n".join(["word"] * 60)])
def test_blanks_do_not_make_a_text_long(content: str) -> None:
    assert not shown(content, "word").cut


def test_a_long_text_is_shown_from_the_words_that_were_looked_for() -> None:
    found = shown(FILLER + "here the needle is " + FILLER, "missing", "needl")

    assert found.text.startswith("…ipsum here the needle is lorem")
    assert found.text.endswith("…")
    assert found.cut
    assert PREVIEW_CHARS - 12 < len(found.text) <= PREVIEW_CHARS


def test_it_begins_where_most_of_the_words_stand_together_whatever_their_endings() -> None:
    content = f"Retries. {FILLER} A queue. {FILLER}. Then the retried queue was drained. {FILLER} Draining a queue."

    assert shown(content, "retri", "queue", "drain").text.startswith("…Then the retried queue was drained. lorem")


def test_words_that_stand_nearer_to_each_other_come_first() -> None:
    apart = f"The queue {'lorem ipsum ' * 8}drains"
    content = f"{FILLER}. {apart}. {FILLER}. {FILLER}. A queue drains. {FILLER}. {FILLER}. {apart}. {FILLER}"

    assert shown(content, "queue", "drain").text.startswith("…A queue drains. lorem")


def test_a_rare_word_says_more_than_two_common_ones() -> None:
    content = f"{FILLER}. The queue drains. {FILLER}. The needle. {FILLER}"

    assert shown(content, "queue", "drain", "needl!").text.startswith("…The needle. lorem")
    assert shown(content, "queue", "drain", "needl").text.startswith("…The queue drains. lorem")


@pytest.mark.parametrize(
    ("before", "begins"),
    [
        pytest.param("lorem.\n\nThe new ", "…The new needle", id="line"),
        pytest.param('lorem "ipsum." The new ', "…The new needle", id="sentence"),
        pytest.param("第一句话很长。这里", "…这里needle", id="another-script"),
        pytest.param("a sentence that began a long time ago, never a ", "…ago, never a needle", id="words"),
        pytest.param("x" * 80, "…needle", id="no-word"),
        pytest.param("x" * 80 + "/", "…needle", id="inside-a-path"),
    ],
)
def test_it_begins_with_the_sentence_or_a_few_words_before_the_first(before: str, begins: str) -> None:
    content = f"{FILLER}{before}needle {FILLER}"

    assert shown(content, "needl").text.startswith(begins)


def test_what_stands_at_the_end_fills_a_line_with_what_is_before_it() -> None:
    text = shown(f"{FILLER}and the needle.", "needl").text

    assert text.endswith("and the needle.")
    assert HIT_LINE_CHARS - 12 < len(text) <= HIT_LINE_CHARS


def test_words_near_the_beginning_leave_it_there() -> None:
    assert shown(f"Here is a needle. {FILLER}", "needl").text.startswith("Here is a needle")


def test_of_a_text_that_is_shown_whole_the_place_is_told() -> None:
    content = "What: nothing of interest was seen in all of the first hour.\n\n"
    content += "Why: the needle was in the haystack, and it took a day, a magnet and two people to find it there."
    found = shown(content, "needl", "haystack")

    assert (found.cut, found.text) == (False, " ".join(content.split()))
    assert found.text[found.place :].startswith("Why: the needle was in the haystack")
    assert shown(content, "interest").place == 0


def test_letters_and_their_marks_may_be_stored_apart() -> None:
    apart = unicodedata.normalize("NFD", "é" * 100 + " ")

    assert shown(f"{apart * 4}. The needle. {FILLER}", "needl").text.startswith("…The needle. lorem")
    assert shown(apart, "needl").text == apart.strip()


def test_a_part_of_a_name_is_found_where_the_index_finds_it() -> None:
    found = shown(f"{FILLER} the BigNumbatBurrow is new {FILLER}", "numbat")

    assert found.text.startswith("…ipsum the BigNumbatBurrow is new")


PIECES = st.sampled_from(
    ["needle", "lorem ", " ", "\n\n", ". ", "x" * 90, "é", "e\u0301", "İ", "用户", "。", "\u2028", "…"]
)


@given(st.lists(PIECES, max_size=80).map("".join))
@example("x" * 400 + "needle")
@example(" " * 500 + "needle" + " " * 500)
@example("e\u0301" * 400 + " needle")
def test_no_text_breaks_its_line(content: str) -> None:
    found = shown(content, "needl", "lorem", "用户")
    whole = " ".join(content.split())

    assert len(found.text) <= PREVIEW_CHARS
    assert found.cut == (len(whole) > PREVIEW_CHARS)
    assert found.cut or found.text == whole
    assert 0 <= found.place <= max(0, len(found.text) - 1)


def test_without_a_word_the_beginning_is_shown_and_no_word_is_cut() -> None:
    text = preview(FILLER).text
    assert text.startswith("lorem ipsum")
    assert set(text.removesuffix("…").split()) == {"lorem", "ipsum"}


@pytest.mark.parametrize("size", [PREVIEW_CHARS, PREVIEW_CHARS + 1])
def test_only_what_was_cut_is_said_to_be_cut(size: int) -> None:
    assert preview("x" * size).cut == (size > PREVIEW_CHARS)


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
