"""Known words that a misspelt or shortened word may mean."""

from __future__ import annotations

from collections.abc import Iterable

# One slip in a short word, two in a long one; shorter words resemble too many (Damerau 1964: four of five
# misspellings are one slip).
SHORTEST = 4
TWO_SLIPS_FROM = 8
MOST = 3
PREFIX_LONGER_BY = 10  # `futter` may mean `Futterautomaten`
STEM_FROM = 5  # `musicians` may mean `music`
_SHORT = 5


def slips_allowed(word: str) -> int:
    """Return how many slips a word may have; none with a digit: pasted logs are full of addresses."""
    if len(word) < SHORTEST or any(letter.isdigit() for letter in word):
        return 0
    return 1 if len(word) < TWO_SLIPS_FROM else 2


def may_resemble(word: str) -> bool:
    """Return whether another word may be meant: one a slip away, or of a name with a digit one that goes on
    (`argon2id`)."""
    return slips_allowed(word) > 0 or (len(word) >= SHORTEST and word[0].isalpha())


def meant(word: str, known: Iterable[tuple[str, int]], *, most: int = MOST) -> tuple[str, ...]:
    """Return the known terms (given with their rows) that begin with ``word``, then those a slip or two away."""
    if not may_resemble(word):
        return ()
    allowed = slips_allowed(word)
    marked = []
    for term, rows in known:
        if _goes_on(word, term) or (len(term) >= STEM_FROM and _goes_on(term, word)):
            marked.append((0, -rows, term))
        elif allowed and (slips := distance(word, term, allowed)) <= allowed:
            marked.append((slips, -rows, term))
    return tuple(term for _, _, term in sorted(marked)[:most])


def _goes_on(word: str, longer: str) -> bool:
    """Return whether a word is the beginning of another; a number that goes on in digits is another number."""
    if not longer.startswith(word):
        return False
    return not word[-1].isdigit() or not longer[len(word) : len(word) + 1].isdigit()


def may_be(typed: str, stem: str, term: str) -> bool:
    """Return whether a word as it was typed may be a known term of the index, and not only their stems.

    Porter makes `appl` of `apple` and `redi` of `redis`, which `application` and `redirect` begin with. In a word of up
    to five letters another letter is another word (`helm`, `held`); a slip leaves one out, adds one or swaps two.
    """
    core = typed[:-1] if typed.endswith("s") and len(typed) > _SHORT else typed
    long = len(stem) > _SHORT and typed.startswith(stem)  # `Mitglied` of `Mitglieder` begins `Mitgliedskarten`
    if term.startswith((core, stem) if long else core) or (len(term) >= STEM_FROM and typed.startswith(term)):
        return True
    if any(_slipped(typed, spelling, typed) for spelling in _spellings(term)):
        return True
    cut = typed.startswith(stem) and not typed.endswith("y")  # of `sentry` more than an ending is gone
    swapped = sorted(stem) == sorted(term)  # `laek` of `laeks`; a letter more or less makes `red` of `redi`
    return cut and (swapped or len(stem) >= _SHORT) and _slipped(stem, term, typed)


def nearest_spelling(typed: str, term: str) -> str:
    """Return how a term of the index is written, as near to what was typed as possible."""
    return min(_spellings(term), key=lambda one: distance(typed, one, len(typed)))


def _spellings(term: str) -> tuple[str, ...]:
    """Return the ways to write a term: Porter cuts the last `e` of a longer word, and writes a last `y` as `i`."""
    if term.endswith("i"):
        return (f"{term[:-1]}y", term)
    return (term, f"{term}e") if len(term) >= SHORTEST else (term,)


def _slipped(one: str, other: str, typed: str) -> bool:
    allowed = slips_allowed(typed)
    changed = len(one) == len(other) and sorted(one) != sorted(other)
    return distance(one, other, allowed) <= allowed and not (changed and len(typed) <= _SHORT)


def distance(one: str, other: str, most: int) -> int:
    """Return the slips between two words (optimal string alignment), at most ``most + 1``."""
    # Each slip takes at most one letter away and brings one: cheap to see, and true of nearly all pairs.
    if abs(len(one) - len(other)) > most or len(set(one) ^ set(other)) > 2 * most:
        return most + 1
    before: list[int] = []
    above = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, facing in enumerate(other, start=1):
            best = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != facing))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == facing:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        if min(row) > most:
            return most + 1
        before, above = above, row
    return min(above[-1], most + 1)
