"""Lists of words, a file for each in ``words/``."""

from __future__ import annotations

from pathlib import Path

from engram_py.files import lines_of


def read_lines(name: str) -> list[str]:
    """Return the lines of a list without its comments."""
    text = Path(__file__).with_name("words").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in lines_of(text) if not line.startswith("#")]


def read_words(name: str) -> frozenset[str]:
    return frozenset(" ".join(read_lines(name)).split())
