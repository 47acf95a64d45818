"""The one place of a text where the words of a query stand together: an answer stands there, not all over a text."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.recall.score.relevance import Term

# Words scattered over a longer text are there by chance.
PASSAGE_CHARS = 600
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
