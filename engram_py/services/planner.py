"""Which words of a query to look up: the rare ones, within a budget of rows."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.recall.query import Word
from engram_py.store import search
from engram_py.store.database import Store


def rarest(store: Store, words: Sequence[Word], *, row_budget: int) -> list[Word]:
    """The rarest of ``words`` whose rows add up to at most ``row_budget``; those nothing holds are left out.

    FTS5 scores every row that any word matches, about a microsecond each, before it returns the first: the
    frequent words decide what a search costs and say the least (shared/retrieval/README.md). When even the
    rarest word is over the budget it is taken alone; ``floor`` bounds what that costs. A memory smaller than the
    budget needs no counting.
    """
    if search.highest_id(store) <= row_budget:
        return list(words)
    counted = [(search.frequency(store, word.expression, cap=row_budget + 1), word) for word in words]
    known = sorted(((rows, word) for rows, word in counted if rows), key=lambda pair: pair[0])
    chosen: list[Word] = []
    spent = 0
    for rows, word in known:
        if chosen and spent + rows > row_budget:
            break
        chosen.append(word)
        spent += rows
    return chosen


def floor(store: Store, match: str, *, row_budget: int) -> int:
    """The lowest id to score: 0, or where the newest ``row_budget`` rows that match begin.

    What everything is about is found by its newest mentions, at a cost that does not grow with the memory.
    """
    if search.highest_id(store) <= row_budget:
        return 0
    return search.id_of_nth_newest(store, match, row_budget) or 0
