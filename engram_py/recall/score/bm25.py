"""How well a row answers the words of a query: BM25F, proximity, and what its neighbours and its session add.

Every figure here is measured on nine sets at once (``python -m bench.ablate``); a part that helps on one alone is not
here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from engram_py.dataclass import dataclass, field
from engram_py.recall.index.mentions import Length
from engram_py.recall.score.probability import NONE, Evidence

# k1 as FTS5 has it. b below FTS5's .75: measured on nine sets at .4 to .75, fixes (curl, DPDK) gain up to .04 from a
# smaller b, answers and recipes lose up to .04 from one below .5.
K1 = 1.2
B = 0.55

# A mention in a title of n words counts 1 + TITLE / n: a name of one word says what a memory is about, a long title
# says many things. A weight that is the same for all titles gains on conversations and loses as much on recipes.
TITLE = 4.0
USUAL_TITLE = 6.0  # words, until the length of a row was read
# A word that a row lacks counts this much if the row saved right before it in the session has it (a question and its
# answer, a fix and what followed), of one two before or right after less.
AFTER, SECOND, BEFORE = 0.5, 0.35, 0.25
# Of the best score in its session each row gets this share: where one row answers, those around it are about the same.
SESSION = 0.2
WHOLE = 0.999  # every word, but for what adding up floats loses


def idf(rows: int, total: int) -> float:
    """How much a word tells: ``ln(1 + (N - n + 0.5) / (n + 0.5))``, never negative (Robertson and Walker 1997, with
    the 1 that Lucene adds)."""
    rows = min(rows, total)
    return math.log(1 + (total - rows + 0.5) / (rows + 0.5))


@dataclass(slots=True)
class Term:
    """A word of the query as this memory knows it.

    ``rows`` is how many rows hold it (0: never seen), ``stems`` how the index writes it, ``indexed`` the terms of the
    index that find the same rows as ``expression`` (none where it takes more than these). ``mentions`` are the rows it
    was looked up in, each with how often its text has it; ``titled`` those whose title has it, how often. A term that
    was not ``looked_up`` is too common: it only counts in rows that other words found. ``stands_for`` is set for a near
    spelling, as the index writes it, ``read_as`` as somebody does. ``in_sight`` is false when only rows out of sight
    hold it. Neighbours of a row have its words, not its days: a day ``lends`` nothing.
    """

    text: str
    expression: str
    idf: float
    rows: int
    stems: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()
    mentions: dict[int, float] = field(default_factory=dict)
    titled: dict[int, float] = field(default_factory=dict)
    looked_up: bool = False
    stands_for: tuple[str, ...] = ()
    read_as: tuple[str, ...] = ()
    worth: float = 1.0
    in_sight: bool = True
    lends: bool = True

    @property
    def weight(self) -> float:
        return self.idf * self.worth

    @property
    def use(self) -> str:
        """What was done with it, for a reader."""
        if self.stands_for:
            return f"near: {', '.join(self.read_as)}"
        if not self.rows:
            return "unknown"
        return "looked up" if self.looked_up else "too common: only ranks"

    def frequency(self, row: int, title_words: float) -> float:
        """How often a row has the term, a mention in its title of so many words counted by ``TITLE``."""
        found = self.mentions.get(row, 0.0)
        titled = self.titled.get(row, 0.0)
        return found + titled * (1 + TITLE / max(1.0, title_words)) if titled else found


def is_elsewhere(term: Term) -> bool:
    """Whether only rows out of sight hold the word itself."""
    return bool(term.rows) and not term.in_sight and not term.stands_for


class Neighbours(NamedTuple):
    """Of one row: its session, the row before it there, and the two after it; None where there is none."""

    session: str
    before: int | None = None
    after: int | None = None
    second: int | None = None

    def parts(self) -> Iterator[tuple[int, float]]:
        """Each neighbour, and what a word of this row counts for it."""
        for row, part in ((self.after, AFTER), (self.second, SECOND), (self.before, BEFORE)):
            if row is not None:
                yield row, part


@dataclass(slots=True)
class Scored:
    """The numbers of one row. ``bm25`` is its own, ``lent`` what neighbours add, ``covered`` the share of the query's
    idf that it has, ``share`` what its best passage has as ``evidence`` weighs it, ``closeness`` how near its words
    stand, ``titled`` the numbers of the terms in its title, topic or aliases, ``named`` which share of the title's
    words these are, ``session`` what its session adds; ``relevance`` is the sum of the four scores."""

    id: int
    bm25: float = 0.0
    lent: float = 0.0
    covered: float = 0.0
    share: float = 0.0
    closeness: float = 0.0
    session: float = 0.0
    relevance: float = 0.0
    words: tuple[str, ...] = ()
    passage: frozenset[int] = frozenset()
    titled: frozenset[int] = frozenset()
    named: float = 0.0
    evidence: Evidence = NONE

    @property
    def whole(self) -> bool:
        """Whether it holds every word, and in one passage: over a long text they may be scattered."""
        return min(self.covered, self.share) > WHOLE


def first_scores(terms: Sequence[Term]) -> dict[int, float]:
    """BM25F of every row that was looked up, as if all were of the same length."""
    total: dict[int, float] = {}
    for term in terms:
        worth = {often: term.weight * saturated(often, K1) for often in set(term.mentions.values())}
        found = {row: worth[often] for row, often in term.mentions.items()}
        for row in term.titled:
            found[row] = term.weight * saturated(term.frequency(row, USUAL_TITLE), K1)
        total = added(total, found)
    return total


def added(one: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    """The sum by row. Joined as a whole, then mended where they meet: four times as fast as row by row."""
    return {**one, **other, **{row: one[row] + other[row] for row in one.keys() & other.keys()}}


def best_of(scores: Mapping[int, float], count: int) -> list[int]:
    """The rows with the ``count`` highest scores, best first; of equal ones the newer."""
    least = sorted(scores.values(), reverse=True)[count - 1] if len(scores) > count else 0.0
    best = sorted([(score, row) for row, score in scores.items() if score >= least], reverse=True)
    return [row for _, row in best[:count]]


def score(
    terms: Sequence[Term], around: Mapping[int, Neighbours], lengths: Mapping[int, Length], average: float
) -> dict[int, Scored]:
    """The rows of ``around`` and those beside them: their own words, and those that only neighbours have."""
    near: dict[int, list[tuple[int, float]]] = {row: [] for row in around}
    for row, beside in around.items():
        for other, part in beside.parts():
            near.setdefault(other, []).append((row, part))
    whole = sum(term.idf for term in terms) or 1.0
    found = {}
    for row, givers in near.items():
        found[row] = one = Scored(row)
        length = lengths.get(row)
        by = norm(length, average)
        for term in terms:
            often = term.frequency(row, length.title if length else USUAL_TITLE)
            if often:
                one.bm25 += term.weight * saturated(often, by)
                one.covered += term.weight / whole
            elif givers and term.lends:
                one.lent += term.weight * max((part for other, part in givers if other in term.mentions), default=0.0)
    return found


def settle(found: Mapping[int, Scored], sessions: Mapping[int, str]) -> None:
    """Add up ``relevance``: own words, neighbours', closeness, and a share of the best in the session."""
    best: dict[str, float] = {}
    for row, one in found.items():
        one.relevance = one.bm25 + one.lent + one.closeness
        session = sessions.get(row)
        if session is not None:
            best[session] = max(best.get(session, 0.0), one.relevance)
    for row, one in found.items():
        one.session = SESSION * best.get(sessions.get(row, ""), one.relevance)
        one.relevance += one.session


def norm(length: Length | None, average: float) -> float:
    """What the length of a row sets against its mentions; of a row that is not indexed yet, as of the average."""
    return K1 * (1 - B + B * (length.words / average if length else 1.0))


def saturated(often: float, norm: float) -> float:
    """What so many mentions count, by the length norm; k1 + 1 at most."""
    return often * (K1 + 1) / (often + norm)
