"""A look at the text of a row: the terms it holds, its best passage, and how near to each other they stand."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence, Set

from engram_py.base.capture.passive import unframed
from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import folded
from engram_py.base.text.words import is_unspaced
from engram_py.recall.index import Length
from engram_py.recall.score import (
    K1,
    USUAL_TEXT,
    USUAL_TITLE,
    Scored,
    Term,
    norm,
    ordinary_rarity,
    saturated,
    title_weight,
)
from engram_py.recall.values import Text

# Two words of the query within this many characters of each other, about eight words, are a pair.
PAIR_CHARS = 48
# Term proximity as an extra to BM25 (Rasolofo and Savoy 2003): this much of the rarer word's idf for each pair.
PAIR_SHARE = 0.3
MOST_PAIRS = 12
READ_CHARS = 8_000
_EXTENSION_CHARS = 2
# What Porter's stemmer takes off, one after the other (M. F. Porter, An algorithm for suffix stripping, 1980).
_ENDING = regex(
    "(?:e|ed|(?<=e)d|ing|y|i|ie|ied|ly|al|ic|er|or|ion|at|at(?:or|ion)|[ae]n(?:ce|ci|cy|t)|ement|ment|able|ible|abl|ibl"
    "|it[yi]|abilit[yi]|ibilit[yi]|ive|iv|i[sz]e|i[sz]|ism|ist|ate|ous|ful|ness|ar)*s?(?![^\\W\\d_])"
)


@dataclass(frozen=True, slots=True)
class TermFinder:
    """Finds the terms of one query in a text: ``stems`` are beginnings of words, each with the number of its term.

    ``extensions`` are those stems that may be what the name of a file ends in. ``pattern`` is for scripts without
    blanks, where a word may begin anywhere; ``owners`` names the term of each of its groups. Searching for one stem
    after the other takes a tenth of the time of one pattern for all.
    """

    stems: tuple[tuple[str, int], ...]
    pattern: re.Pattern[str] | None = None
    owners: tuple[int, ...] = ()
    extensions: frozenset[str] = frozenset()

    def found_in(self, text: str) -> list[tuple[int, int]]:
        """Return where terms stand and their numbers, in the order of the text; of two at one place the first."""
        if self.pattern is not None:
            return [(one.start(), self.owners[(one.lastindex or 1) - 1]) for one in self.pattern.finditer(text)]
        found: dict[int, int] = {}
        for stem, number in self.stems:
            at = text.find(stem)
            while at >= 0:
                part = at and (text[at - 1].isalnum() or (stem in self.extensions and _of_a_file(text, at)))
                if at not in found and not part and _ends(text, at + len(stem)):
                    found[at] = number
                at = text.find(stem, at + 1)
        return sorted(found.items())


@dataclass(frozen=True, slots=True)
class Reading:
    """The terms of a text: how often it has each (by its number), the numbers of the terms in its best passage, and
    the proximity
    of pairs, in idf."""

    seen: Mapping[int, int]
    passage: Set[int]
    proximity: float


NOTHING_READ = Reading({}, frozenset(), 0.0)


def term_finder(terms: Sequence[Term]) -> TermFinder | None:
    """Return the finder of the terms, None when there is nothing to look for."""
    written = [(stem, number) for number, term in enumerate(terms) for stem in (*term.stems, *term.substitutes)]
    if not written:
        return None
    stems = tuple((spelling, number) for stem, number in written for spelling in _spellings(stem))
    if not any(is_unspaced(stem) for stem, _ in stems):
        short = frozenset(stem for stem, _ in stems if len(stem) <= _EXTENSION_CHARS and stem.isalpha())
        return TermFinder(stems, extensions=short)
    # By their first letter, so that of sixty words a place in the text is compared with the few that begin like it.
    by_letter: dict[str, list[tuple[str, int]]] = {}
    for stem, number in stems:
        by_letter.setdefault(stem[0], []).append((stem, number))
    branches = [
        re.escape(letter) + "(?:" + "|".join(f"({re.escape(stem[1:])})" for stem, _ in found) + ")"
        for letter, found in by_letter.items()
    ]
    owners = tuple(number for found in by_letter.values() for _, number in found)
    return TermFinder(stems, re.compile("|".join(branches)), owners)


def read(parts: Sequence[str], finder: TermFinder, terms: Sequence[Term]) -> list[Reading]:
    """Read the first 8,000 characters of each part of a text; terms that the parts before have do not decide which
    passage of a part is the best.

    Each pair counts once, where it stands closest: the smaller idf of the two, less up to half of it with distance.
    """
    texts = [folded(part[:READ_CHARS]) for part in parts]
    found = finder.found_in("\n".join(texts))
    readings: list[Reading] = []
    besides: set[int] = set()
    start = first = 0
    for text in texts:
        start += len(text) + 1
        last = bisect_left(found, (start,), first)
        readings.append(_reading(found[first:last], terms, besides))
        besides |= readings[-1].seen.keys()
        first = last
    return readings


def _reading(found: Found, terms: Sequence[Term], besides: Set[int]) -> Reading:
    if not found:
        return NOTHING_READ
    others = [one for one in found if one[1] not in besides] if besides else found
    seen: dict[int, int] = {}
    for _, number in found:
        seen[number] = seen.get(number, 0) + 1
    return Reading(seen, passage(others, terms), _pairs(found, terms))


class Reader:
    """Reads the texts of rows for the words each holds and how near they stand. ``met`` are the numbers of the terms it
    read in any."""

    def __init__(self, terms: Sequence[Term], average: float) -> None:
        self.met: set[int] = set()
        self._terms = terms
        self._finder = term_finder(terms)
        self._average = average
        self._total_idf = sum(term.idf for term in terms) or 1.0
        self._counted = {number for number, term in enumerate(terms) if term.counted}
        self._common = {number for number, term in enumerate(terms) if not term.looked_up}
        self.uncounted = sum([term.weight for term in terms if not (term.counted and term.looked_up)])
        self._worth = [ordinary_rarity(term) * term.discount for term in terms]
        self._indexed = {number for number, term in enumerate(terms) if term.indexed}

    def read(self, one: Scored, row: Text, length: Length | None) -> None:
        """Score the text of a row."""
        held = {number for number, term in enumerate(self._terms) if one.id in term.mentions}
        scored = held
        if self._finder is None:  # nothing but days and files
            one.passage = frozenset(held)
        else:
            scored = self._read(one, row, held, length, self._finder)
        one.words = tuple([self._terms[number].text for number in sorted(held)])
        one.coverage = sum([self._terms[number].idf for number in scored]) / self._total_idf

    def _read(self, one: Scored, row: Text, held: set[int], length: Length | None, finder: TermFinder) -> set[int]:
        """Score the text of a row, add the terms that are read in it to those it ``held``, and return those that count.

        The title of a session's summary is made of the project's name, and its headings of a template: only its text
        counts.
        """
        if row.is_summary:
            one.bm25 = 0.0
            held -= self._indexed
            parts = ("", "", unframed(row.content)[1])
        else:
            parts = (row.title, f"{row.topic_key or ''} {row.aliases}", row.content)
        title, names, body = read(parts, finder, self._terms)
        named = title.seen.keys() | names.seen.keys()
        one.proximity = title.proximity + body.proximity
        one.titled = frozenset(named)
        one.named = min(1.0, len(title.seen) / max(1, length.title)) if length else 0.0
        seen = named | body.seen.keys()
        # What was looked up and not found here is another word of the same beginning.
        unscored = seen - held if row.is_summary else (seen & (held | self._common)) - (held & self._counted)
        if unscored:
            self._score(one, unscored, (title, names, body), held, length)
        counting = held | unscored
        held |= seen
        # Parts of a word that the index finds stand in no text; a passage has them too.
        one.passage = frozenset(held - (body.seen.keys() - body.passage - named))
        one.strength = self._strength(one.passage, (title, names, body), length)
        self.met |= seen
        return counting

    def _strength(self, numbers: Set[int], parts: tuple[Reading, ...], length: Length | None) -> float:
        title, names, body = (part.seen for part in parts)
        in_title, by = title_weight(length.title if length else USUAL_TITLE), norm(length, USUAL_TEXT)
        found = 0.0
        for number in numbers:
            count = title.get(number, 0) * in_title + names.get(number, 0) + body.get(number, 0)
            found += self._worth[number] * saturated(count or 1, by)
        return found / ((K1 + 1) * (sum([self._worth[number] for number in numbers]) or 1.0))

    def _score(
        self, one: Scored, numbers: Set[int], parts: tuple[Reading, ...], held: Set[int], length: Length | None
    ) -> None:
        """Score terms by their counts in the parts of a text; those that the row ``held`` were scored as one mention
        each."""
        title, names, body = (part.seen for part in parts)
        in_title = title_weight(length.title if length else USUAL_TITLE)
        by = norm(length, self._average)
        mentioned = saturated(1.0, by)
        for number in numbers:
            count = title.get(number, 0) * in_title + names.get(number, 0) + body.get(number, 0)
            weight = self._terms[number].weight
            one.bm25 += weight * saturated(count, by)
            if number in held:
                one.bm25 -= weight * mentioned


def _of_a_file(text: str, at: int) -> bool:
    """Return whether the name of a file ends there: `main.go` says nothing of Go."""
    return text[at - 1] == "." and text[at - 2 : at - 1].isalnum()


def _ends(text: str, end: int) -> bool:
    """Return whether a word whose stem ends there is that word, as far as its ending tells: `ads` has `ad`, `address`
    not.

    Of 60,000 words of commit messages none is missed. Endings of other scripts do not matter: the index keeps them.
    """
    after = text[end : end + 1]
    if not after.isalpha() or not after.isascii():
        return True
    doubled = after == text[end - 1]  # `stopped` is `stop`, with its last letter twice
    return _ENDING.match(text, end) is not None or (doubled and _ENDING.match(text, end + 1) is not None)


def _spellings(stem: str) -> tuple[str, ...]:
    # Porter writes a final y as i: polici stands for policy and policies.
    return (stem, f"{stem[:-1]}y") if len(stem) > 2 and stem.endswith("i") else (stem,)


def _pairs(found: Found, terms: Sequence[Term]) -> float:
    if len(found) < 2:
        return 0.0
    pairs: dict[tuple[int, int], float] = {}
    before, one = -PAIR_CHARS, -1
    for at, other in found:
        if one != other and at - before < PAIR_CHARS:
            pair = (one, other) if one < other else (other, one)
            rarer = min(terms[one].idf, terms[other].idf)
            pairs[pair] = max(pairs.get(pair, 0.0), rarer * (1 - (at - before) / PAIR_CHARS / 2))
        before, one = at, other
    return PAIR_SHARE * sum(sorted(pairs.values(), reverse=True)[:MOST_PAIRS])


# Words scattered over a longer text are there by chance.
PASSAGE_CHARS = 600
Found = Sequence[tuple[int, int]]
"""Where in a text a term stands, in characters, and the number of the term; in the order of the text."""


def passage(found: Found, terms: Sequence[Term]) -> frozenset[int]:
    """Return the terms that stand together in the best 600 characters, by the sum of their idf."""
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
