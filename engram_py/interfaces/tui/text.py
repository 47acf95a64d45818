"""Show text of a memory in a terminal: as text, whatever markup or control characters it holds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from engram_py.lazy import regex

# A text and its style; an empty style is plain.
Part = tuple[str, str]

_LOOKED_AT = 4  # characters that are looked at for each cell of a line
# Control characters, marks that turn text around, and characters that nobody sees.
_UNSEEN = regex(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_BLANKS = regex(r"\s+")


def printable(text: str) -> str:
    """Return the text with what a terminal would obey, or a reader not see, named instead."""
    return _UNSEEN.sub(_named, text.replace("\r\n", "\n")).replace("\t", "    ")


def _named(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # ␀, ␛
    name = unicodedata.bidirectional(match[0])
    return f"⟦{name}⟧" if name in _TURNING or code in _MARKS else f"⟦U+{code:04X}⟧"


_TURNING = frozenset({"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"})
_MARKS = frozenset({0x200E, 0x200F, 0x061C})


def one_line(text: str, cells: int) -> str:
    """Return the beginning of the text in one line of at most so many cells."""
    begins = text[: max(cells, 0) * _LOOKED_AT + 1]
    line = _BLANKS.sub(" ", printable(begins)).strip()
    if len(begins) == len(text) and cell_len(line) <= cells:
        return line
    return f"{set_cell_size(line, cells - 1).rstrip()}…" if cells > 0 else ""


def padded(text: str, cells: int) -> str:
    """Return the text in one line of exactly so many cells."""
    return set_cell_size(one_line(text, cells), cells)


def content(parts: Iterable[Part]) -> Content:
    """Return the parts one after the other, each as text."""
    return Content.assemble(*((printable(text), style) for text, style in parts))
