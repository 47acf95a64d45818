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
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.score.bm25 import Neighbours
from engram_py.recall.terms import ANYWHERE, ProjectRows

# Looking at a row takes three microseconds and more; the ids of a small project are read at once, in less time than
# looking at a thousand.
_MANY = 200
_A_FEW = 30


class VisibleRows:
    """Asks for one search which rows its scope lets through, first by the ids of a small project.

    ``share`` is the part of the usual number of rows that is looked at: less where few are wanted.
    """

    share = 1.0

    def __init__(self, store: Store, scope: ScopeFilter) -> None:
        self.scope = scope
        self._store = store

    def among(self, rows: Sequence[int], *, filtered: bool = True) -> set[int]:
        """Return those of ``rows`` that the projects, and unless told otherwise the filters, let through."""
        scope = self.scope if filtered else self.scope.unfiltered()
        rows = self._of_small_project(rows)
        return index.passing(self._store, rows, scope.values) if rows else set()

    def neighbours(self, rows: Sequence[int]) -> dict[int, Neighbours]:
        """Return the neighbours of those of ``rows`` that may be shown."""
        rows = self._of_small_project(rows)
        found = index.neighbours(self._store, rows, self.scope.values) if rows else ()
        return {row[0]: Neighbours(*row[1:]) for row in found}

    def load(self, ids: Sequence[int]) -> dict[int, Observation]:
        """Return those that may be shown, whole."""
        return index.load(self._store, ids, self.scope.values)

    def load_first(self, ids: Sequence[int], *, most: int) -> dict[int, Observation]:
        """Return the first ``most`` that may be shown, whole, in their order."""
        rows: dict[int, Observation] = {}
        at = 0
        while len(rows) < most and at < len(ids):
            part = ids[at : at + max(_A_FEW, most - len(rows))]
            rows |= self.load(part)
            at += len(part)
        return {row: rows[row] for row in [one for one in ids[:at] if one in rows][:most]}

    def replacements(self, rows: Sequence[Observation]) -> dict[int, int]:
        """Return by id what replaced those of ``rows`` that were replaced, unless these are asked for."""
        old = {row.sync_id: row.id for row in rows if row.lifecycle == "historical"}
        if not old or self.scope.values["superseded"]:
            return {}
        by = relations.replacements(self._store, old)
        return {row_id: by[sync_id] for sync_id, row_id in old.items() if sync_id in by}

    def project_rows(self, total: int) -> ProjectRows:
        """Return the rows of the projects, where these are small and have less than half of a memory of ``total``."""
        rows = self._ids(min(SMALL, total // 2))
        return ANYWHERE if rows is None else ProjectRows(rows, total)

    def _of_small_project(self, rows: Sequence[int]) -> Sequence[int]:
        if len(rows) <= _MANY or self._small is None:
            return rows
        return [row for row in rows if row in self._small]

    @cached_property
    def _small(self) -> frozenset[int] | None:
        return self._ids(SMALL)

    def _ids(self, most: int) -> frozenset[int] | None:
        """Return every row of the projects, where these have fewer than ``most``."""
        projects = self.scope.projects
        return None if projects is None else visible.ids_visible(self._store, projects, most=most)
