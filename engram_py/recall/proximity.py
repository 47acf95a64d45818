"""A look at the text of a row: the terms it holds, its best passage, how near to each other they stand, and the preview
that shows them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence, Set
from itertools import accumulate, pairwise

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


PREVIEW_CHARS = 300
# What decides stands behind what raises the question, so a word of the query counts for the text that follows it as
# far as a passage reaches, less the further it is; for what is before it a quarter as far, and less.
_BEFORE, _BEFORE_REACH = 0.7, 0.25
# Evidence to the power of this is a hit's part of the room: of two hits, one half as good gets a thirtieth.
_POWER, _NOTHING = 5, 0.01
# A shorter passage of a longer text says nothing: its title stands alone.
_LEAST_CHARS = 200
_READ_CHARS = 16_000
# Of an opening that stands before a passage; and how many characters tell where a passage begins.
_FIRST_CHARS, _FOUND_BY = 140, 30
_SENTENCE = regex(r"[.!?;][\"')\]*_`]*\s+|\n\s*|[。！？]")


@dataclass(frozen=True, slots=True)
class Preview:
    """A piece of a text on one line, and whether something was cut."""

    text: str
    cut: bool = False


def shares(scores: Sequence[float], lengths: Sequence[int], room: int) -> list[int]:
    """Return how many of ``room`` characters each passage gets, by its falling score.

    The last get none where it would be too few; the room that a short text leaves goes to the others.
    """
    for shown in range(len(scores), 0, -1):
        given = _shared([max(score, _NOTHING) ** _POWER for score in scores[:shown]], lengths, room)
        if all(part >= min(_LEAST_CHARS, length) for part, length in zip(given, lengths, strict=False)):
            return given + [0] * (len(scores) - shown)
    return [0] * len(scores)


def _shared(weights: Sequence[float], lengths: Sequence[int], room: int) -> list[int]:
    given = [0] * len(weights)
    rest = sum(weights)
    # What needs least of its part comes first, so that it is known what the others can have.
    for at in sorted(range(len(weights)), key=lambda at: lengths[at] / weights[at]):
        given[at] = min(lengths[at], int(room * weights[at] / rest))
        room -= given[at]
        rest -= weights[at]
    return given


def preview(
    content: str, terms: Sequence[Term] = (), finder: TermFinder | None = None, *, limit: int = PREVIEW_CHARS
) -> Preview:
    """Return the ``limit`` characters that have most of the ``terms`` and of the text that follows them.

    It begins with a sentence, or a piece of a long one. A text that is not longer than ``limit`` is shown whole.
    """
    if not limit:
        return Preview("", cut=bool(content))
    piece = _on_one_line(content, limit)
    if len(piece) <= limit:
        return Preview(piece)
    start = _start(content, terms, finder, limit) if finder is not None else 0
    before = "…" if start else ""
    return Preview(before + _cut(_on_one_line(content[start:], limit), limit - len(before)), cut=True)


def with_opening(content: str, passage: str, *, limit: int = PREVIEW_CHARS) -> str:
    """Return at most ``limit`` characters: the first sentence of ``content`` before a ``passage`` from further down."""
    if not passage.startswith("…"):
        return passage
    whole, found = _on_one_line(content, limit), passage.strip("… ")
    if found[:_FOUND_BY] in whole[: limit - _FOUND_BY]:
        return _cut(whole, limit)
    end = _SENTENCE.search(content, len(content) - len(content.lstrip()) + 1, _FIRST_CHARS)
    first = " ".join(content[: end.end()].split()) if end else _cut(whole, _FIRST_CHARS).removesuffix("…")
    return _cut(f"{first} …{found}", limit)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    piece = text[: limit - 1]
    return (piece[: piece.rfind(" ")] if piece.rfind(" ") > limit // 2 else piece) + "…"


def _on_one_line(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters whole, of a longer one more than that of its beginning."""
    first = " ".join(text[: limit * 5 // 4].split())
    return first if len(first) > limit else " ".join(text.split())


def _start(content: str, terms: Sequence[Term], finder: TermFinder, limit: int) -> int:
    """Return where the passage of ``limit`` characters begins that is nearest to the terms."""
    pieces = _read(content, 0, limit, finder)
    if not pieces.held and len(content) > _READ_CHARS:
        seen = folded(content)
        at = min((at for at, _ in _found(seen, finder)), default=0) * len(content) // len(seen)
        pieces = _read(content, max(0, at - _READ_CHARS // 4), limit, finder)
    if not pieces.held:
        return 0
    first = pieces.first
    ends = [*first[1:], min(len(content), first[0] + _READ_CHARS)]
    near = [0.0] * len(first)
    for number, places in pieces.held.items():
        weight = terms[number].weight
        for at, nearness in _nearness(first, ends, places, limit).items():
            near[at] += weight * nearness
    worth = [0.0, *accumulate(value * (end - at) for value, at, end in zip(near, first, ends, strict=True))]

    def passage(at: int) -> float:
        end = min(first[at] + limit, ends[-1])
        last = bisect_left(ends, end)
        return worth[last] + near[last] * (end - first[last]) - worth[at]

    latest = bisect_left(first, len(content.rstrip()) - limit, hi=len(first) - 1)
    begins = pieces.sentences.union(*pieces.held.values())
    return first[max((at for at in range(latest + 1) if at in begins or at == latest), key=passage)]


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The pieces of a text: where sentences and parts of long ones begin, the numbers of sentences, and the pieces of
    each
    term."""

    first: list[int]
    sentences: set[int]
    held: dict[int, list[int]]


def _read(content: str, since: int, limit: int, finder: TermFinder) -> _Pieces:
    """Return the pieces of 16,000 characters of a text from a place on."""
    text = content[since : since + _READ_CHARS]
    longest = max(_LEAST_CHARS, limit) // 3
    first, sentences = [0], {0}
    for end in [*(one.end() for one in _SENTENCE.finditer(text)), len(text)]:
        while end - first[-1] > longest:
            blank = text.rfind(" ", first[-1], first[-1] + longest)
            first.append(blank + 1 if blank > first[-1] else first[-1] + longest)
        if first[-1] < end < len(text):
            sentences.add(len(first))
            first.append(end)
    texts = [folded(text[at:end]) for at, end in pairwise([*first, len(text)])]
    starts = [0, *accumulate(len(one) + 1 for one in texts)]
    held: dict[int, list[int]] = {}
    for at, number in _found("\n".join(texts), finder):
        held.setdefault(number, []).append(bisect_right(starts, at) - 1)
    return _Pieces([since + at for at in first], sentences, held)


def _found(text: str, finder: TermFinder) -> list[tuple[int, int]]:
    # Or else parts of names that are written in one word.
    return finder.found_in(text) or [(at, number) for stem, number in finder.stems if (at := text.find(stem)) >= 0]


def _nearness(first: Sequence[int], ends: Sequence[int], places: Sequence[int], reach: int) -> dict[int, float]:
    """Return how near each piece is to a term that these pieces have: 1 with it, and less the further from it."""
    near: dict[int, float] = {}
    for place, following in pairwise([*places, len(first)]):
        near[place] = 1.0
        for at in range(place + 1, min(following, bisect_left(first, ends[place] + reach))):
            near[at] = 1 - (first[at] - ends[place]) / reach
    back = reach * _BEFORE_REACH
    for place in places:
        for at in range(bisect_right(ends, first[place] - back), place):
            near[at] = max(near.get(at, 0.0), _BEFORE * (1 - (first[place] - ends[at]) / back))
    return near
