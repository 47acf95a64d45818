"""Open documents by name: ``path:from:count``, ``commit:<sha>``, ``#<6 hex>``, a glob, several with commas; and say
what a repository answers before anything was saved: how much of it, and the most telling of it.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from engram_py.base.capture.orders import reads_like_an_order
from engram_py.base.database.store import Row, Store
from engram_py.base.errors import EngramError
from engram_py.base.files import lines_of, reason
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.lazy import regex
from engram_py.base.reasons import sentence
from engram_py.recall.documents import table
from engram_py.recall.documents.files import read_text, why_ignored
from engram_py.recall.documents.history import Commit, read_commits
from engram_py.recall.documents.search import DOCID_CHARS, notes_of, source_of
from engram_py.recall.documents.values import (
    GIT,
    Collection,
    DocumentNotFoundError,
    Line,
    Opened,
    OpenedSeveral,
    Overview,
    SkippedDocument,
    Telling,
)
from engram_py.recall.preview import preview

MOST_LINES = 400
# Of several documents those above this are left out (spec/seed-capabilities.md Q30).
MOST_BYTES_OF_SEVERAL, MOST_SEVERAL = 65_536, 20
MOST_NEAR = 5
_NEAR = 0.6
_PLACE = regex(r"(.+?):(\d{1,7})(?::(\d{1,7}))?")
_COMMIT = regex(r"commit[: ]\s*([0-9a-f]{4,64})", re.IGNORECASE)
_DOCID = regex(r"[\"']?(?:#|doc:)([0-9a-f]{6,64})[\"']?", re.IGNORECASE)


class Opening:
    """Opens what is in some collections."""

    def __init__(self, store: Store, collections: Sequence[Collection]) -> None:
        self._store = store
        self._collections = {collection.id: collection for collection in collections}
        self._files = [collection.id for collection in collections if collection.kind != GIT]

    def open(self, name: str, *, first: int | None = None, count: int | None = None) -> Opened:
        """Return the lines of one document; ``first`` and ``count`` win over those in the name.

        Raises DocumentNotFoundError.
        """
        name = name.strip()
        if commit := _COMMIT.fullmatch(name):
            return self._open_commit(commit[1].lower())
        document = self._by_docid(name) or self._by_path(name)
        place = None if document else _PLACE.fullmatch(name)
        if place is not None:
            document = self._by_docid(place[1]) or self._by_path(place[1])
            first = int(place[2]) if first is None else first
            count = int(place[3]) if count is None and place[3] else count
        if document is None:
            raise self._unknown(place[1] if place is not None else name)
        return self._shown(document, max(1, first or 1), count)

    def open_several(self, names: str) -> OpenedSeveral:
        """Return the documents of a glob or a comma list; an unknown or too large one is listed with its reason."""
        opened: list[Opened] = []
        skipped: list[SkippedDocument] = []
        for name in dict.fromkeys(part.strip() for part in names.split(",") if part.strip()):
            matching = self._matching(name) if any(char in name for char in "*?[") else [name]
            if not matching:
                skipped.append(SkippedDocument(name, "matches no document"))
            for path in matching:
                try:
                    if len(opened) >= MOST_SEVERAL:
                        skipped.append(SkippedDocument(path, f"more than {MOST_SEVERAL} documents"))
                    elif (size := self._size(path)) > MOST_BYTES_OF_SEVERAL:
                        skipped.append(
                            SkippedDocument(path, f"{size >> 10} KB, larger than {MOST_BYTES_OF_SEVERAL >> 10} KB")
                        )
                    else:
                        opened.append(self.open(path))
                except EngramError as exc:
                    skipped.append(SkippedDocument(path, sentence(f"{exc.message}; ", exc.next_step)))
        return OpenedSeveral(tuple(opened), tuple(skipped))

    # --- which document ------------------------------------------------------------------------------------

    def _by_docid(self, name: str) -> Row | None:
        docid = _DOCID.fullmatch(name)
        if docid is None:
            return None
        rows = table.beginning(self._store, list(self._collections), docid[1].lower(), hash=True, limit=1)
        return rows[0] if rows else None

    def _by_path(self, name: str) -> Row | None:
        """Return an exact path, one that begins with a collection's name, an absolute one, else what ends like it
        alone."""
        path = name.removeprefix("./")
        for collection in self._collections.values():
            if collection.kind == GIT:
                continue
            for inner in (path, path.removeprefix(f"{collection.name}/"), path.removeprefix(f"{collection.root}/")):
                if rows := table.of_path(self._store, [collection.id], inner):
                    return rows[0]
        ending = [row for row in self._all() if f"/{row['path']}".endswith(f"/{path}")] if path else []
        return ending[0] if len(ending) == 1 else None

    def _all(self) -> list[Row]:
        return table.files(self._store, self._files)

    def _name(self, row: Row) -> str:
        return source_of(self._collections[row["collection_id"]], row["path"])

    def _matching(self, pattern: str) -> list[str]:
        return [name for row in self._all() if fnmatchcase(name := self._name(row), pattern)]

    def _unknown(self, name: str) -> DocumentNotFoundError:
        import difflib

        names = [self._name(row) for row in self._all()]
        near = difflib.get_close_matches(name, names, n=MOST_NEAR, cutoff=_NEAR)
        last = name.rsplit("/", 1)[-1]
        near += [other for other in names if other.rsplit("/", 1)[-1] == last and other not in near]
        roots = (Path(collection.root) for collection in self._collections.values() if collection.kind != GIT)
        ignored = ""
        for root in roots:
            if root.is_dir() and not Path(name).is_absolute() and ".." not in name and (root / name).is_file():
                ignored = ignored or why_ignored(root, name) or "no collection has it"
        return DocumentNotFoundError(name, near[:MOST_NEAR], ignored=ignored)

    def _size(self, name: str) -> int:
        document = None if _COMMIT.fullmatch(name) else self._by_docid(name) or self._by_path(name)
        if document is None:
            return 0
        root = Path(self._collections[document["collection_id"]].root)
        path = root if root.is_file() else root / document["path"]
        return path.stat().st_size if path.is_file() else 0

    # --- its lines -------------------------------------------------------------------------------------------

    def _shown(self, document: Row, first: int, count: int | None) -> Opened:
        from engram_py.base.capture.redact import redact

        collection = self._collections[document["collection_id"]]
        if collection.kind == GIT:
            return self._open_commit(document["path"])
        notes, _ = notes_of(self._store, collection, document["path"], document["status"])
        try:
            lines = lines_of(redact(read_text(Path(collection.root), document["path"])).text)
        except OSError as exc:
            name = source_of(collection, document["path"])
            raise DocumentNotFoundError(name, ignored=f"it cannot be read now ({reason(exc)})") from exc
        last = min(len(lines), first - 1 + min(count or MOST_LINES, MOST_LINES))
        return Opened(
            source=source_of(collection, document["path"]),
            title=document["title"],
            docid=document["hash"][:DOCID_CHARS],
            lines=tuple(Line(number + 1, lines[number]) for number in range(first - 1, last)),
            collection=collection.name,
            context=collection.contexts_of(document["path"]),
            notes=notes,
            more=last < len(lines),
        )

    def _open_commit(self, commit: str) -> Opened:
        from engram_py.base.capture.redact import redact

        histories = [collection for collection in self._collections.values() if collection.kind == GIT]
        ids = [history.id for history in histories]
        document = next(iter(table.beginning(self._store, ids, commit, limit=1)), None)
        for history in [self._collections[document["collection_id"]]] if document else histories:
            whole = document["path"] if document else _resolved(Path(history.root), commit)
            read = read_commits(Path(history.root), [whole], Deadline()) if whole else None
            if not read:
                continue
            notes, _ = notes_of(self._store, history, read[0].id)
            text = redact(_message(read[0])).text
            return Opened(
                source=source_of(history, read[0].id),
                title=redact(read[0].subject).text,
                docid=document["hash"][:DOCID_CHARS] if document else "",
                lines=tuple(Line(number, line) for number, line in enumerate(lines_of(text), 1)),
                collection=history.name,
                context=history.contexts_of(read[0].id),
                notes=notes,
            )
        raise DocumentNotFoundError(f"commit:{commit}")


def _resolved(root: Path, commit: str) -> str:
    """Return the whole id of a commit that is no document, because its message gives no reason."""
    answer = ask_git(root, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", deadline=Deadline())
    return answer[0].decode("ascii", "replace").strip() if answer else ""


def _message(commit: Commit) -> str:
    head = f"commit {commit.id}\nAuthor: {commit.author}\nDate: {commit.at}"
    parts = [head, commit.subject, commit.body, commit.trailers]
    parts.append("\n".join(["Files:", *commit.files]) if commit.files else "")
    return "\n\n".join(filter(None, parts))


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
    """Return the numbers of commits, decisions and other documents of a project."""
    commits = sum(collection.documents for collection in collections if collection.kind == GIT)
    files = table.files(store, [collection.id for collection in collections])
    decisions = sum(_is_decision(row) for row in files)
    return Overview(project, commits, decisions, len(files) - decisions)


def telling(store: Store, collections: Sequence[Collection]) -> list[Telling]:
    """Return the most telling documents: the latest decision records, and commits that give a long reason for what
    changes often. What no longer holds, or tells the reader what to do, is left out."""
    by_id = {collection.id: collection for collection in collections}
    records = [row for row in table.files(store, list(by_id)) if _is_decision(row)]
    records.sort(key=lambda row: (row["at"], row["path"]), reverse=True)
    newest = records[:MOST_RECORDS]
    best = [_told(store, by_id[row["collection_id"]], row, _begins(store, row)) for row in newest]
    for history in (collection for collection in collections if collection.kind == GIT):
        rows = store.rows(COMMITS, collection=history.id, limit=_LOOKED_AT)
        often = Counter(file for row in rows for file in json.loads(row["files"]))
        best += [_told(store, history, row, row["content"]) for row in _spread(rows, often)]
    best += [_told(store, by_id[row["collection_id"]], row, _begins(store, row)) for row in records[MOST_RECORDS:][:1]]
    return [document for document in best if document is not None]


def _is_decision(row: Row) -> bool:
    return bool(_DECISION.search(row["path"])) and not _INDEX.search(row["path"])


def _begins(store: Store, row: Row) -> str:
    return "\n".join(passage["content"] for passage in store.rows(FIRST, document=row["id"]))


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
