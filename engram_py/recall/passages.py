"""The one place of a text where the words of a query stand together: an answer stands there, not all over a text."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.recall.score import K1, Term

# Words scattered over a longer text are there by chance.
PASSAGE_CHARS = 600
# A mention counts less the further it is from the place, and nothing at 320 characters, about 55 words. Recall at 5 on
# LoCoMo's sessions is .912 with it and .893 without; at 250 characters .905, at 300 and 350 .910, at 400 .906.
REACH_CHARS = 320

Found = Sequence[tuple[int, int]]
"""Where in a text a term stands, in characters, and the number of the term; in the order of the text."""


def passage(found: Found, terms: Sequence[Term]) -> frozenset[int]:
    """The terms that stand together in the best 600 characters, by the sum of their idf."""
    counts: dict[int, int] = {}
    best: frozenset[int] = frozenset()
    worth = most = 0.0
    first = 0
    for at, number in found:
        if not counts.get(number):
            worth += terms[number].idf
        counts[number] = counts.get(number, 0) + 1
        while at - found[first][0] > PASSAGE_CHARS:
            gone = found[first][1]
            counts[gone] -= 1
            worth -= 0.0 if counts[gone] else terms[gone].idf
            first += 1
        if worth > most + 1e-9:
            most, best = worth, frozenset(number for number, count in counts.items() if count)
    return best


def densest(found: Found, terms: Sequence[Term]) -> float:
    """What the words score at the place where they stand together best: BM25's sum with, instead of how often a word
    stands in the text, how often it does around that place, each mention counted less with its distance.

    This is the best position of a positional language model with a triangle for its kernel (Lv and Zhai 2009), put
    into BM25's saturation. Length plays no part, since every place is as long as another.
    """
    worth = [term.idf * term.worth for term in terms]
    best = 0.0
    first = 0
    for here, _ in found:
        while here - found[first][0] >= REACH_CHARS:
            first += 1
        near: dict[int, float] = {}
        for index in range(first, len(found)):
            at, number = found[index]
            if at - here >= REACH_CHARS:
                break
            near[number] = near.get(number, 0.0) + 1 - abs(at - here) / REACH_CHARS
        best = max(best, sum(worth[number] * count * (K1 + 1) / (count + K1) for number, count in near.items()))
    return best
