"""What a repository answers before anything was saved: how much of it, and the most telling of it."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence

from engram_py.capture.orders import reads_like_an_order
from engram_py.database.store import Row, Store
from engram_py.documents import table
from engram_py.documents.search import notes_of, source_of
from engram_py.documents.values import GIT, Collection, Overview, Telling
from engram_py.lazy import regex
from engram_py.recall.preview import preview

MOST_TOLD, MOST_RECORDS = 3, 2
_TOLD_CHARS = 240
_DECISION = regex(r"(?:^|/)(?:adrs?|decisions?|rfcs?)/", re.IGNORECASE)
_INDEX = regex(r"(?:readme|index|template)[^/]*$", re.IGNORECASE)
# The newest commits are looked through for what to tell; longer messages say more, up to so many characters.
_LOOKED_AT, _LONG = 2_000, 1_500

COMMITS = """
select documents.id, documents.collection_id, documents.path, documents.title, documents.author, documents.at,
    documents.status, documents.files, passages.content
from documents
join passages on passages.document_id = documents.id
where documents.collection_id = :collection and active = 1
order by documents.at desc, documents.id desc
limit :limit
"""
FIRST = "select content from passages where document_id = :document order by id limit 3"


def overview(store: Store, project: str, collections: Sequence[Collection]) -> Overview:
    """Return how much of a project's documents answers questions."""
    commits = sum(one.documents for one in collections if one.kind == GIT)
    files = table.files(store, [one.id for one in collections])
    decisions = sum(_is_decision(row) for row in files)
    return Overview(project, commits, decisions, len(files) - decisions)


def telling(store: Store, collections: Sequence[Collection]) -> list[Telling]:
    """Return the most telling documents: the latest decision records, and commits that give a long reason for what
    changes often. What no longer holds, or tells the reader what to do, is left out."""
    by_id = {one.id: one for one in collections}
    records = [row for row in table.files(store, list(by_id)) if _is_decision(row)]
    records.sort(key=lambda row: (row["at"], row["path"]), reverse=True)
    newest = records[:MOST_RECORDS]
    best = [_told(store, by_id[row["collection_id"]], row, _begins(store, row)) for row in newest]
    for history in (one for one in collections if one.kind == GIT):
        rows = store.rows(COMMITS, collection=history.id, limit=_LOOKED_AT)
        often = Counter(file for row in rows for file in json.loads(row["files"]))
        best += [_told(store, history, row, row["content"]) for row in _spread(rows, often)]
    best += [_told(store, by_id[row["collection_id"]], row, _begins(store, row)) for row in records[MOST_RECORDS:][:1]]
    return [one for one in best if one is not None]


def _is_decision(row: Row) -> bool:
    return bool(_DECISION.search(row["path"])) and not _INDEX.search(row["path"])


def _begins(store: Store, row: Row) -> str:
    return "\n".join(one["content"] for one in store.rows(FIRST, document=row["id"]))


def _spread(rows: Sequence[Row], often: Counter[str]) -> list[Row]:
    """Return the commits, those with the longest reasons about the files that change most first, each about other
    files."""

    def told(row: Row) -> float:
        heat = max((often[file] for file in json.loads(row["files"])), default=0)
        return math.log(1 + min(_LONG, len(row["content"]))) * math.log(2 + heat)

    chosen: list[Row] = []
    seen: set[str] = set()
    for row in sorted(rows, key=lambda row: (-told(row), row["path"])):
        files = set(json.loads(row["files"]))
        if not (files & seen) and len(chosen) < 2 * MOST_TOLD:
            chosen.append(row)
            seen |= files
    return chosen


def _told(store: Store, collection: Collection, row: Row, text: str) -> Telling | None:
    _, past = notes_of(store, collection, row["path"], row["status"])
    if past or not text.strip() or reads_like_an_order(row["title"], text):
        return None
    source = source_of(collection, row["path"])
    says = preview(text, limit=_TOLD_CHARS).text
    return Telling(source, row["title"], says, row["at"], row["author"])
