"""Runs of letters and digits, told apart by whether their script writes spaces between words.

Vowel signs and other marks belong to the letter before them. To the index they end a token, so a word with one is a
phrase there.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Han, kana, Hangul, bopomofo, and the South-East Asian scripts that write no spaces.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_FIRST_UNSPACED = "\u0e00"
# From the first mark on up to the scripts above.
_MARKS_FROM, _MARKS_TO = 0x0300, 0x0E00
_JOINERS = "\u200c\u200d"  # within a word, between two of its letters

WORD = re.compile(r"[^\W_]+")
_COMPOUND = re.compile(r"\w+(?:-\w+)*")


def segments(text: str) -> list[str]:
    """Return the runs of letters and digits in ``text``; a run of an unspaced script ends where another begins."""
    return _pattern(text).findall(text)


def _pattern(text: str) -> re.Pattern[str]:
    if text.isascii():
        return WORD
    if holds_unspaced(text):
        return _unspaced_patterns()[0]
    return _marked_pattern() if max(text) >= chr(_MARKS_FROM) else WORD


def lowered(word: str) -> str:
    """Return a word as the index folds it to lower case."""
    if word.isascii() or not _young_capitals().search(word):
        return word.lower()
    return "".join(letter if _young_capitals().match(letter) else letter.lower() for letter in word)


def compounds(text: str) -> list[str]:
    """Return the runs that ``_`` and ``-`` hold together as well: ``rate-limit``, ``user_id``."""
    return (_unspaced_patterns()[1] if holds_unspaced(text) else _COMPOUND).findall(text)


def is_unspaced(segment: str) -> bool:
    """Return whether a segment is of a script that writes no spaces."""
    return segment[:1] >= _FIRST_UNSPACED and _unspaced_patterns()[2].match(segment) is not None


def holds_unspaced(text: str) -> bool:
    """Return whether some of a text is of a script that writes no spaces."""
    return not text.isascii() and max(text) >= _FIRST_UNSPACED


@cache
def _young_capitals() -> re.Pattern[str]:
    # Cherokee, Georgian, Osage, Adlam and others: to SQLite's tokenizer, which knows Unicode 6.1, they have no small
    # letters (each letter of Python 3.11's tables was asked).
    return re.compile(
        "[\u037f\u0528-\u052e\u13a0-\u13f5\u1c90-\u1cbf\u2c2f\ua698-\ua69a\ua796-\ua79e\ua7ab-\ua7d8\ua7f5"
        "\U000104b0-\U000104d3\U00010570-\U00010595\U00010c80-\U00010cb2\U000118a0-\U000118bf\U00016e40-\U00016e5f"
        "\U0001e900-\U0001e921]"
    )


@cache
def _unspaced_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    # Compiled on first need: sets of this many characters take milliseconds each, and most texts hold none.
    return (
        re.compile(f"[{_UNSPACED}]+|" + _marked(f"[^\\W_{_UNSPACED}]")),
        re.compile(f"[\\w{_UNSPACED}]+(?:-[\\w{_UNSPACED}]+)*"),
        re.compile(f"[{_UNSPACED}]"),
    )


@cache
def _marked_pattern() -> re.Pattern[str]:
    return re.compile(_marked(r"[^\W_]"))


def _marked(letter: str) -> str:
    """Return a pattern of a word: letters, each with its marks."""
    marks = "".join(
        chr(code) for code in range(_MARKS_FROM, _MARKS_TO) if unicodedata.category(chr(code)) in ("Mn", "Mc")
    )
    return f"{letter}(?:{letter}|[{marks}]|[{_JOINERS}](?={letter}))*"
