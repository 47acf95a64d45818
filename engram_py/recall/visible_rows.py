"""Which of the rows that a search found it may show."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from engram_py.database.store import Store
from engram_py.observations import relations_table as relations
from engram_py.observations import visible
from engram_py.observations.values import Observation
from engram_py.observations.visible import SMALL
from engram_py.recall.index import table as index
from engram_py.recall.postings import ANYWHERE, ProjectRows
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.score.bm25 import Neighbours

# To look at a row takes three microseconds and more; what a small project has is read at once, in less time than to
# look at a thousand.
_MANY = 200
_A_FEW = 30


class VisibleRows:
    """Asks for one search. Where the best rows are of other projects, only those of a small one are looked at.

    ``share`` is the part of the usual number of rows that is looked at: less where few are wanted.
    """

    share = 1.0

    def __init__(self, store: Store, sight: ScopeFilter) -> None:
        self.sight = sight
        self._store = store

    def of(self, rows: Sequence[int], *, filtered: bool = True) -> set[int]:
        """Those of ``rows`` that the projects, and unless told otherwise the filters, let through."""
        sight = self.sight if filtered else self.sight.unfiltered()
        rows = self._narrowed(rows)
        return index.passing(self._store, rows, sight.values) if rows else set()

    def beside(self, rows: Sequence[int]) -> dict[int, Neighbours]:
        """What stands beside those of ``rows`` that may be shown."""
        rows = self._narrowed(rows)
        found = index.beside(self._store, rows, self.sight.values) if rows else ()
        return {row[0]: Neighbours(*row[1:]) for row in found}

    def rows(self, ids: Sequence[int]) -> dict[int, Observation]:
        """The same of a few, whole."""
        return index.seen(self._store, ids, self.sight.values)

    def first(self, ids: Sequence[int], *, most: int) -> dict[int, Observation]:
        """The first ``most`` of these that may be shown, whole, in their order."""
        rows: dict[int, Observation] = {}
        at = 0
        while len(rows) < most and at < len(ids):
            part = ids[at : at + max(_A_FEW, most - len(rows))]
            rows |= self.rows(part)
            at += len(part)
        return {row: rows[row] for row in [one for one in ids[:at] if one in rows][:most]}

    def replacements(self, rows: Sequence[Observation]) -> dict[int, int]:
        """By id, what stands in the place of those of ``rows`` that were replaced, unless these are asked for."""
        old = {row.sync_id: row.id for row in rows if row.lifecycle == "historical"}
        if not old or self.sight.values["superseded"]:
            return {}
        by = relations.replacements(self._store, old)
        return {row_id: by[sync_id] for sync_id, row_id in old.items() if sync_id in by}

    def _narrowed(self, rows: Sequence[int]) -> Sequence[int]:
        if len(rows) <= _MANY or self._small is None:
            return rows
        return [row for row in rows if row in self._small]

    def within(self, total: int) -> ProjectRows:
        """The rows of the projects, where these are small and have less than half of a memory of ``total`` rows."""
        rows = self._all(min(SMALL, total // 2))
        return ANYWHERE if rows is None else ProjectRows(rows, total)

    @cached_property
    def _small(self) -> frozenset[int] | None:
        return self._all(SMALL)

    def _all(self, most: int) -> frozenset[int] | None:
        """Every row of the projects, where these have fewer than ``most``."""
        projects = self.sight.projects
        return None if projects is None else visible.ids_visible(self._store, projects, most=most)
