"""Whether two statements say the same in another spelling. Pure."""

from __future__ import annotations

import unicodedata

from engram_py.lazy import regex
from engram_py.text.normalize import folded
from engram_py.text.spelling import distance

# What stands around a word; `C++`, `C#`, `50%` and `1.5` keep theirs.
_AROUND = ".,;:!?…\"'`´“”„‘’«»‹›()[]{}*_–—。，！？"
_INSIDE = regex(r"(?<=[^\W\d_])['’‐‑-](?=[^\W\d_])")
# A letter more or less makes another word of a short one, and another person of a name.
_LONG = 6


def says_the_same(one: str, other: str) -> bool:
    """Return whether they differ only in case, blanks, accents and punctuation, or one slip in a long word that is no
    name."""
    first, second = _words(one), _words(other)
    if _key(first) == _key(second):
        return True
    if len(first) != len(second):
        return False
    differing = [(here, there) for here, there in zip(first, second, strict=True) if folded(here) != folded(there)]
    return len(differing) == 1 and _is_slip(*differing[0])


def holds(one: str, other: str) -> bool:
    """Return whether one statement says the other among more."""
    return f" {folded(' '.join(_words(other)))} " in f" {folded(' '.join(_words(one)))} "


def _words(text: str) -> list[str]:
    bare = (_INSIDE.sub("", word.strip(_AROUND)) for word in unicodedata.normalize("NFKC", text).split())
    return [word for word in bare if word]


def _key(words: list[str]) -> str:
    """Return the words without the blanks between them, which only matter between digits."""
    apart = " " if any(char.isdigit() for word in words for char in word) else ""
    return folded(apart.join(words))


def _is_slip(one: str, other: str) -> bool:
    plain = all(word.isalpha() and word.islower() and len(word) >= _LONG for word in (one, other))
    return plain and one[0] == other[0] and distance(one, other, 1) <= 1
