"""What is told of a memory that nobody asked for: what was done first, then what the prompt has to do with it."""

from __future__ import annotations

import re

from engram_py.recall.preview import PREVIEW_CHARS

_FIRST_CHARS = 140
_READ_CHARS = 4 * PREVIEW_CHARS
_FOUND_BY = 30  # characters that tell where an excerpt begins
_LABEL = re.compile(r"\*\*[^\W\d_]+\*\*")
# Which files it is about, a context says by their names and states.
_WHERE = re.compile(r"\*\*(?:Where|Dónde|Donde|Wo|Où|Onde|Dove|Waar|Где)\*\*.*?(?=\*\*[^\W\d_]+\*\*|$)")
_ENDS = re.compile(r"[.!?;][\"')\]*_`]*\s+|[。！？]|\s(?=\*\*[^\W\d_]+\*\*)")
_CUT = "…"


def opening(content: str, excerpt: str, *, limit: int = PREVIEW_CHARS) -> str:
    """At most ``limit`` characters on one line that begin with the content's first sentence, or its What part.

    ``excerpt`` is the piece in which the words of the prompt stand: where it is further down than there is room for,
    it follows the beginning. Of labelled parts the Where part gives way to the others, also where it was found.
    """
    if _CUT not in (excerpt[:1], excerpt[-1:]):
        return excerpt
    whole = " ".join(content[:_READ_CHARS].split())
    if _LABEL.match(whole):
        whole = _WHERE.sub("", whole).strip()
    found = excerpt.removeprefix(_CUT).strip()
    found = "" if _WHERE.match(found) else _WHERE.sub("", found).strip()
    if found[:_FOUND_BY] in whole[: limit - _FOUND_BY]:
        return _cut(whole, limit)
    return _cut(f"{_first(whole)} {_CUT}{found}", limit)


def _first(text: str) -> str:
    end = _ENDS.search(text, 1, _FIRST_CHARS)
    return text[: end.end()].strip() if end else _cut(text, _FIRST_CHARS).removesuffix(_CUT).rstrip()


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    piece = text[: limit - 1]
    return (piece[: piece.rfind(" ")] if piece.rfind(" ") > limit // 2 else piece) + _CUT
