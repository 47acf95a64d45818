"""The rows in which the words of a query stand: of the rare words all rows, within a budget; of common ones none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from itertools import accumulate

from engram_py.database.store import Store
from engram_py.dataclass import dataclass
from engram_py.recall.index import mentions
from engram_py.recall.index import table as index
from engram_py.recall.index.mentions import EVERYWHERE, Span
from engram_py.recall.query.parse import Query
from engram_py.recall.score.bm25 import Term, added

# Rows that a search looks up, about a microsecond each. Recall at 5 on nine sets is the same with no budget at all.
ROW_BUDGET = 4_000
# Only which rows hold it costs a tenth of that: of a word that is everywhere, so many of the newest are candidates.
NEWEST_ROWS = 2_000
# What only rows of others have costs a tenth as well. Recall at 5 of 5,000 commits beside 95,000 of another project:
# 5,000 rows .387, 10,000 .432, 20,000 .464, at 11, 13 and 22 ms a search.
WALKED_ROWS = 10_000
# Of what is everywhere, so many of the newest rows are looked through for those of a small project.
PASSED_ROWS = 20_000
# How often a row mentions a word is read up to so many rows: beyond, its weight is small, and which rows have it costs
# a third.
COUNTED_ROWS = 500
MENTIONS_A_ROW = 6
ALL_ROWS = 1_000_000
# Where two common words meet is found by walking the rows of each: among a million five words take 40 ms.
_MET_ROWS = 60_000


@dataclass(frozen=True)
class ProjectRows:
    """``rows`` are all that may be found, of as many as the memory has (``total``); None where that is not known.

    Beside 100,000 rows of others a word is soon too common to be looked up. Recall at 5 of 342 commits asked beside
    100,000 others: .536, held to their own rows .651, alone in a memory .656.
    """

    rows: Set[int] | None = None
    total: int = 0

    @cached_property
    def span(self) -> Span:
        """Where they are: what is not between the first and the last of them is not walked."""
        return EVERYWHERE if self.rows is None else Span.around(self.rows)

    def these(self, found: Set[int]) -> Set[int]:
        """Those of ``found`` that are of these rows."""
        return found if self.rows is None else found & self.rows

    def of(self, found: Mapping[int, float]) -> Mapping[int, float]:
        """The same of what is known by row."""
        return found if self.rows is None else {row: found[row] for row in found.keys() & self.rows}

    def expected(self, rows: int) -> float:
        """How many of the rows of a word are likely to be of these."""
        return rows if self.rows is None else rows * len(self.rows) / max(1, self.total)

    def affordable(self, terms: Sequence[Term]) -> int:
        """How many of the terms, rarest first, may be looked up."""
        own = accumulate(self.expected(term.rows) for term in terms)
        if self.rows is None:
            return sum(rows <= ROW_BUDGET for rows in own)
        share = min(1.0, (self.span.last - self.span.first + 1) / max(1, self.total))
        walked = accumulate(term.rows * share for term in terms)
        return sum(rows <= ROW_BUDGET and far <= WALKED_ROWS for rows, far in zip(own, walked, strict=True))


ANYWHERE = ProjectRows()


def look_up(store: Store, query: Query, terms: Sequence[Term], *, within: ProjectRows = ANYWHERE) -> None:
    """Fill ``mentions`` of the rarest terms that fit the budget; what was looked up before stays.

    When even the rarest is over the budget, its newest rows are candidates, first those where the words meet.
    """
    known = sorted((term for term in terms if term.rows and not term.looked_up), key=lambda term: term.rows)
    for term in known[: within.affordable(known)]:
        _fill(store, term, within)
        term.looked_up = True
    _hold_to(store, query, terms)
    others = [term for term in known if not term.looked_up]
    if others and not any(term.mentions for term in terms):
        _newest(store, query, others, within)


def _hold_to(store: Store, query: Query, terms: Sequence[Term]) -> None:
    """Leave the rows out that lack a phrase of the query or hold an excluded word."""
    if not (query.phrases or query.excluded):
        return
    unwanted = set(index.newest(store, " OR ".join(query.excluded), limit=ALL_ROWS)) if query.excluded else set()
    wanted = set(index.newest(store, " AND ".join(query.phrases), limit=ALL_ROWS)) if query.phrases else None
    for term in terms:
        kept = term.mentions.keys() - unwanted if wanted is None else (term.mentions.keys() & wanted) - unwanted
        term.mentions = {row: term.mentions[row] for row in kept}
        term.titled = {row: term.titled[row] for row in kept & term.titled.keys()}


def _fill(store: Store, term: Term, within: ProjectRows) -> None:
    if term.indexed and term.rows <= COUNTED_ROWS:
        read = [mentions.mentions(store, one, at_most=MENTIONS_A_ROW * term.rows) for one in term.indexed]
        if None not in read:
            for texts, titles in filter(None, read):
                term.mentions = added(term.mentions, within.of(texts))
                term.titled = added(term.titled, within.of(titles))
            return
    rows, titled = mentions.once(store, term.expression, title=term.expression, span=within.span)
    term.titled = dict.fromkeys(within.these(titled), 1.0)
    term.mentions = dict.fromkeys(within.these(rows), 1.0)


def _newest(store: Store, query: Query, terms: Sequence[Term], within: ProjectRows) -> None:
    """Candidates where every word is common: the newest rows where the rarest two meet, then those of the rarest."""
    first = terms[0]
    walked = accumulate(term.rows for term in terms)
    few = terms[: max(2, sum(rows <= _MET_ROWS for rows in walked))]
    most = NEWEST_ROWS if within.rows is None else PASSED_ROWS
    for expression in (" AND ".join(term.expression for term in few), first.expression):
        found = index.newest(store, query.restricted(expression), limit=most, span=within.span)
        first.mentions |= dict.fromkeys(within.these(dict.fromkeys(found).keys()), 1.0)
