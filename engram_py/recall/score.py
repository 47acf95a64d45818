"""Score rows for a question: BM25 of their best passage and of their whole text, words that neighbours in the session
lend, and a share of the session's best.

``python -m bench.ablate`` shows what each part is worth.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

from engram_py.base.dataclass import dataclass, field
from engram_py.base.reasons import Reason, reason
from engram_py.recall.index import Length

# In a memory of ten rows every word is either everywhere or unknown. As if there were so many texts more of what
# developers write, each word in as many of them as is ordinary (``python -m bench.ordinary_words``): smoothing by a
# background collection (Zhai and Lafferty 2004). On eight sets it changes recall at 5 by .002 at most, for the better.
BACKGROUND = 300

# k1 as FTS5 has it, b between the .75 of FTS5 and what conversations like (.55).
K1 = 1.2
B = 0.65
# The whole text counts this much beside its best passage. Recall at 5 of six sets: passages of 60 words .659, of 90
# .661; the whole alone loses .024 on long chats.
WHOLE = 0.5
PASSAGE_WORDS, PASSAGE_CHARS = 90, 600

# A mention in a title of n words counts 1 + TITLE / n: a title of one word is the subject of a memory, a long title has
# many. The same weight for all titles gains on conversations and loses as much on recipes.
TITLE = 4.0
USUAL_TITLE = 6.0  # words, until the length of a row was read
# A word that a row lacks counts this much if the row saved right before it in the session has it (a question and its
# answer, a fix and what followed), of one two before or right after less.
AFTER, SECOND, BEFORE = 0.5, 0.35, 0.25
# Each row gets this share of the best score in its session: where one row answers, those around it have its subject.
SESSION = 0.2
ALL_WORDS = 0.999  # adding up floats loses a little


@cache
def ordinary() -> Mapping[str, float]:
    """Return the share of ordinary texts that have a stem."""
    found: Mapping[str, float] = json.loads(Path(__file__).with_name("ordinary_words.json").read_text(encoding="utf-8"))
    return found


def ordinary_rate(stems: Collection[str]) -> float:
    """Return the share of ordinary texts that have the commonest of some stems."""
    return max((ordinary().get(stem, 0.0) for stem in stems), default=0.0)


def idf(rows: int, total: int, rate: float = 0.0) -> float:
    """Return ``ln(1 + (N - n + 0.5) / (n + 0.5))``, never negative (Robertson and Walker 1997; the 1 is Lucene's), of a
    word that ``rows`` of ``total`` have, and ``rate`` of 300 ordinary texts beside them."""
    held = min(rows, total) + BACKGROUND * rate
    total += BACKGROUND
    return math.log(1 + (total - held + 0.5) / (held + 0.5))


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the query, or what stands for several of its words: a date, a file, an entity.

    ``rows`` is how many rows hold it (0: never seen). ``stems`` are its forms in the index. ``indexed`` are the index
    terms that together find the same rows as ``expression``, none where it takes more than these. ``mentions`` and
    ``titled`` are the rows it was found in, with how often their text or their title has it; of a term that was not
    ``counted`` it is 1. A term that was not ``looked_up`` is too common: it only counts in rows that other terms found.
    ``substitutes`` are index terms of near spellings and other names, ``read_as`` the same for a reader, and
    ``discount`` is their weight. ``visible`` is false when no row that the search may show holds the term. Days do not
    count ``for_neighbours``. ``names_entity``: it stands for the name of an entity.
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

    def mentions_in(self, row: int, title: float) -> float:
        """Return how often a row has it by the index, where a mention in its title counts ``title``."""
        return self.mentions.get(row, 0.0) + self.titled.get(row, 0.0) * title


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

    ``relevance`` is the sum of ``own`` (BM25 of its best ``passage`` and half of that of its ``whole`` text), ``lent``
    (words of its neighbours) and ``session`` (a share of the best in its session). ``coverage`` is the share of the
    query's idf that the row has, ``passage_share`` the share that its best passage has. ``held`` and ``titled`` are the
    numbers of the terms in its best passage, and in its title, topic or aliases; ``named`` is the share of the title's
    words these are. ``meaning`` is how near its vector is beside what the nearest of as many texts is by chance,
    ``cosine`` how near by itself.
    """

    id: int
    whole: float = 0.0
    passage: float = 0.0
    lent: float = 0.0
    session: float = 0.0
    relevance: float = 0.0
    coverage: float = 0.0
    passage_share: float = 0.0
    words: tuple[str, ...] = ()
    held: frozenset[int] = frozenset()
    titled: frozenset[int] = frozenset()
    named: float = 0.0
    meaning: float | None = None
    cosine: float | None = None

    @property
    def own(self) -> float:
        return (self.passage + WHOLE * self.whole) / (1 + WHOLE)

    @property
    def has_all_words(self) -> bool:
        """Whether it holds every word in one passage: in a long text they may be scattered."""
        return min(self.coverage, self.passage_share) > ALL_WORDS


def first_scores(terms: Collection[Term]) -> dict[int, float]:
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
    terms: Collection[Term], neighbours: Mapping[int, Neighbours], lengths: Mapping[int, Length], average: float
) -> dict[int, Scored]:
    """Score the rows of ``neighbours`` and those beside them by the index: their whole texts, and what is lent to them;
    best first. ``average`` is that of the lengths in words."""
    beside = {row: tuple(one.parts()) for row, one in neighbours.items()}
    rows = dict.fromkeys([*beside, *(other for parts in beside.values() for other, _ in parts)])
    whole, lent = dict.fromkeys(rows, 0.0), dict.fromkeys(rows, 0.0)
    norms: dict[int, float] = {}
    for term in terms:  # most rows lack most terms: only those that have one are gone through
        own = term.mentions.keys() & rows.keys()
        weight = term.weight
        for row in own:
            if row not in norms:
                norms[row] = norm(lengths.get(row), average)
            title = title_weight(lengths[row].title if row in lengths else USUAL_TITLE)
            whole[row] += weight * saturated(term.mentions_in(row, title), norms[row])
        if term.for_neighbours:
            parts: dict[int, float] = {}
            for giver in own & beside.keys():
                for other, part in beside[giver]:
                    if other not in own:
                        parts[other] = max(part, parts.get(other, 0.0))
            for row, part in parts.items():
                lent[row] += weight * part
    best = sorted([(whole[row] + lent[row], row) for row in rows], reverse=True)
    return {row: Scored(row, whole[row], lent=lent[row]) for _, row in best}


def set_relevance(scored: Mapping[int, Scored], sessions: Mapping[int, str]) -> None:
    """Add up the ``relevance`` of each row."""
    best: dict[str, float] = {}
    for row, one in scored.items():
        one.relevance = one.own + one.lent
        session = sessions.get(row)
        if session is not None:
            best[session] = max(best.get(session, 0.0), one.relevance)
    for row, one in scored.items():
        one.session = SESSION * best.get(sessions.get(row, ""), one.relevance)
        one.relevance += one.session


def norm(length: Length | None, average: float) -> float:
    """Return the length norm of a text; a row that is not indexed yet has the average length."""
    return K1 * (1 - B + B * (length.words / average if length else 1.0))


def passage_norm(length: Length | None, average: float) -> float:
    """Return the length norm of a passage: that of the text, where this is shorter than a passage."""
    words = min(length.words, PASSAGE_WORDS) if length else PASSAGE_WORDS
    return K1 * (1 - B + B * words / min(average, PASSAGE_WORDS))


def saturated(count: float, norm: float) -> float:
    """Return the weight of so many mentions, by the length norm; k1 + 1 at most."""
    return count * (K1 + 1) / (count + norm)
