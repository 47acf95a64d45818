"""The operations on documents: search what is in the collections, open it, say what a repository answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.documents import table
from engram_py.documents.collections import Collections
from engram_py.documents.errors import CollectionNotFoundError, DocumentNotFoundError
from engram_py.documents.values import Collection, Telling, Tour
from engram_py.errors import EmptyQueryError, InvalidArgumentError, StoreError
from engram_py.lazy import logger_of
from engram_py.observations.validation import clamp
from engram_py.projects.projects import Projects
from engram_py.recall.query import Query, parse_query
from engram_py.recall.score import threshold
from engram_py.recall.values import DocumentHit, DocumentResults

if TYPE_CHECKING:
    from engram_py.documents.search import DocumentSearch
    from engram_py.documents.values import Opened, OpenedSeveral, Overview

logger = logger_of(__name__)

MOST = 20


class Documents(Collections):
    """What the user's own texts say."""

    def __init__(self, store: Store, journal: Journal, projects: Projects) -> None:
        super().__init__(store, journal, projects)
        self._search: DocumentSearch | None = None

    # --- the first session -------------------------------------------------------------------------------

    def overview(self, project: str | None = None) -> Overview:
        """Return how much of the project's documents answers questions."""
        from engram_py.documents.overview import overview

        place = self._projects.for_read(project)
        known = table.collections(self._store, place.reads) if place.project else []
        return overview(self._store, place.project, [one for one in known if one.included])

    def tour(self, *, project: str | None = None) -> Tour:
        """Return the three most telling things that the documents answer: each is found by what it is called."""
        from engram_py.documents.overview import MOST_TOLD, telling

        place = self._projects.for_read(project)
        known = [one for one in table.collections(self._store, place.reads if place.project else []) if one.included]
        told: list[Telling] = []
        for one in telling(self._store, known):
            if len(told) < MOST_TOLD and any(
                hit.source.startswith(one.source) for hit in self.search(one.title, project=project, limit=3).results
            ):
                told.append(one)
        return Tour(self.overview(project), tuple(told), place.warnings)

    # --- finding -----------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        project: str | None = None,
        all_projects: bool = False,
        collection: str | None = None,
        limit: int = 10,
        floor: float | None = None,
        session_id: str | None = None,
    ) -> DocumentResults:
        """Return the passages of documents that answer, best first, one of each document.

        Without a ``collection`` those that are included are read. A question is answered from ``sure`` on, other words
        from ``shown``: there is always a page that is like them. Raises EmptyQueryError, CollectionNotFoundError.
        """
        if not query.strip():
            raise EmptyQueryError(query)
        limit, said = clamp("limit", limit, 1, MOST)
        if floor is not None and not 0 <= floor <= 1:
            raise InvalidArgumentError("floor", floor, expected="0 to 1")
        parsed = parse_query(query)
        place = self._projects.for_read(project, session_id=session_id, all_projects=all_projects)
        chosen = self._searched(place.reads, collection)
        if collection is not None and not chosen:
            known = table.collections(self._store, place.reads)
            raise CollectionNotFoundError(collection, [one.name for one in known])
        least = threshold("sure" if parsed.is_question else "shown") if floor is None else floor
        found, hits = self._searching().find(parsed, chosen, limit=limit, least=least)
        return DocumentResults(
            query=parsed.text,
            results=hits,
            projects=place.reads,
            documents=sum(one.documents for one in chosen),
            unknown=found.unknown,
            warnings=(*said, *place.warnings),
        )

    def open(
        self, name: str, *, first: int | None = None, count: int | None = None, project: str | None = None
    ) -> Opened | OpenedSeveral:
        """Return the lines of a document, from the file or git as it is now: ``path:from:count``, ``commit:<sha>``,
        ``#<6 hex>``; a glob or a comma list opens several.

        Raises DocumentNotFoundError, which names the near ones.
        """
        from engram_py.documents.opening import Opening

        place = self._projects.for_read(project)
        opening = Opening(self._store, table.collections(self._store, place.reads, counted=False))
        if any(char in name for char in ",*?["):
            try:
                return opening.open(name, first=first, count=count)
            except DocumentNotFoundError:
                return opening.open_several(name)
        return opening.open(name, first=first, count=count)

    def beside(
        self, query: Query, projects: tuple[str, ...] | None, known: float, said: Sequence[str]
    ) -> tuple[DocumentHit, ...]:
        """Return what documents say that no memory says: at most three, each likelier to answer than ``known``.

        Memories are answered whatever became of the documents' index, which the next update makes again.
        """
        try:
            chosen = self._searched(projects, None, counted=False)
            return self._searching().beside(query, chosen, known, said) if chosen else ()
        except StoreError as exc:
            logger.warning("documents were not searched: %s", exc.message)
            return ()

    def _searched(
        self, projects: Sequence[str] | None, collection: str | None, *, counted: bool = True
    ) -> list[Collection]:
        ids = set(table.searched(self._store, projects, None if collection is None else [collection]))
        known = table.collections(self._store, projects, counted=counted) if ids else []
        return [one for one in known if one.id in ids]

    def _searching(self) -> DocumentSearch:
        if self._search is None:
            from engram_py.documents.search import DocumentSearch

            self._search = DocumentSearch(self._store)
        return self._search
