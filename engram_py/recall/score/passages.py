"""The one place of a text where the words of a query stand together: an answer stands there, not all over a text."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from engram_py.recall.score.bm25 import K1, saturated
from engram_py.recall.score.relevance import Term

# Words scattered over a longer text are there by chance.
PASSAGE_CHARS = 600
# A mention counts less the further it is from the place, and nothing at 320 characters, about 55 words. From 300 to 350
# recall at 5 on LoCoMo's sessions stays within .005.
REACH_CHARS = 320
_MOST_PLACES = 24
# How far the length of a place counts against it, as b does in BM25. At .3 a memory half of whose conversations are one
# text each and half single turns finds both equally well (recall at 5 .78 and .78; at 0 .80 and .78, at FTS5's own .75
# .74 and .78), and a note comes before a log that repeats it.
PLACE_B = 0.3

Found = Sequence[tuple[int, int]]
"""Where in a text a term stands, in characters, and the number of the term; in the order of the text."""


def passage(found: Found, terms: Sequence[Term]) -> frozenset[int]:
    """The terms that stand together in the best 600 characters, by the sum of their idf."""
    if found and found[-1][0] - found[0][0] <= PASSAGE_CHARS:
        return frozenset([number for _, number in found])
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
    """What the words score at that mention around which they stand together best: BM25's sum with, instead of how often
    a word stands in the text, how often it does around that place, each mention counted less with its distance.

    This is the best position of a positional language model with a triangle for its kernel (Lv and Zhai 2009), put
    into BM25's saturation. Length plays no part, since every place is as long as another. Of a text that repeats the
    same words everywhere only the 24 places that promise most are tried.
    """
    worth = [term.idf * term.worth for term in terms]
    best = 0.0
    for most, here, first, last in heapq.nlargest(_MOST_PLACES, _promising(found, worth)):
        if most <= best:
            break
        best = max(best, _at(here, found[first:last], worth))
    return best


def as_a_row(usual_chars: float) -> float:
    """What BM25 would leave of a mention if the place (640 characters) were a row among rows of ``usual_chars``: 1
    where these are as long or longer, with less weight on its length."""
    longer = max(1.0, 2 * REACH_CHARS / max(1.0, usual_chars))
    return (K1 + 1) / (1 + K1 * (1 - PLACE_B + PLACE_B * longer))


def _promising(found: Found, worth: Sequence[float]) -> Iterator[tuple[float, int, int, int]]:
    """Each place with the most it can score, as if all mentions within reach stood there, and which these are."""
    counts = [0] * len(worth)
    most = 0.0
    first = last = 0
    end = len(found)
    for here, _ in found:
        while last < end and found[last][0] - here < REACH_CHARS:
            number = found[last][1]
            most += worth[number] * _GAINS[counts[number]]
            counts[number] += 1
            last += 1
        while here - found[first][0] >= REACH_CHARS:
            number = found[first][1]
            counts[number] -= 1
            most -= worth[number] * _GAINS[counts[number]]
            first += 1
        yield most, here, first, last


def _at(here: int, mentions: Found, worth: Sequence[float]) -> float:
    near: dict[int, float] = {}
    for at, number in mentions:
        near[number] = near.get(number, 0.0) + 1 - abs(at - here) / REACH_CHARS
    return sum(worth[number] * saturated(count) for number, count in near.items())


# What the next mention adds after so many; within reach there are no more places than this.
_GAINS = tuple(saturated(count + 1) - saturated(count) for count in range(2 * REACH_CHARS))
