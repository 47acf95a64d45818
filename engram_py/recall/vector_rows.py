"""Joins the rows that vectors found nearest to those that words found."""

from __future__ import annotations

from collections.abc import Collection

from engram_py.database.store import Store
from engram_py.observations import table
from engram_py.recall.candidates import READ, Found, current
from engram_py.recall.query.parse import Query
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.score.bm25 import Scored
from engram_py.recall.score.fusion import fuse, strong
from engram_py.recall.values import LadderStep
from engram_py.recall.visible_rows import VisibleRows
from engram_py.vectors.vectors import Vectors


def add_meaning(store: Store, vectors: Vectors, query: Query, sight: ScopeFilter, found: Found) -> None:
    """Rank ``found`` anew by words and vectors together; its notes say when vectors had to be left out.

    Marks the rows so near that they answer whatever words they share with the question: the floor lets them through.
    """

    in_sight = VisibleRows(store, sight)

    def sees(ids: Collection[int]) -> set[int]:
        return in_sight.of(list(ids))

    lexical = [(one.id, one.relevance) for one in found.scored]
    nearest = vectors.nearest(
        query.text, projects=sight.projects, sees=sees, limit=READ, also=[one.id for one in found.scored]
    )
    if not nearest.hits:
        found.notes = (nearest.note,) if nearest.note else ()
        return
    told = found.scored[0].covered * sum(term.idf for term in found.terms) if found.scored else 0.0
    by_words = {one.id: one for one in found.scored}
    fused = fuse(lexical, nearest, nats=told)
    if query.phrases or query.excluded:  # what has to stand in a text, or must not, is not a matter of meaning
        fused = [(row, score) for row, score in fused if row in by_words]
    fused = fused[:READ]
    found.rows |= table.by_ids(store, [row for row, _ in fused if row not in found.rows])
    top = lexical[0][1] if lexical else 1.0
    found.scored = []
    for row, score in fused:
        if row in found.rows:
            one = by_words.get(row) or Scored(row)
            one.relevance = score * top
            found.scored.append(one)
    found.near = frozenset(row for row, _ in nearest.hits if row in found.rows)
    found.strong = strong(nearest) & found.rows.keys()
    found.scored = current(found, found.scored, in_sight)
    added = sum(one.id not in by_words for one in found.scored)
    found.rungs.append(LadderStep("vectors", added, f"weighed at {nearest.weight:.2f}"))
