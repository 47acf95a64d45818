"""The probability that a row answers a question, from the rarity of the question's words that it holds.

``python -m bench.evidence --write`` fits the coefficients in ``probability.json``, and the bar ``unasked``. The bars
``shown`` and ``sure`` are chosen.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import Any

from engram_py.base.dataclass import dataclass, field
from engram_py.base.reasons import Reason, reason
from engram_py.recall.index import Length

# In a memory of ten rows every word is either everywhere or unknown. As if there were so many texts more of what
# developers write, each word in as many of them as is ordinary (``python -m bench.ordinary_words``): smoothing by a
# background collection (Zhai and Lafferty 2004).
BACKGROUND = 300
# Three words tell what a text is about; more are a longer question's.
TELLING = 3
# A word that more ordinary texts have than this (`user`, `file`, `change`) does not say what a text is about.
_INFORMATIVE_RATE = 0.03


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for one row. What a search weighs of it, no further memory about the same thing makes less.

    ``share`` is what the row holds of the question: the rarity of its words there, by ordinary texts, beside that
    of the missing ones, by this memory as well; ``whole`` is 1 where none is missing. ``strength`` is how often it
    has them, beside the most that counts, whatever other texts this memory holds. ``told`` is the rarity of its
    three rarest words by ordinary texts, ``rare`` by this memory as well; an unknown word has 1. ``title`` is the
    rarity of the words in its title, topic and aliases, ``named`` the share of the title's words that were asked,
    ``words`` ln(1 + how many words were asked). ``asks`` is 1 of a question; only a prompt may be none. ``meaning``
    is how near its vector is beside what the nearest of as many texts is by chance; None without vectors. A search
    weighs neither ``rare``, ``title`` nor ``named``, a prompt neither ``whole``, ``strength`` nor ``told``.
    """

    share: float = 0.0
    whole: float = 0.0
    strength: float = 0.0
    told: float = 0.0
    rare: float = 0.0
    title: float = 0.0
    named: float = 0.0
    words: float = 0.0
    asks: float = 1.0
    meaning: float | None = None

    def probability(self, model: str = "asked") -> float:
        """Return the probability: ``asked`` of a search, ``unasked`` of a prompt that did not ask the memory."""
        if not self.share and self.meaning is None:
            return 0.0
        weights = fitted()[self.of(model)]
        odds = weights["bias"] + sum(weights.get(name, 0.0) * (getattr(self, name) or 0.0) for name in PARTS)
        return 1 / (1 + math.exp(-odds))

    def of(self, name: str) -> str:
        """Return the name of a model or a bar: another one holds where the meaning is known."""
        return name if self.meaning is None else f"{name}_meant"


PARTS = ("share", "whole", "strength", "told", "rare", "title", "named", "words", "asks", "meaning")
NONE = Evidence()


@cache
def fitted() -> Mapping[str, Mapping[str, float]]:
    """Return the coefficients of each model, and in ``bars`` the thresholds."""
    found: Mapping[str, Mapping[str, float]] = _data("probability")
    return found


@cache
def ordinary() -> Mapping[str, float]:
    """Return the share of ordinary texts that have a stem."""
    found: Mapping[str, float] = _data("ordinary_words")
    return found


def _data(name: str) -> Any:
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


def threshold(name: str) -> float:
    """Return the least probability to be ``shown`` as an answer, or given ``unasked``."""
    return fitted()["bars"][name]


def rarity(term: Term, total: int) -> float:
    """Return the rarity (0..1) of a word among ``total`` rows; 1 of one that no visible row holds."""
    here = term.rows if term.visible and not term.substitutes else 0
    rate = max((ordinary().get(stem, 0.0) for stem in term.stems), default=0.0)
    # A row without the word makes it no rarer than it is in ordinary texts.
    return min(_weight(here + BACKGROUND * rate, total) / _weight(0, total), _of_ordinary(rate))


def _weight(rows: float, total: int) -> float:
    total += BACKGROUND
    rows = min(rows, total)
    return math.log(1 + (total - rows + 0.5) / (rows + 0.5))


def ordinary_rarity(term: Term) -> float:
    """Return the rarity (0..1) of a word by ordinary texts alone, whatever this memory has."""
    rate = max((ordinary().get(stem, 0.0) for stem in term.stems), default=0.0)
    return _of_ordinary(rate)


def informative(terms: Sequence[Term]) -> frozenset[str]:
    """Return the words that fewer than three of a hundred ordinary texts have, all where none is so rare."""
    least = _of_ordinary(_INFORMATIVE_RATE)
    return frozenset(term.text for term in terms if ordinary_rarity(term) > least) or frozenset(t.text for t in terms)


def _of_ordinary(rate: float) -> float:
    texts = 4 * BACKGROUND
    return _weight(BACKGROUND * rate, texts) / _weight(0, texts)


def weigh_evidence(
    terms: Sequence[Term], scored: Sequence[Scored], total: int, *, asks: bool = True, foreign: bool = False
) -> None:
    """Fill ``passage_share`` and ``evidence`` of each of ``scored``.

    In a question in a ``foreign`` language unknown words do not count.
    """
    here = [rarity(term, total) for term in terms]
    held_here = [weight * term.discount for weight, term in zip(here, terms, strict=True)]
    ordinarily = [ordinary_rarity(term) * term.discount for term in terms]
    due = [number for number, term in enumerate(terms) if not foreign or term.rows or term.substitutes]
    whole = sum(here[number] for number in due)
    if not whole:
        return
    words = math.log(1 + len(terms))
    told_by: dict[Set[int], tuple[float, ...]] = {}  # many rows hold the same words
    for one in scored:
        if one.passage not in told_by:
            held = sum([ordinarily[number] for number in one.passage])
            missing = sum([here[number] for number in due if number not in one.passage])
            told, rare = (_rarest(weights, one.passage) for weights in (ordinarily, held_here))
            part = sum([held_here[number] for number in one.passage]) / whole
            told_by[one.passage] = part, held / (held + missing) if held else 0.0, told, rare
        one.passage_share, share, told, rare = told_by[one.passage]
        title = sum([held_here[number] for number in one.titled])
        complete = float(share >= ALL_WORDS)
        one.evidence = Evidence(share, complete, one.strength, told, rare, title, one.named, words, float(asks))


def _rarest(weights: Sequence[float], numbers: Set[int]) -> float:
    return sum(sorted([weights[number] for number in numbers], reverse=True)[:TELLING])


# k1 as FTS5 has it. b below its .75: from .55 over .65 to .75 chats about code gain (R@5 .42, .44, .46), fixes and
# conversations lose (curl .29, .29, .28; DPDK .27, .25, .25; LoCoMo turns .71, .70, .69). The score of the best passage
# of 90 words beside the whole, at a share of .15 to .67, gains .015 on curl and loses .02 on answers: it is not here.
K1 = 1.2
B = 0.65

# A mention in a title of n words counts 1 + TITLE / n: a title of one word is the subject of a memory, a long title has
# many. The same weight for all titles gains on conversations and loses as much on recipes.
TITLE = 4.0
USUAL_TITLE = 6.0  # words, until the length of a row was read
USUAL_TEXT = 60.0  # words, where a row is not set beside the others of its memory
# A word that a row lacks counts this much if the row saved right before it in the session has it (a question and its
# answer, a fix and what followed), of one two before or right after less.
AFTER, SECOND, BEFORE = 0.5, 0.35, 0.25
# Each row gets this share of the best score in its session: where one row answers, those around it have its subject.
SESSION = 0.2
ALL_WORDS = 0.999  # adding up floats loses a little


def idf(rows: int, total: int) -> float:
    """Return ``ln(1 + (N - n + 0.5) / (n + 0.5))``, never negative (Robertson and Walker 1997; the 1 is Lucene's)."""
    rows = min(rows, total)
    return math.log(1 + (total - rows + 0.5) / (rows + 0.5))


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the query, or what stands for several of its words: a date, a file, an entity.

    ``rows`` is how many rows hold it (0: never seen). ``stems`` are its forms in the index. ``indexed`` are the index
    terms that together find the same rows as ``expression``, none where it takes more than these. ``mentions`` and
    ``titled`` are the rows it was found in, with how often their text or their title has it; of a term that was not
    ``counted`` it is 1 until the text of a row is read. A term that was not ``looked_up`` is too common: it only counts
    in rows that other terms found. ``substitutes`` are index terms of near spellings and other names, ``read_as`` the
    same for a reader, and ``discount`` is their weight. ``visible`` is false when no row that the search may show holds
    the term. Days do not count ``for_neighbours``. ``names_entity``: it stands for the name of an entity.
    """

    text: str
    expression: str
    idf: float
    rows: int
    stems: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()
    mentions: Mapping[int, float] = field(default_factory=dict)
    titled: Mapping[int, float] = field(default_factory=dict)
    looked_up: bool = False
    counted: bool = True
    substitutes: tuple[str, ...] = ()
    read_as: tuple[str, ...] = ()
    discount: float = 1.0
    visible: bool = True
    for_neighbours: bool = True
    names_entity: bool = False

    @property
    def weight(self) -> float:
        return self.idf * self.discount

    @property
    def use(self) -> Reason:
        """How the search used it."""
        if self.substitutes:
            return reason("near", forms=tuple(self.read_as))
        if not self.rows:
            return reason("unknown")
        return reason("looked_up" if self.looked_up else "only_ranks")

    @property
    def only_elsewhere(self) -> bool:
        """Whether rows hold the word itself, but none that the search may show."""
        return bool(self.rows) and not self.visible and not self.substitutes

    @property
    def unknown(self) -> bool:
        """Whether no row has it, and no row that the search may show has a substitute."""
        return not self.visible if self.substitutes else not self.rows


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The row before a row in its session, and the two after it; None where there is none."""

    before: int | None = None
    after: int | None = None
    second: int | None = None

    def parts(self) -> Iterator[tuple[int, float]]:
        """Yield each neighbour, and the part of a word of this row that counts for it."""
        for row, part in ((self.after, AFTER), (self.second, SECOND), (self.before, BEFORE)):
            if row is not None:
                yield row, part


@dataclass(slots=True)
class Scored:
    """The scores of one row; ``retrieval`` fills them step by step.

    ``relevance`` is the sum of ``bm25`` (its own words), ``neighbour_score`` (words of its neighbours), ``proximity``
    (words that stand near to each other) and ``session`` (a share of the best in its session). ``coverage`` is the
    share of the query's idf that the row has, ``passage_share`` the share of its rarity that the best passage has.
    ``passage`` and ``titled`` are the numbers of the terms in its best passage, and in its title, topic or aliases;
    ``named`` is the share of the title's words these are; ``strength`` as in ``Evidence``.
    """

    id: int
    bm25: float = 0.0
    neighbour_score: float = 0.0
    coverage: float = 0.0
    passage_share: float = 0.0
    proximity: float = 0.0
    session: float = 0.0
    relevance: float = 0.0
    words: tuple[str, ...] = ()
    passage: frozenset[int] = frozenset()
    titled: frozenset[int] = frozenset()
    named: float = 0.0
    strength: float = 0.0
    evidence: Evidence = NONE

    @property
    def has_all_words(self) -> bool:
        """Whether it holds every word in one passage: in a long text they may be scattered."""
        return min(self.coverage, self.passage_share) > ALL_WORDS


def first_scores(terms: Sequence[Term]) -> dict[int, float]:
    """Return BM25F of every row that was looked up, as if all were of the same length."""
    total: dict[int, float] = {}
    in_title = title_weight(USUAL_TITLE)
    for term in terms:
        if not term.counted:
            add(total, dict.fromkeys(term.mentions, term.weight * saturated(1.0, K1)))
            continue
        counts = dict(term.mentions)
        for row, count in term.titled.items():
            counts[row] += count * in_title
        scores = {count: term.weight * saturated(count, K1) for count in set(counts.values())}
        add(total, {row: scores[count] for row, count in counts.items()})
    return total


def add(total: dict[int, float], other: Mapping[int, float]) -> None:
    """Add by row. Joined as a whole, then mended where they meet: four times as fast as row by row."""
    sums = {row: total[row] + other[row] for row in total.keys() & other.keys()}
    total |= other
    total |= sums


def title_weight(words: float) -> float:
    """Return how much a mention in a title of so many words counts."""
    return 1 + TITLE / max(1.0, words)


def best_of(scores: Mapping[int, float], count: int) -> list[int]:
    """Return the rows with the ``count`` highest scores, best first; of equal ones the newer."""
    least = sorted(scores.values(), reverse=True)[count - 1] if len(scores) > count else 0.0
    best = sorted([row for row, score in scores.items() if score >= least], reverse=True)
    return sorted(best, key=scores.__getitem__, reverse=True)[:count]  # equal ones keep their order


def score(
    terms: Sequence[Term],
    neighbours: Mapping[int, Neighbours],
    lengths: Mapping[int, Length],
    average: float,
) -> dict[int, Scored]:
    """Score the rows of ``neighbours`` and those beside them by their own words and those of their neighbours, best
    first."""
    beside = {row: tuple(one.parts()) for row, one in neighbours.items()}
    rows = dict.fromkeys([*beside, *(other for parts in beside.values() for other, _ in parts)])
    by_words, lent = dict.fromkeys(rows, 0.0), dict.fromkeys(rows, 0.0)
    norms: dict[int, float] = {}
    for term in terms:  # most rows lack most terms: only those that have one are gone through
        own = term.mentions.keys() & rows.keys()
        weight, titled = term.weight, term.titled
        for row in own:
            if row not in norms:
                norms[row] = norm(lengths.get(row), average)
            count = term.mentions[row]
            if row in titled:
                count += titled[row] * title_weight(lengths[row].title if row in lengths else USUAL_TITLE)
            by_words[row] += weight * saturated(count, norms[row])
        if term.for_neighbours:
            parts: dict[int, float] = {}
            for giver in own & beside.keys():
                for other, part in beside[giver]:
                    if other not in own:
                        parts[other] = max(part, parts.get(other, 0.0))
            for row, part in parts.items():
                lent[row] += weight * part
    best = sorted([(by_words[row] + lent[row], row) for row in rows], reverse=True)
    return {row: Scored(row, by_words[row], lent[row]) for _, row in best}


def set_relevance(scored: Mapping[int, Scored], sessions: Mapping[int, str]) -> None:
    """Add up the ``relevance`` of each row."""
    best: dict[str, float] = {}
    for row, one in scored.items():
        one.relevance = one.bm25 + one.neighbour_score + one.proximity
        session = sessions.get(row)
        if session is not None:
            best[session] = max(best.get(session, 0.0), one.relevance)
    for row, one in scored.items():
        one.session = SESSION * best.get(sessions.get(row, ""), one.relevance)
        one.relevance += one.session


def norm(length: Length | None, average: float) -> float:
    """Return the length norm of a row; a row that is not indexed yet has the average length."""
    return K1 * (1 - B + B * (length.words / average if length else 1.0))


def saturated(count: float, norm: float) -> float:
    """Return the weight of so many mentions, by the length norm; k1 + 1 at most."""
    return count * (K1 + 1) / (count + norm)
