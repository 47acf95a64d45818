"""SQL of collections, their documents and passages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engram_py.base.database.store import Row, Store
from engram_py.base.errors import StoreError
from engram_py.base.lazy import logger_of
from engram_py.recall.documents.values import Collection, Cut, Read

logger = logger_of(__name__)

COLLECTION = "id, project, name, kind, root, globs, contexts, included, cursor, updated_at"

_OF_PROJECT = """
select {columns}, {documents} as documents
from collections
where (:projects is null or project in (select value from json_each(:projects)))
order by project, id
"""
OF_PROJECT = _OF_PROJECT.format(
    columns=COLLECTION,
    documents="(select count(*) from documents where collection_id = collections.id and active = 1)",
)
UNCOUNTED = _OF_PROJECT.format(columns=COLLECTION, documents="0")

# Asked by every search: without a collection it ends here.
SEARCHED = """
select id from collections
where (:projects is null or project in (select value from json_each(:projects)))
  and (:names is null and included = 1 or name in (select value from json_each(:names)))
"""

KNOWN = "select path, id, hash, size, mtime_ns, active from documents where collection_id = :collection"
# The plus keeps SQLite from reading all active documents of the collection to find a few.
KNOWN_PATHS = """
select path from documents
where collection_id = :collection and +active = 1 and path in (select value from json_each(:paths))
"""

DOCUMENT = "id, collection_id, path, title, hash, author, at, status, files"
BY_ID = f"select {DOCUMENT} from documents where id in (select value from json_each(:ids))"
BY_PATH = f"""
select {DOCUMENT} from documents
where collection_id in (select value from json_each(:collections)) and active = 1 and path = :path
"""
BY_BEGINNING = f"""
select {DOCUMENT} from documents
where collection_id in (select value from json_each(:collections)) and active = 1
  and path >= :beginning and path < :after
order by path limit :limit
"""
BY_HASH = f"""
select {DOCUMENT} from documents
where hash >= :beginning and hash < :after and +active = 1
  and +collection_id in (select value from json_each(:collections))
order by path limit :limit
"""
PATHS = f"""
select {DOCUMENT} from documents
where collection_id in (select value from json_each(:collections)) and active = 1
  and collection_id in (select id from collections where kind <> 'git')
order by path
"""
GONE = """
select id from documents
where active = 0 and (:projects is null or collection_id in (
    select id from collections where project in (select value from json_each(:projects))
))
"""

# The passages of a document on both sides of one: a long document has hundreds.
AROUND = """
select title, aliases, content, first_line, last_line, id from (
    select * from (
        select * from passages where document_id = :document and id < :id order by id desc limit :most
    )
    union all
    select * from (select * from passages where document_id = :document and id >= :id order by id limit :most)
)
order by id
"""
MOST_AROUND = 8

LATER = """
select link.kind, documents.path, documents.id
from document_links as link indexed by document_links_target
cross join documents on documents.id = link.document_id
where documents.collection_id = :collection and documents.active = 1
  and link.target >= :beginning and link.target <= :commit
  and substr(:commit, 1, length(link.target)) = link.target
order by documents.at, documents.id
"""


def mend(store: Store) -> bool:
    """Make the index of passages again where it cannot be read; whether that was needed."""
    try:
        words = store.rows("select term from passages_vocab limit 100")
        newest = store.value("select max(id) from passages")
        if words or newest is None:
            return False
    except StoreError as exc:
        logger.warning("the index of documents is made again: %s", exc.message)
    with store.transaction():
        store.execute("insert into passages_fts (passages_fts) values ('rebuild')")
    return True


def collections(store: Store, projects: Sequence[str] | None, *, counted: bool = True) -> list[Collection]:
    """Return the collections of the projects, None meaning all of them, in the order they were made; unless ``counted``
    without the number of their documents, which takes longer the more there are."""
    return [_collection(row) for row in store.rows(OF_PROJECT if counted else UNCOUNTED, projects=projects)]


def searched(store: Store, projects: Sequence[str] | None, names: Sequence[str] | None = None) -> list[int]:
    """Return the ids of the collections that a search reads: those named, else those that are included."""
    return [row[0] for row in store.tuples(SEARCHED, projects=projects, names=names)]


def add(store: Store, values: Mapping[str, Any]) -> int:
    """Store a collection. Call inside a transaction."""
    return store.insert("collections", values)


def known(store: Store, collection: int) -> dict[str, Row]:
    """Return the stored rows of a collection's documents, by path."""
    return {row["path"]: row for row in store.rows(KNOWN, collection=collection)}


def known_paths(store: Store, collection: int, paths: Sequence[str]) -> set[str]:
    """Return the paths among ``paths`` that are documents already."""
    return {row[0] for row in store.tuples(KNOWN_PATHS, collection=collection, paths=paths)}


def put(store: Store, collection: int, read: Read) -> None:
    """Store a document and its passages in the place of what its path held. Call inside a transaction."""
    values: dict[str, Any] = {
        "collection_id": collection, "path": read.path, "title": read.title, "hash": read.hash, "size": read.size,
        "mtime_ns": read.mtime_ns, "author": read.author, "at": read.at, "status": read.status,
        "files": json.dumps(read.files), "active": 1,
    }  # fmt: skip
    old = store.value(
        "select id from documents where collection_id = :collection and path = :path",
        collection=collection, path=read.path,
    )  # fmt: skip
    if old is None:
        document = store.insert("documents", values)
    else:
        document = int(old)
        _empty(store, [document])
        store.update("documents", {"id": document}, values)
    for kind, target in read.links:
        store.insert("document_links", {"document_id": document, "kind": kind, "target": target}, replace=True)
    for number, cut in enumerate(read.passages):
        passage = {
            "document_id": document, "collection_id": collection, "title": cut.title,
            "topic_key": read.words_of_path, "aliases": "\n".join(cut.above), "content": cut.text,
            "terms": read.terms[number], "first_line": cut.first_line, "last_line": cut.last_line,
        }  # fmt: skip
        store.insert("passages", passage)


def touch(store: Store, document: int, *, size: int, mtime_ns: int) -> None:
    """Note when a file whose text is the same was written. Call inside a transaction."""
    store.update("documents", {"id": document}, {"size": size, "mtime_ns": mtime_ns})


def retire(store: Store, documents: Sequence[int]) -> None:
    """Take documents that are gone out of the index. Call inside a transaction."""
    _empty(store, documents)
    store.execute("update documents set active = 0 where id in (select value from json_each(:ids))", ids=documents)


def _empty(store: Store, documents: Sequence[int]) -> None:
    for name in ("passages", "document_links"):
        store.execute(f"delete from {name} where document_id in (select value from json_each(:ids))", ids=documents)


def forget(store: Store, documents: Sequence[int]) -> None:
    """Delete documents that are gone. Call inside a transaction."""
    store.execute("delete from documents where id in (select value from json_each(:ids))", ids=documents)


def remove(store: Store, collection: int) -> None:
    """Delete a collection with its documents. Call inside a transaction."""
    for name, column in (("passages", "collection_id"), ("documents", "collection_id"), ("collections", "id")):
        store.execute(f"delete from {name} where {column} = :id", id=collection)


def by_ids(store: Store, ids: Iterable[int]) -> dict[int, Row]:
    """Return documents by their ids."""
    return {row["id"]: row for row in store.rows(BY_ID, ids=list(ids))}


def of_path(store: Store, collections: Sequence[int], path: str) -> list[Row]:
    return store.rows(BY_PATH, collections=collections, path=path)


def beginning(store: Store, collections: Sequence[int], text: str, *, hash: bool = False, limit: int = 20) -> list[Row]:
    """Return the documents whose path, or ``hash``, begins with a text."""
    sql = BY_HASH if hash else BY_BEGINNING
    after = f"{text}\U0010ffff"
    return store.rows(sql, collections=collections, beginning=text, after=after, limit=limit)


def around(store: Store, document: int, passage: int) -> tuple[list[Cut], int]:
    """Return the passages of a document around one, in the order of the text, and the number of that one."""
    rows = store.tuples(AROUND, document=document, id=passage, most=MOST_AROUND)
    cuts = [
        Cut(title, tuple(aliases.split("\n")) if aliases else (), text, first, last)
        for title, aliases, text, first, last, _ in rows
    ]
    return cuts, next((at for at, row in enumerate(rows) if row[-1] == passage), 0)


def files(store: Store, collections: Sequence[int]) -> list[Row]:
    """Return every document that is a file."""
    return store.rows(PATHS, collections=collections)


def gone(store: Store, projects: Sequence[str] | None) -> list[int]:
    """Return the documents that are gone from their collections."""
    return [row[0] for row in store.tuples(GONE, projects=projects)]


def later(store: Store, collection: int, commit: str) -> list[tuple[str, str]]:
    """Return the links of later commits to one: ``reverts`` or ``fixes`` and their id, the earlier first."""
    rows = store.rows(LATER, collection=collection, commit=commit, beginning=commit[:4])
    return [(row["kind"], row["path"]) for row in rows]


def _collection(row: Row) -> Collection:
    read = {"globs": tuple(json.loads(row["globs"])), "contexts": json.loads(row["contexts"])}
    return Collection(**dict(row) | read | {"included": bool(row["included"])})
