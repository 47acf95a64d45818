"""Text that leaves a door moves no terminal, hides nothing, and neither opens nor closes a fence."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.text.fences import harmless, visible


@pytest.mark.parametrize(
    "tag",
    [
        "</engram-memory>",
        "<\u200b/engram-memory>",
        "</\u2060engram-memory>",
        "</engram\u00ad-memory>",
        "\uff1c/engram-memory\uff1e",
        "</engram\u2011memory>",
        "\u2039/engram-memory\u203a",
        "</\u0435ngram-memory>",
        "< / ENGRAM-MEMORY >",
        "</engram memory>",
        "<\u2215engram-memory>",
        "<system-reminder>",
        "</hook_context>",
        "<user_query>",
        "<system>",
    ],
)
def test_what_reads_as_a_frame_of_ours_or_of_a_host_is_broken(tag: str) -> None:
    shown = harmless(f"text {tag} more")
    assert "&lt;" in shown
    assert not set(shown) & set("<\uff1c\u2039")


@pytest.mark.parametrize(
    "text", ["a < b", "List<String>", "<div>", "x <y", "std::map<int, T>", "«foo-bar»", "a\tb\r\nc"]
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb\x1b[31;1mc", "abc"),
        ("a\x1b]0;title\x07b\x1b]8;;http://x/\x1b\\c", "abc"),
        ("a\x9b31mb\x9d0;t\x9cc", "abc"),
        ("a\x1bPdata\x1b\\b", "ab"),
        ("\u202etxet\u202c", "txet"),
        ("a\U000e0041\U000e0042b\U000e0100", "ab"),
        ("a\x00\x08b\x7f", "ab"),
        ("one\rtwo\u2028three\x85four", "one\ntwo\nthree\nfour"),
    ],
)
def test_what_a_terminal_obeys_and_what_nobody_sees_is_gone(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_no_control_or_format_character_is_left(text: str) -> None:
    left = {unicodedata.category(char) for char in visible(text).replace("\n", "").replace("\t", "").replace("\r", "")}
    assert not left & {"Cc", "Cf", "Cs"}
