"""The rows of the words that are looked up, each with its BM25; of what is everywhere the newest, without."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from engram_py.database.store import Store
from engram_py.recall import plan as planner
from engram_py.recall.index import mentions
from engram_py.recall.index import table as search
from engram_py.recall.project_rows import ANYWHERE, ProjectRows
from engram_py.recall.query.parse import Query
from engram_py.recall.score.bm25 import K1, idf, index_idf, norm, saturated
from engram_py.recall.score.relevance import Term, best_of, own_scores

# Where words meet is found by walking the rows of each, and among a million five common words have a million of them
# (40 ms): the two rarest meet, and as many more as have so many rows (2 to 5 ms).
MET_ROWS = 60_000
# Of what is everywhere, so many of the newest rows are looked through for those of a small project.
PASSED_ROWS = 20_000
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
    """The rows of one term of the index, how often each mentions it, and what that tells."""

    often: Mapping[int, float]
    idf: float

    def at_average(self, most: float) -> dict[int, float]:
        """What each row would score, ``most`` at most, were it as long as the average."""
        worth = {often: min(most, self.idf * saturated(often)) for often in set(self.often.values())}
        return dict(zip(self.often, map(worth.__getitem__, self.often.values()), strict=True))

    def by(self, norms: Mapping[int, float]) -> dict[int, float]:
        """What those of the rows of ``norms`` score that mention it, by these."""
        return {row: self.idf * saturated(self.often[row], norms[row]) for row in self.often.keys() & norms.keys()}


@dataclass(frozen=True, slots=True)
class _Common:
    """The same of a common term: each of its rows is taken to mention it once, and once more in its title where it is
    one of ``titles``, which are among them."""

    rows: Set[int]
    titles: Set[int]
    idf: float

    def at_average(self, most: float) -> dict[int, float]:
        once, titled = (min(most, self.idf * saturated(often)) for often in (1.0, _IN_A_TITLE))
        return dict.fromkeys(self.rows, once) | dict.fromkeys(self.titles, titled)

    def by(self, norms: Mapping[int, float]) -> dict[int, float]:
        often = {row: _IN_A_TITLE if row in self.titles else 1.0 for row in norms.keys() & self.rows}
        return {row: self.idf * saturated(mentions, norms[row]) for row, mentions in often.items()}


_Read = tuple[Term, Sequence[_Mentioned | _Common]]


class LookedUp:
    """The ``terms`` whose rows are known, what each row scores by all of them (``own``), and the ``best``, best first;
    most searches need no more of them than the ``first``.

    The rows of the terms that were ``read`` score as if they had the average length, until they are measured.
    """

    def __init__(
        self,
        store: Store,
        terms: Sequence[Term],
        read: Sequence[_Read],
        totals: mentions.Totals,
        *,
        best: int,
        within: ProjectRows = ANYWHERE,
    ) -> None:
        self.terms = terms
        self.read = read
        self.totals = totals
        self.within = within
        self._store = store
        self._most = best
        self.own = own_scores(terms)
        if len(self.own) < MEASURED_ROWS:
            self._complete()
        self._rank()

    def widen(self) -> None:
        """Look up the rest of the common words, where what they share with others is too little."""
        if self._complete():
            self._rank()

    def _rank(self) -> None:
        self.__dict__.pop("best", None)
        self._measured: set[int] = set()
        self.first = self.measured(best_of(self.own, min(self._most, MEASURED_ROWS)))

    def _complete(self) -> bool:
        """Look up what is left of the common words; whether there was any."""
        if not any(term.meeting for term, _ in self.read):
            return False
        self.read = [(term, self._whole(term) if term.meeting else found) for term, found in self.read]
        self.own = own_scores(self.terms)
        return True

    def rows_with(self, term: Term) -> Collection[int]:
        """Every row that holds a term that was looked up."""
        return search.newest(self._store, term.expression, limit=planner.ALL_ROWS) if term.meeting else term.scores

    def _whole(self, term: Term) -> Sequence[_Common]:
        found = _common(self._store, term, (), self.totals.rows, self.within)
        term.scores = _at_average([found], _most(term))
        return [found]

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
    within: ProjectRows = ANYWHERE,
    before: LookedUp | None = None,
) -> LookedUp:
    """Fill ``scores`` of the rarest terms that fit the budget, and tell the ``best`` rows of those ``within``. Terms
    that have scores keep them: dates, and what was looked up ``before``.

    When even the rarest is over the budget, its newest rows are candidates without a score of their own, first those
    where the words meet.
    """
    for term in terms:
        if term.meeting:  # there are other words now
            term.scores, term.meeting = {}, False
    used = [term for term in terms if term.scores]
    # Days have no expression: of theirs nothing may be left that has the phrases of the query.
    known = [term for term in terms if term.rows and term.expression and not term.scores]
    known.sort(key=lambda term: term.rows)
    # What is found by other words than before is looked up anew.
    read: list[_Read] = [one for one in before.read if one[0].scores] if before is not None else []
    affordable = known[: within.affordable(known, scored=lambda term: _by_fts5(query, term))]
    # A day has no expression that a common word could meet.
    beside = [] if any(not term.expression for term in used) else [*used, *affordable]
    for term in affordable:
        found = _found(store, query, term, beside, totals.rows, within)
        if found:
            term.scores = _at_average(found, _most(term))
            read.append((term, found))
        else:
            term.scores = dict(within.of(search.scores(store, query.restricted(term.expression), span=within.span)))
            _lift(term, totals.rows)
        term.looked_up = True
        used.append(term)
    others = [term for term in known if not term.looked_up]
    # What could be looked up may be in none of the rows that are asked for.
    if others and not (used if within.rows is None else any(term.scores for term in used)):
        _newest(store, query, others, within)
        used.append(others[0])
    return LookedUp(store, used, read, totals, best=best, within=within)


def _found(
    store: Store, query: Query, term: Term, beside: Sequence[Term], rows: int, within: ProjectRows
) -> Sequence[_Mentioned | _Common]:
    """Where the term stands; nothing where FTS5 itself scores it sooner or finds it by more than single words."""
    if term.rows <= FEW_ROWS or _by_fts5(query, term):
        return []
    if term.rows > COUNTED_ROWS:
        few = within.expected(term.rows) <= COUNTED_ROWS
        return [_common(store, term, [] if few else [one for one in beside if one is not term], rows, within)]
    found = []
    for stem in term.indexed:
        often = mentions.mentions(store, stem, at_most=MENTIONS_A_ROW * term.rows)
        if often is None:
            return []
        found.append(_Mentioned(within.of(often), _known(len(often), rows)))
    return found


def _by_fts5(query: Query, term: Term) -> bool:
    return not term.indexed or bool(query.phrases or query.excluded)


def _common(store: Store, term: Term, others: Sequence[Term], rows: int, within: ProjectRows) -> _Common:
    """Where a common term stands beside one of the ``others``, or in a title; without these, wherever it stands. What
    has it alone, once in its text, is not among the best."""
    term.meeting = bool(others)
    match = f"({term.expression}) AND ({' OR '.join(one.expression for one in others)})" if others else term.expression
    found, titles = mentions.once(store, match, title=term.expression, span=within.span)
    held = term.rows if others or within.rows is not None else len(found)
    return _Common(within.these(found | titles), within.these(titles), _known(held, rows))


def _known(held: int, rows: int) -> float:
    # FTS5 lets the idf of a word that half of the rows hold fall to a millionth, and in a memory of five rows that is
    # every word.
    return (idf if held >= _COMMON_SHARE * rows else index_idf)(held, rows)


def _at_average(found: Sequence[_Mentioned | _Common], most: float) -> dict[int, float]:
    """What each row would score, ``most`` at most, were it as long as the average."""
    scores = found[0].at_average(most)
    for one in found[1:]:
        for row, score in one.at_average(most).items():
            scores[row] = min(most, scores.get(row, 0.0) + score)
    return scores


def _measure(term: Term, found: Sequence[_Mentioned | _Common], norms: Mapping[int, float]) -> None:
    """Put the lengths of rows into their scores."""
    most = _most(term)
    measured: dict[int, float] = {}
    for one in found:
        for row, score in one.by(norms).items():
            measured[row] = min(most, measured.get(row, 0.0) + score)
    term.scores |= measured


def _lift(term: Term, rows: int) -> None:
    """Give a word that half of the rows hold its weight here, which FTS5 does not, and several no more than one."""
    if _of_several(term):
        most = _most(term)
        term.scores = {row: min(score, most) for row, score in term.scores.items()}
    elif term.rows >= _COMMON_SHARE * rows:
        factor = idf(term.rows, rows) / index_idf(term.rows, rows)
        term.scores = {row: score * max(1.0, factor) for row, score in term.scores.items()}


def _most(term: Term) -> float:
    """Forms and parts, each with an idf of its own that adds up: together they tell no more than one word."""
    return (K1 + 1) * term.idf if _of_several(term) else math.inf


def _of_several(term: Term) -> bool:
    return term.partly or "(" in term.expression


def _newest(store: Store, query: Query, terms: Sequence[Term], within: ProjectRows) -> None:
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
        if not expression:
            continue
        most = planner.NEWEST_ROWS if within.rows is None else PASSED_ROWS
        found = search.newest(store, query.restricted(expression), limit=most, span=within.span)
        for row in within.these(dict.fromkeys(found).keys()):
            first.scores.setdefault(row, worth * first.idf)
