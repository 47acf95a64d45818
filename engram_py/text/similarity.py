"""The share of their words that two texts have in common."""

from __future__ import annotations

from engram_py.text.segments import is_unspaced, segments

_READ_CHARS = 500
_WORD_CHARS = 8


def shingles(text: str) -> frozenset[str]:
    """Return the lower-case words of the beginning of a text, long ones by their first 8 characters.

    Cutting folds the endings of most words (Osaurus; spec/seed-capabilities.md G11). A script that writes no spaces is
    taken in pairs of characters.
    """
    text = text[:_READ_CHARS]
    if text.isascii():
        return frozenset({word[:_WORD_CHARS] for word in segments(text.lower())})
    found: set[str] = set()
    for word in segments(text):
        if is_unspaced(word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            found.add(word.lower()[:_WORD_CHARS])
    return frozenset(found)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of all their words that both hold, 0..1; two empty texts are the same text."""
    shared = len(one & other)
    union = len(one) + len(other) - shared
    return shared / union if union else 1.0


def alike(one: frozenset[str], other: frozenset[str], share: float) -> bool:
    """Return whether their ``jaccard`` is at least ``share``; sets of very different sizes are not compared."""
    fewer, more = sorted((len(one), len(other)))
    return fewer >= share * more and jaccard(one, other) >= share
