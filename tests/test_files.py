"""Files and paths as people and programs write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py.files import expanded, lines_of

TEXTS = ["", "a", "a\n", "a\nb", "a\r\nb\rc\n\n", "\n", "\r", "a\u2028b\x85c\x0cd\x1ee\vf\n"]


@pytest.mark.parametrize("text", TEXTS)
def test_lines_end_at_line_feeds_and_carriage_returns_alone(text: str) -> None:
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    assert lines_of(text) == plain.split("\n")[: plain.count("\n") + (not plain.endswith("\n") and bool(plain))]
    assert "".join(lines_of(text, ends=True)) == text
    assert len(lines_of(text, ends=True)) == len(lines_of(text))


def test_a_home_that_does_not_exist_leaves_the_path_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert expanded("~/x") == Path("/home/ada/x")
    assert expanded("~nobody-of-that-name/x") == Path("~nobody-of-that-name/x")
    assert expanded("a/~") == Path("a/~")
