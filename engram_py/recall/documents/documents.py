"""The operations on documents: name the collections of a project and bring them up to date, search what is in them,
open it, say what a repository answers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.base.database.runs import NamedLease
from engram_py.base.dataclass import asdict, replace
from engram_py.base.errors import ConflictError, EmptyQueryError, InvalidArgumentError, InvalidInputError, StoreError
from engram_py.base.files import expanded, real_path
from engram_py.base.git.repository import Repository, find_repository
from engram_py.base.lazy import logger_of
from engram_py.base.reasons import reason
from engram_py.memory.observations.arguments import clamp
from engram_py.memory.observations.listing import Listing
from engram_py.memory.projects.projects import Core
from engram_py.recall.documents import table
from engram_py.recall.documents.values import (
    DOCS,
    GIT,
    Cleaned,
    Collection,
    CollectionNotFoundError,
    CollectionUpdate,
    DocumentNotFoundError,
    Removed,
    Telling,
    Tour,
)
from engram_py.recall.query import Query, parse_query
from engram_py.recall.values import DocumentHit, DocumentResults

if TYPE_CHECKING:
    from engram_py.recall.documents.search import DocumentSearch
    from engram_py.recall.documents.values import Opened, OpenedSeveral, Overview
    from engram_py.recall.vectors.vectors import Vectors


READY_MADE = (GIT, DOCS)
_NAME_CHARS, _CONTEXT_CHARS = 60, 500

# The label of what is read, how much of it is done, and of how much.
Report = Callable[[str, int, int], None]


class Collections:
    """The named sources of documents: the history of the repository, its documents, folders that were added."""

    def __init__(self, core: Core) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects

    def collections(self, *, project: str | None = None, all_projects: bool = False) -> Listing:
        """Return the collections of a project."""
        place = self._projects.for_read(project, all_projects=all_projects)
        return Listing("collections", tuple(table.collections(self._store, place.reads)), place.warnings)

    def add(
        self,
        path: str,
        *,
        name: str | None = None,
        glob: Sequence[str] = (),
        context: str | None = None,
        project: str | None = None,
    ) -> CollectionUpdate:
        """Add a folder, or a file, as a collection of the project, and index it.

        Raises InvalidInputError (not_a_folder, or a name that cannot be one), ConflictError (collection_exists).
        """
        from engram_py.base.capture.redact import redact, refuse_secret

        for argument, value in (("path", path), ("name", name or ""), ("glob", " ".join(glob))):
            refuse_secret(argument, value)
        root = real_path(expanded(path))
        if not root.exists():
            raise InvalidInputError(
                f"{path!r} is no folder or file that can be read",
                hint="give an existing folder or file",
                code="not_a_folder",
            )
        with self._store.transaction():
            place = self._projects.for_write(project)
            called = _checked_name(name or root.name)
            if any(collection.name == called for collection in table.collections(self._store, [place.project])):
                raise ConflictError(
                    f"there is a collection {called!r} already",
                    hint="give another --name, or remove it with `collection remove`",
                    code="collection_exists",
                )
            self._make(
                place.project,
                called,
                "folder",
                root,
                glob,
                {"/": redact(context).text[:_CONTEXT_CHARS]} if context else {},
            )
        [updated] = self.update(called, project=place.project).items
        assert isinstance(updated, CollectionUpdate)
        return updated

    def describe(self, name: str, context: str, *, prefix: str = "/", project: str | None = None) -> Collection:
        """Describe the documents below a path prefix of a collection; an empty text removes the description.

        Raises CollectionNotFoundError.
        """
        collection = self._named(name, project)
        from engram_py.base.capture.redact import redact, refuse_secret

        place = f"/{prefix.strip('/')}"
        refuse_secret("prefix", place)
        contexts = {key: text for key, text in collection.contexts.items() if key != place}
        contexts |= {place: redact(context).text[:_CONTEXT_CHARS]} if context.strip() else {}
        with self._store.transaction():
            self._store.update("collections", {"id": collection.id}, {"contexts": json.dumps(contexts)})
        return replace(collection, contexts=contexts)

    def include(self, name: str, *, included: bool = True, project: str | None = None) -> Collection:
        """Let searches read a collection that nobody names, or not. Raises CollectionNotFoundError."""
        self._make_git_and_docs(project)
        collection = self._named(name, project)
        with self._store.transaction():
            self._store.update("collections", {"id": collection.id}, {"included": int(included)})
        return replace(collection, included=included)

    def remove(self, name: str, *, project: str | None = None) -> Removed:
        """Forget a collection and what was indexed of it; a ready-made one stays, without documents and excluded.

        Raises CollectionNotFoundError.
        """
        gone = self._named(name, project)
        with self._store.transaction():
            table.remove(self._store, gone.id)
            if gone.kind != "folder":
                made = self._make(gone.project, gone.name, gone.kind, Path(gone.root), gone.globs, gone.contexts)
                self._store.update("collections", {"id": made}, {"included": 0})
        return Removed(gone.name, gone.documents)

    def cleanup(self, *, project: str | None = None, all_projects: bool = False, dry_run: bool = False) -> Cleaned:
        """Forget the documents that are gone from their collections."""
        place = self._projects.for_read(project, all_projects=all_projects)
        gone = table.gone(self._store, place.reads)
        if gone and not dry_run:
            with self._store.transaction():
                table.forget(self._store, gone)
        return Cleaned(len(gone), dry_run)

    # --- updating ----------------------------------------------------------------------------------------

    def update(
        self,
        name: str | None = None,
        *,
        project: str | None = None,
        until: float | None = None,
        report: Report | None = None,
    ) -> Listing:
        """Index what changed since the last time, of one collection or all of a project that are included.

        Until then (``time.monotonic``); what is left, the next update does. Another process that is at it is left to
        do it. Raises CollectionNotFoundError.
        """
        self._make_git_and_docs(project)
        place = self._projects.for_read(project)
        if name is not None:
            chosen = [self._named(name, project)]
        else:
            collections = table.collections(self._store, place.reads if place.project else [])
            chosen = [collection for collection in collections if collection.included]
        done: list[CollectionUpdate] = []
        with NamedLease(self._store, self._journal, "documents").holding() as held:
            for collection in chosen:
                if held is not None and not done:
                    table.mend(self._store)
                if held is None or not held():
                    note, about = reason("documents_busy"), (collection.name, collection.project)
                    done.append(CollectionUpdate(*about, unfinished=True, warnings=(note,)))
                    continue
                done.append(self._update(collection, until, report))
        return Listing("updates", tuple(done), place.warnings)

    def refresh(self, *, until: float | None = None) -> bool:
        """Update the collections here, the ready-made ones of a new project; return whether work is left."""
        if self._repository() is None and not self._of_place():
            return False
        return any(update.unfinished for update in self.update(until=until).items)

    def head(self) -> str | None:
        """Return the commit that is checked out here, empty without one; None where there is nothing to index."""
        repository = self._repository()
        if repository is not None and repository.commit:
            return repository.commit
        return "" if self._of_place() else None

    def catch_up(self, *, until: float) -> bool:
        """Index the commits that are new since the last update; a few milliseconds where none are. A project that
        was never looked at is indexed whole. Return whether anything is left for the next time."""
        here = self._repository()
        if here is None or not here.commit:
            return False
        collections = self._of_place()
        if not collections:
            return self.refresh(until=until)
        return any(
            update.unfinished
            for history in collections
            if history.kind == GIT and history.included and _has_news(history, here)
            for update in self.update(history.name, project=history.project, until=until).items
        )

    def _update(self, collection: Collection, until: float | None, report: Report | None) -> CollectionUpdate:
        tell = partial(report, f"Indexing {collection.name}") if report is not None else None
        now = self._journal.now()
        if collection.kind == GIT:
            from engram_py.recall.documents.history import update_history

            repository = find_repository(Path(collection.root))
            if repository is None or repository.root != Path(collection.root):
                gone = reason("no_repository_now", folder=collection.root)
                return CollectionUpdate(collection.name, collection.project, unfinished=True, warnings=(gone,))
            return update_history(self._store, collection, repository, now=now, until=until, report=tell)
        from engram_py.recall.documents.files import update_folder

        # What the repository's settings leave out of the memory, its documents leave out too.
        ignore = self._projects.preferences().ignore if collection.kind == DOCS else ()
        return update_folder(self._store, collection, now=now, ignore=ignore, until=until, report=tell)

    def _repository(self) -> Repository | None:
        return self._projects.settings_here().repository

    def _of_place(self) -> list[Collection]:
        place = self._projects.for_read(head=False)
        return table.collections(self._store, [place.project]) if place.project else []

    def _make_git_and_docs(self, project: str | None) -> None:
        from engram_py.recall.documents.files import DOCS as DOCUMENTS

        repository = self._repository()
        here = self._projects.for_read()
        wanted = self._projects.for_read(project) if project else here
        if repository is None or not here.project or wanted.project != here.project:
            return
        existing = {collection.name: collection for collection in table.collections(self._store, [here.project])}
        for kind, globs in ((GIT, ()), (DOCS, DOCUMENTS)):
            old = existing.get(kind)
            if old is None and not (repository.bare and kind == DOCS):
                with self._store.transaction():
                    place = self._projects.for_write()
                    names = {collection.name for collection in table.collections(self._store, [place.project])}
                    if kind not in names:
                        self._make(place.project, kind, kind, repository.root, globs, {})
            elif old is not None and old.root != str(repository.root) and not Path(old.root).exists():
                with self._store.transaction():  # the repository was moved
                    self._store.update("collections", {"id": old.id}, {"root": str(repository.root)})

    def _make(
        self, project: str, name: str, kind: str, root: Path, globs: Sequence[str], contexts: dict[str, str]
    ) -> int:
        values = {
            "project": project, "name": name, "kind": kind, "root": str(root), "globs": json.dumps(list(globs)),
            "contexts": json.dumps(contexts), "created_at": self._journal.now(),
        }  # fmt: skip
        return table.add(self._store, values)

    def _named(self, name: str, project: str | None) -> Collection:
        place = self._projects.for_read(project)
        collections = table.collections(self._store, place.reads if place.project else [])
        collection = next((collection for collection in collections if collection.name == name), None)
        if collection is None:
            raise CollectionNotFoundError(name, [collection.name for collection in collections])
        return collection


def _has_news(history: Collection, here: Repository) -> bool:
    """Return whether HEAD of a repository is not what was indexed; of its worktrees only the first is followed."""
    followed = here if str(here.root) == history.root else find_repository(Path(history.root))
    commit = followed.commit if followed is not None and str(followed.root) == history.root else None
    return commit is not None and history.cursor.partition(" ")[0] != commit


def _names(collection: str | None) -> list[str] | None:
    return None if collection is None else [name.strip() for name in collection.split(",")]


def _checked_name(name: str) -> str:
    called = "-".join(name.strip().split())[:_NAME_CHARS]
    if not called or "/" in called or called in READY_MADE or called.startswith("."):
        raise InvalidArgumentError("name", name, expected=f"a word that is not {' or '.join(READY_MADE)}, without /")
    return called


# The files of a large checkout take a second to look at.
FILES_SECONDS = 600.0


class Following:
    """Watches one directory. ``allowed`` says whether anything may be kept; ``set_out`` starts a process that updates
    the documents: what reading them takes of memory, a server does not keep."""

    def __init__(self, documents: Collections, allowed: Callable[[], bool], set_out: Callable[[], object]) -> None:
        self._documents = documents
        self._allowed = allowed
        self._set_out = set_out
        self._seen: str | None = None
        self._due = 0.0

    def look(self) -> None:
        """Have the documents updated if HEAD moved since the last look, or if that was a while ago."""
        if not self._allowed():
            return
        head = self._documents.head()
        if head is not None and (head != self._seen or time.monotonic() >= self._due):
            self._seen, self._due = head, time.monotonic() + FILES_SECONDS
            self._set_out()


logger = logger_of(__name__)

MOST = 20


class Documents(Collections):
    """Indexes and searches the user's own texts."""

    def __init__(self, core: Core, vectors: Callable[[], Vectors]) -> None:
        super().__init__(core)
        self._vectors = vectors
        self._search: DocumentSearch | None = None

    # --- the first session -------------------------------------------------------------------------------

    def overview(self, project: str | None = None) -> Overview:
        """Return the numbers of commits, decisions and other documents of the project."""
        from engram_py.recall.documents.opening import overview

        place = self._projects.for_read(project)
        collections = table.collections(self._store, place.reads) if place.project else []
        return overview(self._store, place.project, [collection for collection in collections if collection.included])

    def tour(self, *, project: str | None = None) -> Tour:
        """Return the three most telling things that the documents answer: each is found by what it is called."""
        from engram_py.recall.documents.opening import MOST_TOLD, telling

        place = self._projects.for_read(project)
        collections = table.collections(self._store, place.reads if place.project else [])
        told: list[Telling] = []
        for document in telling(self._store, [collection for collection in collections if collection.included]):
            if len(told) < MOST_TOLD and any(
                hit.source.startswith(document.source)
                for hit in self.search(document.title, project=project, limit=3).results
            ):
                told.append(document)
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
        session_id: str | None = None,
    ) -> DocumentResults:
        """Return the passages of documents that answer, best first, one of each document.

        ``collection`` names one, or several with commas; without it those that are included are read.

        Raises EmptyQueryError, CollectionNotFoundError.
        """
        if not query.strip():
            raise EmptyQueryError(query)
        limit, notes = clamp("limit", limit, 1, MOST)
        parsed = parse_query(query, filters=True)
        if idle := tuple(name for name, value in asdict(parsed.filters).items() if value):
            notes = (*notes, reason("idle_arguments", arguments=idle, layer="documents"))
        place = self._projects.for_read(project, session_id=session_id, all_projects=all_projects)
        chosen = self._searched(place.reads, collection)
        for name in _names(collection) or ():
            if name not in [searched.name for searched in chosen]:
                collections = table.collections(self._store, place.reads)
                raise CollectionNotFoundError(name, [other.name for other in collections])
        retrieved, hits = self._searching().find(parsed, chosen, limit=limit)
        return DocumentResults(
            query=parsed.text,
            results=hits,
            projects=place.reads,
            documents=sum(searched.documents for searched in chosen),
            unknown=retrieved.unknown,
            warnings=(*notes, *place.warnings),
        )

    def open(
        self, name: str, *, first: int | None = None, count: int | None = None, project: str | None = None
    ) -> Opened | OpenedSeveral:
        """Return the lines of a document, from the file or git as it is now: ``path:from:count``, ``commit:<sha>``,
        ``#<6 hex>``; a glob or a comma list opens several.

        Raises DocumentNotFoundError, which names the near ones.
        """
        from engram_py.recall.documents.opening import Opening

        place = self._projects.for_read(project)
        opening = Opening(self._store, table.collections(self._store, place.reads, counted=False))
        if any(char in name for char in ",*?["):
            try:
                return opening.open(name, first=first, count=count)
            except DocumentNotFoundError:
                return opening.open_several(name)
        return opening.open(name, first=first, count=count)

    def beside(
        self, query: Query, projects: tuple[str, ...] | None, strength: float, texts: Sequence[str]
    ) -> tuple[DocumentHit, ...]:
        """Return hits in documents that no memory says: at most three, beside memories of that ``strength`` (0..1).

        Memories are answered whatever became of the documents' index, which the next update makes again.
        """
        try:
            chosen = self._searched(projects, None, counted=False)
            return self._searching().beside(query, chosen, strength, texts) if chosen else ()
        except StoreError as exc:
            logger.warning("documents were not searched: %s", exc.message)
            return ()

    def _searched(
        self, projects: Sequence[str] | None, collection: str | None, *, counted: bool = True
    ) -> list[Collection]:
        ids = set(table.searched(self._store, projects, _names(collection)))
        collections = table.collections(self._store, projects, counted=counted) if ids else []
        return [searched for searched in collections if searched.id in ids]

    def _searching(self) -> DocumentSearch:
        if self._search is None:
            from engram_py.recall.documents.search import DocumentSearch

            self._search = DocumentSearch(self._store, self._vectors())
        return self._search
