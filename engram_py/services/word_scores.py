"""The rows of the words that are looked up, each with its BM25; of what is everywhere the newest, without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from engram_py.recall.bm25 import K1, idf, index_idf, norm, saturated
from engram_py.recall.query import Query
from engram_py.recall.score import Term, best_of, own_scores
from engram_py.services import planner
from engram_py.store import mentions, search
from engram_py.store.database import Store

# Where words meet is found by walking the rows of each, and among a million five common words have a million of them
# (40 ms): the rarest meet, as many as have so many rows (2 to 5 ms).
MET_ROWS = 60_000
# Of a word with fewer rows FTS5's own score costs no more than to read where it stands.
FEW_ROWS = 50
# To look up the length of a row costs as much as its mentions: for the best, twice as many as a search goes on with.
MEASURED_ROWS = 150
_COMMON_SHARE = 0.4


@dataclass(frozen=True, slots=True)
class _Mentioned:
    """The rows of one term of the index, how often each mentions it, and what that tells."""

    often: Mapping[int, float]
    idf: float


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The terms whose rows are known, rarest first; what each row scores by all of them; and the best, best first."""

    terms: Sequence[Term]
    own: Mapping[int, float]
    best: Sequence[int]


def look_up(store: Store, query: Query, terms: Sequence[Term], *, size: int, best: int) -> LookedUp:
    """Fill ``scores`` of the rarest terms that fit the budget, and tell the ``best`` rows.

    When even the rarest is over the budget, its newest rows are candidates without a score of their own, first those
    where the words meet.
    """
    used = [term for term in terms if term.scores]  # dates
    known = sorted((term for term in terms if term.rows and not term.scores), key=lambda term: term.rows)
    totals = mentions.totals(store)
    read: list[tuple[Term, Sequence[_Mentioned]]] = []
    spent = 0
    for term in known:
        if spent + term.rows > planner.ROW_BUDGET:
            break
        spent += term.rows
        if term.indexed and term.rows > FEW_ROWS and not query.phrases and not query.excluded:
            found = [_mentioned(store, stem, totals.rows, size) for stem in term.indexed]
            term.scores = _at_average(found)
            read.append((term, found))
        else:
            term.scores = search.scores(store, query.restricted(term.expression))
            _lift(term, totals.rows, size)
        term.looked_up = True
        used.append(term)
    if known and not used:
        _newest(store, query, known)
        used.append(known[0])
    own = own_scores(used)
    pool = best_of(own, best)
    if read:
        _measure(store, read, pool[:MEASURED_ROWS], totals.average)
        own |= own_scores(used, pool[:MEASURED_ROWS])
        pool.sort(key=lambda row: (-own[row], -row))
    return LookedUp(used, own, pool)


def _mentioned(store: Store, stem: str, rows: int, size: int) -> _Mentioned:
    often = mentions.mentions(store, stem)
    # FTS5 lets the idf of a word that half of the rows hold fall to a millionth, and in a memory of five rows that is
    # every word.
    known = idf if len(often) >= _COMMON_SHARE * size else index_idf
    return _Mentioned(often, known(len(often), rows))


def _at_average(found: Sequence[_Mentioned]) -> dict[int, float]:
    """What each row would score, were it as long as the average."""
    scores: dict[int, float] = {}
    for one in found:
        worth = {often: one.idf * saturated(often) for often in set(one.often.values())}
        if not scores:
            scores = {row: worth[often] for row, often in one.often.items()}
            continue
        for row, often in one.often.items():
            scores[row] = scores.get(row, 0.0) + worth[often]
    return scores


def _measure(
    store: Store, read: Sequence[tuple[Term, Sequence[_Mentioned]]], best: Sequence[int], average: float
) -> None:
    """Put their lengths into the scores of the best rows."""
    lengths = mentions.lengths(store, best)
    norms = {row: norm(length / average) for row, length in lengths.items()}
    for term, found in read:
        measured: dict[int, float] = {}
        for one in found:
            for row in one.often.keys() & norms.keys():
                measured[row] = measured.get(row, 0.0) + one.idf * saturated(one.often[row], norms[row])
        term.scores |= measured
        _cap(term)


def _lift(term: Term, rows: int, size: int) -> None:
    """Give a word that half of the rows hold its weight here, which FTS5 does not."""
    if term.partly or "(" in term.expression:
        _cap(term)
    elif term.rows >= _COMMON_SHARE * size:
        factor = idf(term.rows, rows) / index_idf(term.rows, rows)
        term.scores = {row: score * max(1.0, factor) for row, score in term.scores.items()}


def _cap(term: Term) -> None:
    """Forms and parts, each with an idf of its own that adds up: together they tell no more than one word."""
    if term.partly or "(" in term.expression:
        most = (K1 + 1) * term.idf
        term.scores = {row: min(score, most) for row, score in term.scores.items()}


def _newest(store: Store, query: Query, terms: Sequence[Term]) -> None:
    """What every row is about: where its words meet, then where the rarest stands in a title, then anywhere."""
    first = terms[0]
    walked = accumulate(term.rows for term in terms)
    few = terms[: sum(rows <= MET_ROWS for rows in walked)]
    meeting = " AND ".join(term.expression for term in few)
    # In parts of the most that a word can score, k1 + 1 times its idf: about what BM25 gives one mention.
    for expression, worth in (
        (meeting if len(few) > 1 else "", 2.0),
        (f"title : ({first.expression})", 1.8),
        (first.expression, 1.0),
    ):
        found = search.newest(store, query.restricted(expression), limit=planner.NEWEST_ROWS) if expression else ()
        for row in found:
            first.scores.setdefault(row, worth * first.idf)
