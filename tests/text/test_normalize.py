"""Text in one form: what fits, what is the same, what a topic is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.errors import InvalidTextError, InvalidTopicKeyError
from engram_py.text.normalize import TRUNCATION_MARKER, check_text, content_hash, normalize_topic_key, truncate_utf8


def test_a_text_that_fits_is_left_as_it_is() -> None:
    kept = truncate_utf8("naïve", 6)

    assert (kept.text, kept.original_bytes, kept.stored_bytes, kept.truncated) == ("naïve", 6, 6, False)


def test_a_longer_text_is_cut_so_that_the_marker_fits_too() -> None:
    kept = truncate_utf8("é" * 100, 50)

    assert kept.text == "é" * 17 + TRUNCATION_MARKER
    assert (kept.original_bytes, kept.stored_bytes, kept.truncated) == (200, 49, True)


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        pytest.param("ae\u0301x", 3, "a", id="combining-accent"),
        pytest.param("a👩‍👩‍👧x", 12, "a", id="family"),
        pytest.param("a👍🏽x", 6, "a", id="skin-tone"),
        pytest.param("a🇩🇪🇫🇷", 14, "a🇩🇪", id="flag"),
        pytest.param("a☺\ufe0fx", 4, "a", id="variation-selector"),
    ],
)
def test_what_a_reader_sees_as_one_character_is_not_split(text: str, limit: int, kept: str) -> None:
    assert truncate_utf8(text, limit, marker="").text == kept


@given(st.text(), st.integers(0, 80))
def test_a_truncated_text_fits_and_begins_like_the_original(text: str, limit: int) -> None:
    kept = truncate_utf8(text, limit)

    assert len(kept.text.encode()) == kept.stored_bytes <= max(limit, 0)
    assert kept.truncated == (kept.text != text)
    assert text.startswith(kept.text.removesuffix(TRUNCATION_MARKER) if kept.truncated else kept.text)


@given(st.text(st.characters()), st.integers(-1, 40))
def test_truncating_never_fails(text: str, limit: int) -> None:
    assert len(truncate_utf8(text, limit).text) <= len(text) + len(TRUNCATION_MARKER)


@pytest.mark.parametrize(
    ("text", "what"),
    [pytest.param("a\x00b", "a NUL byte", id="nul"), pytest.param("a\ud800b", "a lone surrogate", id="surrogate")],
)
def test_what_is_not_text_is_refused_by_name(text: str, what: str) -> None:
    with pytest.raises(InvalidTextError) as refused:
        check_text("title", text)
    assert (refused.value.field, refused.value.what) == ("title", what)


def test_control_characters_and_any_script_are_text() -> None:
    check_text("content", "\x1b[0m\t𝕏 日本語 👍🏽")


@given(st.text(st.characters(max_codepoint=127)), st.sampled_from([" ", "\n", " \t\r\n", "\u3000"]))
def test_case_and_white_space_do_not_change_the_hash(text: str, space: str) -> None:
    assert content_hash(space + space.join(text.upper().split()) + space) == content_hash(text)


def test_composed_and_decomposed_accents_have_one_hash() -> None:
    assert content_hash("Café") == content_hash("cafe\u0301") != content_hash("cafe")


@pytest.mark.parametrize(
    ("raw", "key"),
    [
        pytest.param("  Decision/Auth  Tokens ", "decision/auth-tokens", id="case-and-space"),
        pytest.param("//a///b//", "a/b", id="slashes"),
        pytest.param("-/a b/-", "a-b", id="outer-marks"),
        pytest.param("Cafe\u0301", "café", id="accent"),
        pytest.param("決定/認証", "決定/認証", id="other-script"),
        pytest.param("x" * 119 + " yz", "x" * 119, id="cut-before-a-dash"),
    ],
)
def test_a_topic_key_has_one_spelling(raw: str, key: str) -> None:
    assert normalize_topic_key(raw) == key


@pytest.mark.parametrize("raw", ["", " / - ", "///", "…", "🙂"])
def test_a_topic_key_without_letter_or_digit_is_refused(raw: str) -> None:
    with pytest.raises(InvalidTopicKeyError):
        normalize_topic_key(raw)


@given(st.text(st.characters(), max_size=200))
def test_normalizing_a_topic_key_twice_changes_nothing_more(raw: str) -> None:
    try:
        key = normalize_topic_key(raw)
    except InvalidTopicKeyError:
        return
    assert normalize_topic_key(key) == key
    assert len(key) <= 120
