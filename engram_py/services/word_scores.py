"""The rows of the words that are looked up, each with its BM25; of what is everywhere the newest, without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from engram_py.recall.bm25 import K1, idf, index_idf, norm, saturated
from engram_py.recall.query import Query
from engram_py.recall.score import Term, best_of, own_scores
from engram_py.services import planner
from engram_py.store import mentions, search
from engram_py.store.database import Store

# Where words meet is found by walking the rows of each, and among a million five common words have a million of them
# (40 ms): the two rarest meet, and as many more as have so many rows (2 to 5 ms).
MET_ROWS = 60_000
# Of a word with fewer rows FTS5's own score costs no more than to read where it stands.
FEW_ROWS = 50
# To look up the length of a row costs more than its mentions: for the best, a third more than a search goes on with.
# Recall at 5 on DPDK: 80 rows .305, 100 .300, 150 .303; on LoCoMo within .001.
MEASURED_ROWS = 80
# A word that texts repeat is scored by FTS5: each mention that is read costs half a microsecond.
MENTIONS_A_ROW = 6
# Of a word with more rows than this nobody asks how often each mentions it: which rows have it costs a third of that,
# and there its weight is small. Recall at 5 (CoSQA, DPDK): counted for all .496, .305; up to 1,000 rows .496, .306; 500
# .502, .304; 200 .504, .297.
COUNTED_ROWS = 500
_COMMON_SHARE = 0.4
_IN_A_TITLE = 1.0 + mentions.COLUMN_WEIGHTS["title"]


@dataclass(frozen=True, slots=True)
class _Mentioned:
    """The rows of one term of the index, how often each mentions it, and what that tells. Of a common term every row is
    taken to mention it once, and once more in its title where it is one of ``titles``."""

    often: Mapping[int, float]
    idf: float
    titles: Sequence[int] | None = None

    def at_average(self) -> dict[int, float]:
        """What each row would score, were it as long as the average."""
        if self.titles is not None:
            scores = dict.fromkeys(self.often, self.idf * saturated(1.0))
            return scores | dict.fromkeys(self.titles, self.idf * saturated(_IN_A_TITLE))
        worth = {often: self.idf * saturated(often) for often in set(self.often.values())}
        return dict(zip(self.often, map(worth.__getitem__, self.often.values()), strict=True))


_Read = tuple[Term, Sequence[_Mentioned]]


class LookedUp:
    """The ``terms`` whose rows are known, what each row scores by all of them (``own``), and the ``best``, best first;
    most searches need no more of them than the ``first``.

    The rows of the terms that were ``read`` score as if they had the average length, until they are measured.
    """

    def __init__(
        self, store: Store, terms: Sequence[Term], read: Sequence[_Read], totals: mentions.Totals, *, best: int
    ) -> None:
        self.terms = terms
        self.read = read
        self.own = own_scores(terms)
        self.totals = totals
        self._store = store
        self._measured: set[int] = set()
        self._most = best
        self.first = self.measured(best_of(self.own, min(best, MEASURED_ROWS)))

    @cached_property
    def best(self) -> list[int]:
        """The best rows. What was measured stays in front: beside it the others would gain or lose by their lengths."""
        if len(self.own) <= len(self.first):
            return self.first
        others = [row for row in best_of(self.own, self._most) if row not in self._measured]
        return [*self.first, *others][: self._most]

    def measured(self, rows: Sequence[int]) -> list[int]:
        """These rows by their own lengths, best first."""
        new = [row for row in rows if row not in self._measured]
        if new and self.read:
            self._measured.update(new)
            norms = {row: norm(size / self.totals.average) for row, size in mentions.lengths(self._store, new).items()}
            for term, found in self.read:
                _measure(term, found, norms)
            self.own |= own_scores(self.terms, new)
        return sorted(rows, key=lambda row: (-self.own[row], -row))


def look_up(
    store: Store,
    query: Query,
    terms: Sequence[Term],
    totals: mentions.Totals,
    *,
    best: int,
    before: LookedUp | None = None,
) -> LookedUp:
    """Fill ``scores`` of the rarest terms that fit the budget, and tell the ``best`` rows. Terms that have scores keep
    them: dates, and what was looked up ``before``.

    When even the rarest is over the budget, its newest rows are candidates without a score of their own, first those
    where the words meet.
    """
    used = [term for term in terms if term.scores]
    # Days have no expression: of theirs nothing may be left that has the phrases of the query.
    known = [term for term in terms if term.rows and term.expression and not term.scores]
    known.sort(key=lambda term: term.rows)
    # What is found by other words than before is looked up anew.
    read: list[_Read] = [one for one in before.read if one[0].scores] if before is not None else []
    spent = 0
    for term in known:
        if spent + term.rows > planner.ROW_BUDGET:
            break
        spent += term.rows
        found = _found(store, query, term, totals.rows)
        if found:
            term.scores = _capped(term, _at_average(found))
            read.append((term, found))
        else:
            term.scores = search.scores(store, query.restricted(term.expression))
            _lift(term, totals.rows)
        term.looked_up = True
        used.append(term)
    if known and not used:
        _newest(store, query, known)
        used.append(known[0])
    return LookedUp(store, used, read, totals, best=best)


def _found(store: Store, query: Query, term: Term, rows: int) -> list[_Mentioned]:
    """Where the term stands; nothing where FTS5 itself scores it sooner or finds it by more than single words."""
    if not term.indexed or term.rows <= FEW_ROWS or query.phrases or query.excluded:
        return []
    if term.rows > COUNTED_ROWS:
        everywhere, titles = mentions.once(store, term.expression)
        weights = dict.fromkeys(everywhere, 1.0) | dict.fromkeys(titles, _IN_A_TITLE)
        return [_Mentioned(weights, _known(len(weights), rows), titles)]
    found = []
    for stem in term.indexed:
        often = mentions.mentions(store, stem, at_most=MENTIONS_A_ROW * term.rows)
        if often is None:
            return []
        found.append(_Mentioned(often, _known(len(often), rows)))
    return found


def _known(held: int, rows: int) -> float:
    # FTS5 lets the idf of a word that half of the rows hold fall to a millionth, and in a memory of five rows that is
    # every word.
    return (idf if held >= _COMMON_SHARE * rows else index_idf)(held, rows)


def _at_average(found: Sequence[_Mentioned]) -> dict[int, float]:
    """What each row would score, were it as long as the average."""
    scores = found[0].at_average()
    for one in found[1:]:
        for row, score in one.at_average().items():
            scores[row] = scores.get(row, 0.0) + score
    return scores


def _measure(term: Term, found: Sequence[_Mentioned], norms: Mapping[int, float]) -> None:
    """Put the lengths of rows into their scores."""
    measured: dict[int, float] = {}
    for one in found:
        for row in one.often.keys() & norms.keys():
            measured[row] = measured.get(row, 0.0) + one.idf * saturated(one.often[row], norms[row])
    term.scores |= _capped(term, measured)


def _lift(term: Term, rows: int) -> None:
    """Give a word that half of the rows hold its weight here, which FTS5 does not, and several no more than one."""
    if _of_several(term):
        term.scores = _capped(term, term.scores)
    elif term.rows >= _COMMON_SHARE * rows:
        factor = idf(term.rows, rows) / index_idf(term.rows, rows)
        term.scores = {row: score * max(1.0, factor) for row, score in term.scores.items()}


def _capped(term: Term, scores: dict[int, float]) -> dict[int, float]:
    """Forms and parts, each with an idf of its own that adds up: together they tell no more than one word."""
    if not _of_several(term):
        return scores
    most = (K1 + 1) * term.idf
    return {row: min(score, most) for row, score in scores.items()}


def _of_several(term: Term) -> bool:
    return term.partly or "(" in term.expression


def _newest(store: Store, query: Query, terms: Sequence[Term]) -> None:
    """What every row is about: where its words meet, then where the rarest stands in a title, then anywhere."""
    first = terms[0]
    walked = accumulate(term.rows for term in terms)
    few = terms[: max(2, sum(rows <= MET_ROWS for rows in walked))]
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
