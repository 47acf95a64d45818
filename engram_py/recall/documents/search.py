"""Search documents: the same parsing, scoring and evidence as for observations. The index of passages is read by the
same statements over other tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from sqlite3 import Connection
from typing import Any

from engram_py.base.capture.orders import reads_like_an_order
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.text.words import alike, shingles
from engram_py.recall import index
from engram_py.recall.documents import table
from engram_py.recall.documents.quotes import quote_of
from engram_py.recall.documents.values import GIT, Collection
from engram_py.recall.query import Query
from engram_py.recall.reading import TermFinder, term_finder
from engram_py.recall.retrieval import Retrieved, is_listed, retrieve_terms
from engram_py.recall.score import Neighbours, Scored, Term
from engram_py.recall.terms import ANYWHERE, ProjectRows, word_terms
from engram_py.recall.values import DocumentHit
from engram_py.recall.vectors.vectors import Vectors

# A smaller share of the passages is known by heart while nothing is written.
SMALL = 20_000
_MOST_VERSIONS = 8

PASSING = """
select id from passages
where id in (select value from json_each(:ids)) and collection_id in (select value from json_each(:collections))
"""
ROWS = """
select id, title, content, topic_key, aliases, document_id, collection_id, first_line, last_line
from passages
where id in (select value from json_each(:ids)) and collection_id in (select value from json_each(:collections))
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


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a document (by its id) in a collection, and the lines it has, from 1, both included."""

    id: int
    title: str
    content: str
    topic_key: str | None
    aliases: str
    document: int
    collection: int
    first_line: int
    last_line: int
    is_summary = False

    @property
    def group(self) -> str:
        """The document: its passages have one subject."""
        return str(self.document)


class VisiblePassages:
    """The passages of some collections, for one search; ``rows_by_version`` keeps between searches which these are."""

    filtered = False

    def __init__(
        self, store: Store, collections: Sequence[int], rows_by_version: dict[object, ProjectRows], *, share: float
    ) -> None:
        self._store = store
        self._collections = tuple(collections)
        self._rows_by_version = rows_by_version
        self.share = share

    def among(self, rows: Sequence[int], *, filtered: bool = True) -> set[int]:
        passing = self._store.tuples(PASSING, ids=rows, collections=self._collections)
        return {row[0] for row in passing}

    def neighbours(self, rows: Sequence[int]) -> dict[int, Neighbours]:
        neighbours = self._store.tuples(NEIGHBOURS, ids=rows, collections=self._collections)
        return {row[0]: Neighbours(*row[1:]) for row in neighbours}

    def load(self, ids: Sequence[int]) -> dict[int, Passage]:
        passages = self._store.tuples(ROWS, ids=ids, collections=self._collections)
        return {row[0]: Passage(*row) for row in passages}

    def replacements(self, rows: Sequence[Passage]) -> dict[int, int]:
        return {}

    def project_rows(self, total: int) -> ProjectRows:
        state = (total, self._store.value("select max(id) from passages"), self._collections)
        if state not in self._rows_by_version:
            if len(self._rows_by_version) >= _MOST_VERSIONS:
                self._rows_by_version.clear()
            most = min(SMALL, total // 2)
            rows = [row for [row] in self._store.tuples(OF_COLLECTIONS, collections=self._collections, limit=most)]
            self._rows_by_version[state] = ANYWHERE if len(rows) >= most else ProjectRows(frozenset(rows), total)
        return self._rows_by_version[state]


COMMIT_CHARS, DOCID_CHARS = 7, 6
# Below memories no more than this.
MOST_BESIDE = 3
_SHARE_BESIDE = 0.4
# A document may have several of the best passages.
_LOOKED_AT = 4
# Words of the question that only other passages of a document hold count so much: a larger part costs pages up to .05.
_REST = 0.1
# Beside memories stands what reaches this part of the best of both.
_LEAST_BESIDE = 0.5
# A text that shares this much of its words with a memory says the same.
_SAME = 0.6
# What was reverted or superseded gives way to what holds.
PAST = 0.5


@dataclass(frozen=True, slots=True)
class PlacedPassage:
    """A passage on its place in the answer."""

    scored: Scored
    passage: Passage
    document: Row
    collection: Collection
    notes: tuple[str, ...]
    score: float


class DocumentSearch:
    """Finds passages of the documents of an open store."""

    def __init__(self, store: Store, vectors: Vectors) -> None:
        self._store = store
        self._vectors = vectors
        self._passages = PassageStore(store)
        self._opened = store.opened
        self._rows_by_version: dict[object, ProjectRows] = {}

    def find(
        self, query: Query, collections: Sequence[Collection], *, limit: int
    ) -> tuple[Retrieved[Passage], tuple[DocumentHit, ...]]:
        """Return the best passages, one of each document, best first."""
        retrieved = self._found(query, collections)
        placed = self._placed(retrieved, collections, limit)
        best = max((passage.score for passage in placed), default=0.0) or 1.0
        placed = [replace(one, score=one.score / best) for one in placed]
        listed = [one for at, one in enumerate(placed) if is_listed(at, one.score)]
        return retrieved, tuple(self._hits(listed, retrieved))

    def beside(
        self, query: Query, collections: Sequence[Collection], strength: float, memories: Sequence[str]
    ) -> tuple[DocumentHit, ...]:
        """Return what documents answer and the ``memories`` do not say, where it is half as strong as the best memory
        or more; a ``score`` is its strength, 0..1."""
        retrieved = self._found(query, collections, share=_SHARE_BESIDE)
        placed = self._placed(retrieved, collections, 2 * MOST_BESIDE)
        placed = [replace(one, score=retrieved.strength(one.score)) for one in placed]
        least = _LEAST_BESIDE * max([strength, *(one.score for one in placed)])
        texts = [shingles(text) for text in memories]
        strong = [one for one in placed if one.score >= least]
        told = (hit for hit in self._hits(strong, retrieved) if not _is_said(hit, texts))
        return tuple(islice(told, MOST_BESIDE))

    def _found(
        self,
        query: Query,
        collections: Sequence[Collection],
        *,
        share: float = 1.0,
    ) -> Retrieved[Passage]:
        if self._opened != self._store.opened:  # another file stands there now
            self._passages, self._opened = PassageStore(self._store), self._store.opened
        store = self._passages
        totals = index.totals(store)
        terms = word_terms(store, query.content_words, size=totals.rows)
        ids = [collection.id for collection in collections]
        visible = VisiblePassages(self._store, ids, self._rows_by_version, share=share)
        retrieved = retrieve_terms(store, query, terms, visible, totals)
        if self._vectors.enabled:
            from engram_py.recall.fusion import with_vectors

            retrieved = with_vectors(self._vectors, query, retrieved, visible, within=ids, documents=True)
        return _with_whole_documents(retrieved)

    def _hits(self, placed: Sequence[PlacedPassage], retrieved: Retrieved[Passage]) -> Iterator[DocumentHit]:
        """Yield the hits; each is quoted when it is asked for."""
        finder = term_finder(retrieved.terms)
        return (_hit(self._store, passage, retrieved.terms, finder) for passage in placed)

    def _placed(
        self, retrieved: Retrieved[Passage], collections: Sequence[Collection], limit: int
    ) -> list[PlacedPassage]:
        """Return the first ``limit`` passages with their documents; of a document the best passage."""
        by_id = {collection.id: collection for collection in collections}
        answers = retrieved.scored[: _LOOKED_AT * limit]
        documents = table.by_ids(self._store, {retrieved.rows[answer.id].document for answer in answers})
        placed: dict[int, PlacedPassage] = {}
        for answer in answers:
            passage = retrieved.rows[answer.id]
            document = documents.get(passage.document)  # None: another process took it out
            if document is None or passage.document in placed:
                continue
            collection = by_id[passage.collection]
            notes, past = notes_of(self._store, collection, document["path"], document["status"])
            score = answer.relevance * (PAST if past else 1.0)
            placed[passage.document] = PlacedPassage(answer, passage, document, collection, notes, score)
        return sorted(placed.values(), key=lambda passage: -passage.score)[:limit]


def _is_said(hit: DocumentHit, texts: Sequence[frozenset[str]]) -> bool:
    words = shingles(f"{hit.title} {hit.snippet}")
    return any(alike(words, text, _SAME) for text in texts)


def _with_whole_documents(retrieved: Retrieved[Passage]) -> Retrieved[Passage]:
    """Count for a passage what other passages of its document hold."""
    held: dict[int, set[int]] = {}
    for answer in retrieved.scored:
        held.setdefault(retrieved.rows[answer.id].document, set()).update(answer.held | answer.titled)
    for answer in retrieved.scored:
        rest = held[retrieved.rows[answer.id].document] - answer.held
        answer.relevance += _REST * sum(retrieved.terms[number].weight for number in rest)
    return replace(retrieved, scored=sorted(retrieved.scored, key=lambda answer: (-answer.relevance, -answer.id)))


def notes_of(store: Store, collection: Collection, path: str, status: str = "") -> tuple[tuple[str, ...], bool]:
    """Return the notes on a document, and whether it no longer holds."""
    if collection.kind != GIT:
        return ((status,) if status else ()), bool(status)
    later = table.later(store, collection.id, path)
    undone = [by for kind, by in later if kind == "reverts"]
    reverted = [by for by in undone if "reverts" not in dict(table.later(store, collection.id, by))]
    fixed = [by for kind, by in later if kind == "fixes"]
    notes = [f"reverted by commit {by[:COMMIT_CHARS]}" for by in reverted[-1:]]
    notes += [f"fixed by commit {by[:COMMIT_CHARS]}" for by in fixed[-1:]]
    return tuple(notes), bool(reverted)


def source_of(collection: Collection, path: str, line: int | None = None) -> str:
    """Return the name by which a document is opened: ``commit:1a2b3c4``, ``docs/adr/0007.md:12``; in an added
    folder with the folder's name."""
    if collection.kind == GIT:
        return f"commit:{path[:COMMIT_CHARS]}"
    name = f"{collection.name}/{path}" if collection.kind == "folder" else path
    return f"{name}:{line}" if line is not None else name


def _hit(store: Store, placed: PlacedPassage, terms: Sequence[Term], finder: TermFinder | None) -> DocumentHit:
    passage, document, collection = placed.passage, placed.document, placed.collection
    quote = quote_of(store, document, passage.id, terms, finder)
    return DocumentHit(
        source=source_of(collection, document["path"], quote.line),
        collection=collection.name,
        project=collection.project,
        kind=collection.kind,
        title=quote.title,
        snippet=quote.text,
        score=round(placed.score, 4),
        line=quote.line,
        first_line=quote.first_line,
        last_line=quote.last_line,
        docid=document["hash"][:DOCID_CHARS],
        at=document["at"],
        author=document["author"],
        context=collection.contexts_of(document["path"]),
        notes=placed.notes,
        order=reads_like_an_order(quote.title, f"{quote.passage}\n{quote.text}"),
    )
