"""Derived index terms: the parts of identifiers, and pairs of characters where a script writes no spaces.

The tokenizer (`unicode61`) splits at ``_ - . / :`` and folds accents. It does not see *user* in ``getUserById``, nor
``userId`` in ``user_id``, and a run of Chinese or Thai is one token to it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from engram_py.text.segments import compounds, holds_unspaced, is_unspaced, lowered, segments

_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\WA-Za-z0-9_]+")
# The compounds of a text of ASCII, and nothing for a plain word: most are, and an import reads millions.
_NOT_PLAIN = re.compile(r"\b(?:[a-z0-9]+|[A-Z][0-9]*[a-z][a-z0-9]*)\b(?!-\w)|(\w+(?:-\w+)*)", re.ASCII)

MAX_COMPOUND_PARTS = 4


def derived_terms(*texts: str) -> str:
    """Return the terms to index beside ``texts``, blank-separated, in the order they occur."""
    return " ".join(term for text in texts for term in _terms(text))


def _terms(text: str) -> Iterator[str]:
    # A Mac writes Korean as loose letters and Japanese voicing as marks of their own.
    text = unicodedata.normalize("NFC", text)
    yield from _marked_beside_unspaced(text)
    for compound in filter(None, _NOT_PLAIN.findall(text)) if text.isascii() else compounds(text):
        if compound.isascii() and compound[1:].islower() and compound.isalnum():
            continue  # a plain word, as most are
        parts = segments(compound)
        for part in parts:
            yield from segment_terms(part)
        if len(parts) == 1:
            continue
        spaced = [lowered(part) for part in parts if not is_unspaced(part)]
        if len(spaced) == len(parts) <= MAX_COMPOUND_PARTS:
            yield "".join(spaced)  # rate_limit and rate-limit are found by ratelimit, rateLimit
        else:
            yield from spaced


def _marked_beside_unspaced(text: str) -> Iterator[str]:
    """Yield words with marks of their own, which are no token where a script without blanks follows."""
    if holds_unspaced(text):
        words = (word for word in segments(text) if not (word.isascii() or is_unspaced(word)))
        yield from (lowered(word) for word in words if any(unicodedata.category(one)[0] == "M" for one in word))


def segment_terms(segment: str) -> list[str]:
    """Return the derived terms of one run of letters and digits; nothing for a plain word."""
    if is_unspaced(segment):
        return pairs(segment)
    parts = camel_parts(segment)
    return [lowered(part) for part in parts] if len(parts) > 1 else []


def pairs(run: str) -> list[str]:
    """Return overlapping pairs of letters, without vowel signs and middle dots; a single letter stands for itself."""
    letters = "".join(filter(str.isalnum, run))
    return [letters[i : i + 2] for i in range(len(letters) - 1)] or [letters] * bool(letters)


def camel_parts(word: str) -> list[str]:
    """``getHTTPResponse2`` → get, HTTP, Response, 2; a word of one case is itself."""
    if word[1:].islower() or word.islower() or word.isdigit() or (word.isupper() and word.isalpha()):
        return [word]
    return _CAMEL.findall(word)
