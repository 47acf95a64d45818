"""Open documents by name: ``path:from:count``, ``commit:<sha>``, ``#<6 hex>``, a glob, several with commas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from engram_py.database.store import Row, Store
from engram_py.documents import commits, table
from engram_py.documents.errors import DocumentNotFoundError
from engram_py.documents.files import read_text, why_ignored
from engram_py.documents.search import DOCID_CHARS, notes_of, source_of
from engram_py.documents.values import GIT, Collection, Line, Opened, OpenedSeveral, Skipped
from engram_py.errors import EngramError
from engram_py.files import lines_of, reason
from engram_py.git.program import Deadline, ask_git
from engram_py.lazy import regex

MOST_LINES = 400
# Of several documents those above this are left out (spec/seed-capabilities.md Q30).
MOST_BYTES_OF_SEVERAL, MOST_SEVERAL = 65_536, 20
MOST_NEAR = 5
_NEAR = 0.6
_PLACE = regex(r"(.+?):(\d{1,7})(?::(\d{1,7}))?")
_COMMIT = regex(r"commit[: ]\s*([0-9a-f]{4,64})", re.IGNORECASE)
_DOCID = regex(r"[\"']?(?:#|doc:)([0-9a-f]{6,64})[\"']?", re.IGNORECASE)


class Found(NamedTuple):
    """A document and the collection it is in."""

    collection: Collection
    document: Row


class Opening:
    """Opens what is in some collections."""

    def __init__(self, store: Store, collections: Sequence[Collection]) -> None:
        self._store = store
        self._collections = {one.id: one for one in collections}
        self._files = [one.id for one in collections if one.kind != GIT]

    def open(self, name: str, *, first: int | None = None, count: int | None = None) -> Opened:
        """Return the lines of one document; ``first`` and ``count`` win over those in the name.

        Raises DocumentNotFoundError.
        """
        name = name.strip()
        if commit := _COMMIT.fullmatch(name):
            return self._open_commit(commit[1].lower())
        found = self._by_docid(name) or self._by_path(name)
        place = None if found else _PLACE.fullmatch(name)
        if place is not None:
            found = self._by_docid(place[1]) or self._by_path(place[1])
            first = int(place[2]) if first is None else first
            count = int(place[3]) if count is None and place[3] else count
        if found is None:
            raise self._unknown(place[1] if place is not None else name)
        return self._shown(found, max(1, first or 1), count)

    def open_several(self, names: str) -> OpenedSeveral:
        """Return what a glob or a comma list names; what is unknown or too large is listed with its reason."""
        opened: list[Opened] = []
        skipped: list[Skipped] = []
        for name in dict.fromkeys(one.strip() for one in names.split(",") if one.strip()):
            matching = self._matching(name) if any(char in name for char in "*?[") else [name]
            if not matching:
                skipped.append(Skipped(name, "matches no document"))
            for one in matching:
                try:
                    if len(opened) >= MOST_SEVERAL:
                        skipped.append(Skipped(one, f"more than {MOST_SEVERAL} documents"))
                    elif (size := self._size(one)) > MOST_BYTES_OF_SEVERAL:
                        skipped.append(Skipped(one, f"{size >> 10} KB, larger than {MOST_BYTES_OF_SEVERAL >> 10} KB"))
                    else:
                        opened.append(self.open(one))
                except EngramError as exc:
                    skipped.append(Skipped(one, f"{exc.message}; {exc.hint}"))
        return OpenedSeveral(tuple(opened), tuple(skipped))

    # --- which document ------------------------------------------------------------------------------------

    def _by_docid(self, name: str) -> Found | None:
        docid = _DOCID.fullmatch(name)
        if docid is None:
            return None
        rows = table.beginning(self._store, list(self._collections), docid[1].lower(), hash=True, limit=1)
        return self._found(rows)

    def _by_path(self, name: str) -> Found | None:
        """Return an exact path, one that begins with a collection's name, an absolute one, else what ends like it
        alone."""
        path = name.removeprefix("./")
        for one in self._collections.values():
            if one.kind == GIT:
                continue
            for inner in (path, path.removeprefix(f"{one.name}/"), path.removeprefix(f"{one.root}/")):
                if found := self._found(table.of_path(self._store, [one.id], inner)):
                    return found
        ending = [row for row in self._all() if f"/{row['path']}".endswith(f"/{path}")] if path else []
        return self._found(ending) if len(ending) == 1 else None

    def _found(self, rows: Sequence[Row]) -> Found | None:
        return Found(self._collections[rows[0]["collection_id"]], rows[0]) if rows else None

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
        near += [one for one in names if one.rsplit("/", 1)[-1] == last and one not in near]
        roots = (Path(one.root) for one in self._collections.values() if one.kind != GIT)
        ignored = ""
        for root in roots:
            if root.is_dir() and not Path(name).is_absolute() and ".." not in name and (root / name).is_file():
                ignored = ignored or why_ignored(root, name) or "no collection has it"
        return DocumentNotFoundError(name, near[:MOST_NEAR], ignored=ignored)

    def _size(self, name: str) -> int:
        found = None if _COMMIT.fullmatch(name) else self._by_docid(name) or self._by_path(name)
        if found is None:
            return 0
        root = Path(found.collection.root)
        path = root if root.is_file() else root / found.document["path"]
        return path.stat().st_size if path.is_file() else 0

    # --- its lines -------------------------------------------------------------------------------------------

    def _shown(self, found: Found, first: int, count: int | None) -> Opened:
        from engram_py.capture.redact import redact

        collection, document = found
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
        from engram_py.capture.redact import redact

        histories = [one for one in self._collections.values() if one.kind == GIT]
        ids = [one.id for one in histories]
        found = self._found(table.beginning(self._store, ids, commit, limit=1))
        for history in [found.collection] if found else histories:
            whole = found.document["path"] if found else _resolved(Path(history.root), commit)
            read = commits.read_commits(Path(history.root), [whole], Deadline()) if whole else None
            if not read:
                continue
            notes, _ = notes_of(self._store, history, read[0].id)
            text = redact(_message(read[0])).text
            return Opened(
                source=source_of(history, read[0].id),
                title=redact(read[0].subject).text,
                docid=found.document["hash"][:DOCID_CHARS] if found else "",
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


def _message(one: commits.Commit) -> str:
    parts = [f"commit {one.id}\nAuthor: {one.author}\nDate: {one.at}", one.subject, one.body, one.trailers]
    parts.append("\n".join(["Files:", *one.files]) if one.files else "")
    return "\n\n".join(filter(None, parts))
