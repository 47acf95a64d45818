"""The rows of a small project, to which the look-up of words is held from the start.

Beside 100,000 rows of others a word is soon too common to be looked up, and of what is everywhere only the newest rows
are candidates: what a small project says about it was not found. Recall at 5 of 342 commits asked beside 100,000
others: .536 so, .651 held to their own; alone in a memory .656. Of 5,000 among 95,000: .393 and .432.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from engram_py.recall import plan as planner
from engram_py.recall.index.mentions import EVERYWHERE, Span
from engram_py.recall.score.relevance import Term

# To walk the rows of others costs a tenth of what it costs to score one. Recall at 5 of the 5,000 above: 5,000 rows
# .387, 10,000 .432, 20,000 .464, at 11, 13 and 22 ms a search.
WALKED_ROWS = 10_000


@dataclass(frozen=True)
class ProjectRows:
    """``rows`` are all that may be found, of as many as the memory has (``total``); None where that is not known."""

    rows: Set[int] | None = None
    total: int = 0

    @cached_property
    def span(self) -> Span:
        """Where they are: what is not between the first and the last of them is not walked."""
        return EVERYWHERE if self.rows is None else Span.around(self.rows)

    def of(self, scores: Mapping[int, float]) -> Mapping[int, float]:
        """Those of the scores that are of these rows."""
        return scores if self.rows is None else {row: scores[row] for row in scores.keys() & self.rows}

    def these(self, found: Set[int]) -> Set[int]:
        return found if self.rows is None else found & self.rows

    def expected(self, rows: int) -> float:
        """How many of the rows of a word are likely to be of these."""
        return rows if self.rows is None else rows * len(self.rows) / max(1, self.total)

    def affordable(self, terms: Sequence[Term], *, scored: Callable[[Term], bool] = lambda _: False) -> int:
        """How many of the terms, rarest first, may be looked up. Of those that FTS5 has ``scored`` every row counts: it
        scores what is not of these as well, and of what takes more than one word it counts no further than the budget.
        """
        own = accumulate(term.rows if scored(term) else self.expected(term.rows) for term in terms)
        if self.rows is None:
            return sum(rows <= planner.ROW_BUDGET for rows in own)
        share = min(1.0, (self.span.last - self.span.first + 1) / max(1, self.total))
        walked = accumulate(term.rows * share for term in terms)
        return sum(rows <= planner.ROW_BUDGET and far <= WALKED_ROWS for rows, far in zip(own, walked, strict=True))


ANYWHERE = ProjectRows()
