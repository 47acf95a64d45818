"""Read the texts of rows: the terms that each holds, and its best passage by BM25."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from engram_py.base.capture.passive import unframed
from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import folded
from engram_py.base.text.words import is_unspaced
from engram_py.recall.index import Length
from engram_py.recall.score import (
    PASSAGE_CHARS,
    USUAL_TITLE,
    Scored,
    Term,
    norm,
    passage_norm,
    saturated,
    title_weight,
)
from engram_py.recall.values import Text

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


Found = Sequence[tuple[int, int]]
"""Where in a text a term stands, in characters, and the number of the term; in the order of the text."""


class Reader:
    """Reads the texts of rows, the first 8,000 characters of each, and fills what they tell into their scores. ``met``
    are the numbers of the terms it read in any."""

    def __init__(self, terms: Sequence[Term], average: float) -> None:
        self.met: set[int] = set()
        self._terms = terms
        self._finder = term_finder(terms)
        self._average = average
        self._total = sum(term.idf for term in terms) or 1.0
        self._common = {number for number, term in enumerate(terms) if not term.looked_up}
        self._indexed = {number for number, term in enumerate(terms) if term.indexed}

    def read(self, one: Scored, row: Text, length: Length | None) -> None:
        """Score the text of a row by its own words, in its best passage and in the whole.

        The title of a session's summary is made of the project's name, and its headings of a template: only its text
        counts.
        """
        parts = ("", "", unframed(row.content)[1]) if row.is_summary else _parts(row)
        in_title = title_weight(length.title if length else USUAL_TITLE)
        title, names, body = self._found_in(parts)
        in_titles = {number for _, number in title}
        outside = _counted(names, _counted(title, {}, in_title))
        counts = _counted(body, dict(outside))
        by_index = {
            number: term.mentions_in(one.id, in_title)
            for number, term in enumerate(self._terms)
            if one.id in term.mentions and not (row.is_summary and number in self._indexed)
        }
        # What was looked up and not found here is another word of the same beginning.
        read = {number for number in counts if row.is_summary or number in by_index or number in self._common}
        whole = {number: max(counts[number], by_index.get(number, 0.0)) for number in read}
        # Parts of a word that the index finds stand in no text; every passage has them, as it has the title.
        around = {number: count for number, count in by_index.items() if number not in read}
        whole |= around
        around |= {number: count for number, count in outside.items() if number in read}
        one.whole = self._bm25(whole, norm(length, self._average))
        inside = [place for place in body if place[1] in read] if len(read) < len(counts) else body
        one.passage, one.held = self._best_passage(inside, around, passage_norm(length, self._average))
        self._tell(one, whole, outside, len(in_titles) / max(1, length.title) if length else 0.0)
        self.met |= read

    def _tell(self, one: Scored, numbers: Iterable[int], titled: Iterable[int], named: float) -> None:
        one.words = tuple([self._terms[number].text for number in sorted(numbers)])
        one.coverage = self._share(numbers)
        one.passage_share = self._share(one.held)
        one.titled, one.named = frozenset(titled), min(1.0, named)

    def _share(self, numbers: Iterable[int]) -> float:
        return sum([self._terms[number].weight for number in numbers]) / self._total

    def _found_in(self, parts: Sequence[str]) -> list[Found]:
        """Return what is found in each part of a text."""
        texts = [folded(part[:READ_CHARS]) for part in parts]
        found = self._finder.found_in("\n".join(texts)) if self._finder is not None else []
        split: list[Found] = []
        start = first = 0
        for text in texts:
            start += len(text) + 1
            last = bisect_left(found, (start,), first)
            split.append(found[first:last])
            first = last
        return split

    def _bm25(self, counts: Mapping[int, float], by: float) -> float:
        return sum([self._terms[number].weight * saturated(count, by) for number, count in counts.items()])

    def _best_passage(self, found: Found, around: Mapping[int, float], by: float) -> tuple[float, frozenset[int]]:
        """Return the BM25 of the best 600 characters with what stands ``around`` them, and their terms."""
        counts = dict(around)
        if not found or found[-1][0] - found[0][0] <= PASSAGE_CHARS:
            counts = _counted(found, counts)
            return self._bm25(counts, by), frozenset(counts)
        best, held = 0.0, frozenset(around)
        score = self._bm25(counts, by)
        first = 0
        for at, number in found:
            score += self._changed(counts, number, 1.0, by)
            while at - found[first][0] > PASSAGE_CHARS:
                score += self._changed(counts, found[first][1], -1.0, by)
                first += 1
            if score > best + 1e-9:
                best, held = score, frozenset([number for number, count in counts.items() if count > 0])
        return best, held

    def _changed(self, counts: dict[int, float], number: int, by: float, norm: float) -> float:
        """Count a term once more or less; return by how much that changes the score."""
        before = counts.get(number, 0.0)
        counts[number] = before + by
        return self._terms[number].weight * (saturated(before + by, norm) - saturated(before, norm))


def _parts(row: Text) -> tuple[str, str, str]:
    return row.title, f"{row.topic_key or ''} {row.aliases}", row.content


def _counted(found: Found, counts: dict[int, float], weight: float = 1.0) -> dict[int, float]:
    """Add how often each term was found to ``counts``."""
    for _, number in found:
        counts[number] = counts.get(number, 0.0) + weight
    return counts


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
