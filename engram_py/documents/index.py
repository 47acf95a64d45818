"""The full-text index of passages, as the search of observations reads it: the same statements over other tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from sqlite3 import Connection
from typing import Any, NamedTuple

from engram_py.database.store import Row, Store
from engram_py.observations.values import Observation
from engram_py.recall.scope_filter import ScopeFilter, VisibleRows
from engram_py.recall.score import Neighbours
from engram_py.recall.terms import ANYWHERE, ProjectRows

# A smaller share of the passages is known by heart while nothing is written.
SMALL = 20_000
_MOST_KNOWN = 8

PASSING = """
select id from passages
where id in (select value from json_each(:ids)) and collection_id in (select value from json_each(:collections))
"""
ROWS = """
select passages.id, passages.title, content, topic_key, aliases, documents.at, document_id,
    passages.collection_id, first_line, last_line
from passages
join documents on documents.id = document_id
where passages.id in (select value from json_each(:ids))
  and passages.collection_id in (select value from json_each(:collections))
"""
# The passages of a document, as rows of a session are. A commit has one, and those around it speak of other things:
# with those of its author and day as neighbours recall at 5 was .273 (DPDK) and .312 (curl), without .278 and .315.
NEIGHBOURS = """
select
    id,
    (select max(other.id) from passages as other
     where other.document_id = passages.document_id and other.id < passages.id),
    (select min(other.id) from passages as other
     where other.document_id = passages.document_id and other.id > passages.id),
    (select other.id from passages as other
     where other.document_id = passages.document_id and other.id > passages.id order by other.id limit 1 offset 1)
from passages
where id in (select value from json_each(:ids)) and collection_id in (select value from json_each(:collections))
"""
OF_COLLECTIONS = """
select id from passages where collection_id in (select value from json_each(:collections)) limit :limit
"""


class PassageStore(Store):
    """An open store in which the names of the observations' index mean the passages' own.

    The search reads an index by its words (``_fts``), their counts (``_vocab``) and places (``_mentions``), and says so
    in a dozen statements. Both indexes have the same columns, so each of them holds here as well.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.path = store.path
        self.common_words = {}

    def rows(self, sql: str, **values: Any) -> list[Row]:
        return self._store.rows(_of_passages(sql), **values)

    def tuples(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        return self._store.tuples(_of_passages(sql), **values)

    def row(self, sql: str, **values: Any) -> Row | None:
        return self._store.row(_of_passages(sql), **values)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        with self._store.connection() as connection:
            yield connection


@cache
def _of_passages(sql: str) -> str:
    return sql.replace("observations", "passages")


class Place(NamedTuple):
    """Where a passage stands: the ids of its document and collection, and its lines, from 1, both included."""

    document: int
    collection: int
    first_line: int
    last_line: int


class VisiblePassages(VisibleRows):
    """The passages of some collections, for one search; ``places`` of those that were loaded."""

    def __init__(
        self, store: Store, collections: Sequence[int], known: dict[object, ProjectRows], *, share: float
    ) -> None:
        """``known`` remembers between searches which rows a small project has."""
        super().__init__(store, ScopeFilter.of_projects(()))
        self._collections = json.dumps(list(collections))
        self._known = known
        self.share = share
        self.places: dict[int, Place] = {}

    def among(self, rows: Sequence[int], *, filtered: bool = True) -> set[int]:
        found = self._store.tuples(PASSING, ids=json.dumps(list(rows)), collections=self._collections)
        return {row[0] for row in found}

    def neighbours(self, rows: Sequence[int]) -> dict[int, Neighbours]:
        found = self._store.tuples(NEIGHBOURS, ids=json.dumps(list(rows)), collections=self._collections)
        return {row[0]: Neighbours(*row[1:]) for row in found}

    def load(self, ids: Sequence[int]) -> dict[int, Observation]:
        found = self._store.tuples(ROWS, ids=json.dumps(list(ids)), collections=self._collections)
        loaded: dict[int, Observation] = {}
        for id, title, content, topic_key, aliases, at, *place in found:
            self.places[id] = where = Place(*place)
            loaded[id] = _as_observation(id, str(where.document), title, content, topic_key, aliases, at)
        return loaded

    def replacements(self, rows: Sequence[Observation]) -> dict[int, int]:
        return {}

    def _ids(self, most: int) -> frozenset[int] | None:
        rows = self._store.tuples(OF_COLLECTIONS, collections=self._collections, limit=most)
        return None if len(rows) >= most else frozenset(row[0] for row in rows)

    def project_rows(self, total: int) -> ProjectRows:
        state = (total, self._store.value("select max(id) from passages"), self._collections)
        if state not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            rows = self._ids(min(SMALL, total // 2))
            self._known[state] = ANYWHERE if rows is None else ProjectRows(rows, total)
        return self._known[state]


def _as_observation(
    id: int, document: str, title: str, content: str, topic_key: str, aliases: str, at: str
) -> Observation:
    """Return a passage in the form in which texts are scored."""
    return Observation(
        id=id, sync_id="", session_id=document, project="", scope="project", type="document", title=title,
        content=content, topic_key=topic_key, aliases=aliases, tool_name=None, origin="import", lifecycle="active",
        pinned=False, salience=0.5, access_count=0, last_accessed_at=None, review_after=None, expires_at=None,
        git_branch=None, git_commit=None, revision_count=1, duplicate_count=1, last_seen_at=None, created_at=at,
        updated_at=at, deleted_at=None,
    )  # fmt: skip
