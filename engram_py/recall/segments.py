"""Runs of letters and digits, told apart by whether their script writes spaces between words."""

from __future__ import annotations

import re
from functools import cache

# Han, kana, Hangul, bopomofo, and the South-East Asian scripts that write no spaces.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_FIRST_UNSPACED = "\u0e00"

_SEGMENT = re.compile(r"[^\W_]+")
_COMPOUND = re.compile(r"\w+(?:-\w+)*")


def segments(text: str) -> list[str]:
    """The runs of letters and digits in ``text``; a run of an unspaced script ends where another script begins."""
    return (_unspaced_patterns()[0] if _holds_unspaced(text) else _SEGMENT).findall(text)


def compounds(text: str) -> list[str]:
    """The runs that ``_`` and ``-`` hold together as well: ``rate-limit``, ``user_id``."""
    return (_unspaced_patterns()[1] if _holds_unspaced(text) else _COMPOUND).findall(text)


def is_unspaced(segment: str) -> bool:
    """Whether a segment is of a script that writes no spaces."""
    return segment[:1] >= _FIRST_UNSPACED and _unspaced_patterns()[2].match(segment) is not None


def _holds_unspaced(text: str) -> bool:
    return not text.isascii() and max(text) >= _FIRST_UNSPACED


@cache
def _unspaced_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    # Compiled on first need: sets of this many characters take milliseconds each, and most texts hold none.
    return (
        re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+"),
        re.compile(f"[\\w{_UNSPACED}]+(?:-[\\w{_UNSPACED}]+)*"),
        re.compile(f"[{_UNSPACED}]"),
    )
