"""How well a row answers the words of a query: BM25 by word, what its neighbours lend it, and what it covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from engram_py.recall.score.bm25 import K1

# Measured on the development sets of shared/retrieval (bench/recall.py), LoCoMo turns, recall at 5: .546 without
# neighbours and session, .671 with; the figures around these differ by less than .01.
LENT_FORWARD = 0.4  # to each of the two rows saved after one in its session
LENT_BACK = 0.2  # to the one before
# A row that has words of the question itself is not above one that has more of them for its neighbours' sake alone.
LENT_MOST = 1.0
SESSION_SHARE = 0.5
SESSION_BEST = 3
COVERAGE_SHARE = 0.4
# What a title says besides: at .08 to .2 DPDK gains .025 to .035 (recall at 5), CoSQA .025 to .035, the others nothing.
UNASKED_SHARE = 0.12
MOST_UNASKED = 8
LENT_COVERAGE = 0.5
# The best place of a long text stands in for a part of the whole text's score. Recall at 5: LoCoMo's sessions .890
# without, .910 with; half of the sessions as one text each and half by turns, long ones .52 and .78, short ones .78 and
# .78. Added to the whole score instead, long texts pass short ones more often (.82 and .77).
PLACE_SHARE = 1.1
INSTEAD = 0.6
# Every word, but for what adding up floats loses.
WHOLE, _NOTHING = 0.999, 1e-9


@dataclass(slots=True)
class Term:
    """A word of the query as this memory knows it.

    ``rows`` is how many rows hold it (0: never seen), ``stems`` how the index writes it, ``indexed`` the terms of the
    index that find the same rows as ``expression`` (none where it takes more than these), ``scores`` the BM25 of each
    row it was looked up in, larger is better. ``looked_up`` says whether all rows that hold it are in ``scores``;
    what is too common is only counted in rows that other words found. ``stands_for`` is set for a near spelling,
    as the index writes it, and ``read_as`` as somebody does.
    ``partly`` is set where only the word itself was, its other names being too common; ``meeting`` where only the rows
    are in ``scores`` that have it in their title, or another word of the query besides. ``in_sight`` is false when only
    rows out of sight hold it.
    """

    text: str
    expression: str
    idf: float
    rows: int
    stems: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()
    scores: dict[int, float] = field(default_factory=dict)
    looked_up: bool = False
    partly: bool = False
    meeting: bool = False
    stands_for: tuple[str, ...] = ()
    read_as: tuple[str, ...] = ()
    worth: float = 1.0
    in_sight: bool = True


class Neighbours(NamedTuple):
    """Of one row: its session, the row before it there, and the two after it; None where there is none."""

    session: str
    before: int | None = None
    after: int | None = None
    second: int | None = None


@dataclass(slots=True)
class Scored:
    """The numbers of one row: its own BM25, with what was lent, the share of the query's idf that it covers itself
    and with its neighbours, and the relevance that all of it adds up to."""

    id: int
    bm25: float = 0.0
    lent: float = 0.0
    covered: float = 0.0
    covered_nearby: float = 0.0
    share: float = 0.0
    closeness: float = 0.0
    place: float = 0.0
    length: float = 0.0
    unasked: int = 0
    session: float = 0.0
    relevance: float = 0.0
    words: tuple[str, ...] = ()
    passage: frozenset[int] = frozenset()
    titled: bool = False

    @property
    def whole(self) -> bool:
        """Whether it holds every word, and in one passage: over a long text they may be scattered."""
        return min(self.covered, self.share) > WHOLE

    def lose(self, terms: Iterable[Term], whole: float) -> None:
        """Let these terms cover nothing of the question, whose idf adds up to ``whole``."""
        lost = sum(term.idf * term.worth for term in terms) / whole
        self.covered_nearby = max(0.0, self.covered_nearby - lost)
        self.covered = self.covered - lost if self.covered - lost > _NOTHING else 0.0


def own_scores(terms: Sequence[Term], rows: Iterable[int] | None = None) -> dict[int, float]:
    """The sum of what each row's words score, for every row that any term was looked up in, or for ``rows`` alone."""
    total: dict[int, float] = {}
    for term in terms:
        worth = term.worth
        found = term.scores if rows is None else {row: term.scores[row] for row in rows if row in term.scores}
        if worth != 1:
            found = {row: score * worth for row, score in found.items()}
        # Joined as a whole, then mended where they meet: four times as fast as row by row.
        both = total.keys() & found.keys()
        sums = {row: total[row] + found[row] for row in both}
        total = {**total, **found, **sums}
    return total


def best_of(own: Mapping[int, float], count: int) -> list[int]:
    """The rows with the ``count`` highest scores, best first; of equal ones the newer."""
    least = sorted(own.values(), reverse=True)[count - 1] if len(own) > count else 0.0
    best = sorted([(score, row) for row, score in own.items() if score >= least], reverse=True)
    return [row for _, row in best[:count]]


def lend(terms: Sequence[Term], around: Mapping[int, Neighbours]) -> dict[int, Scored]:
    """Score the rows of ``around`` and those beside them in their sessions.

    What was saved right after or before a good hit often answers without repeating its words: a question and its
    reply, a fix and what followed. So a row has, word by word, its own score or a part of its neighbours', joined as
    ``own + lent - own * lent / top`` with ``top`` the most that a word can give (a probabilistic or, which BM25's
    own saturation amounts to). Rows found by lending alone enter the ranking here.
    """
    found = {row: Scored(row) for row in around}
    reached = {row: _reached(beside) for row, beside in around.items()}
    whole = sum(term.idf for term in terms) or 1.0
    for term in terms:
        lent = _lent(term, reached)
        top = (K1 + 1) * term.idf
        share = term.idf * term.worth / whole
        for row in lent.keys() | (around.keys() & term.scores.keys()):
            scored = found.get(row)
            if scored is None:
                scored = found[row] = Scored(row)
            own = term.scores.get(row, 0.0) * term.worth
            if row in lent and own < top:  # the parts of an identifier together may score more than one word can
                scored.lent += min(lent[row], top) * (1 - own / top)
            if own:
                scored.bm25 += own
                scored.covered += share
                scored.covered_nearby += share
            else:
                scored.covered_nearby += share * LENT_COVERAGE
    return found


def settle(found: Mapping[int, Scored], sessions: Mapping[int, str]) -> None:
    """Add everything up into ``relevance``: score, times what is covered, plus closeness, plus the session's worth.

    ``(own + closeness) / (1 + .12 n)`` with own ``((1 - c) + c * coverage) * (bm25 + lent)``, to whose closeness a text
    of 1,000 to 2,000 characters and more adds up to the whole of ``max(0, 1.1 place - .6 own)``, and n the words of its
    title that nobody asked for: a title says what a memory is about, and one that says more is about something else
    (FTS5 norms the length of whole rows; this is the norm of the field, as in BM25F, Robertson and others 2004). Then
    half of the mean of the session's three best: a session that several words lead to is where the answer is.
    """
    for scored in found.values():
        if scored.bm25:
            scored.lent = min(scored.lent, LENT_MOST * scored.bm25)
        covered = (1 - COVERAGE_SHARE) + COVERAGE_SHARE * scored.covered_nearby
        aside = 1 + UNASKED_SHARE * min(scored.unasked, MOST_UNASKED)
        own = covered * (scored.bm25 + scored.lent)
        scored.closeness += scored.length * max(0.0, PLACE_SHARE * scored.place - INSTEAD * own)
        scored.relevance = (own + scored.closeness) / aside
    by_session: dict[str, list[float]] = {}
    for row, scored in found.items():
        if row in sessions:
            by_session.setdefault(sessions[row], []).append(scored.relevance)
    for session, values in by_session.items():
        by_session[session] = sorted(values, reverse=True)[:SESSION_BEST]
    for row, scored in found.items():
        if row in sessions:
            scored.session = SESSION_SHARE * sum(by_session[sessions[row]]) / SESSION_BEST
            scored.relevance += scored.session


def _reached(beside: Neighbours) -> list[tuple[int, float]]:
    parts = ((beside.after, LENT_FORWARD), (beside.second, LENT_FORWARD), (beside.before, LENT_BACK))
    return [(other, part) for other, part in parts if other is not None]


def _lent(term: Term, reached: Mapping[int, Sequence[tuple[int, float]]]) -> dict[int, float]:
    lent: dict[int, float] = {}
    for row in reached.keys() & term.scores.keys():
        score = term.scores[row] * term.worth
        for other, part in reached[row]:
            lent[other] = lent.get(other, 0.0) + part * score
    return lent
