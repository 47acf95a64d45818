"""Bring a collection of files up to date: read what was written since, take out what is gone."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from engram_py.database.store import Store
from engram_py.documents import table
from engram_py.documents.about import split_front_matter, status_of, title_of
from engram_py.documents.files import Found, find_files, patterns, read_text
from engram_py.documents.passages import passages, structure
from engram_py.documents.values import Collection, CollectionUpdate, Cut, Read, Skipped
from engram_py.errors import InvalidArgumentError
from engram_py.files import reason
from engram_py.text.words import derived_terms
from engram_py.times import to_text

Report = Callable[[int, int], None]

_MOST_SKIPPED = 200  # that are named


def update_folder(
    store: Store,
    collection: Collection,
    *,
    now: str,
    ignore: Sequence[str] = (),
    until: float | None = None,
    report: Report | None = None,
) -> CollectionUpdate:
    """Index what the folder has but for what the patterns ``ignore``, until then (``time.monotonic``).

    The hash of a text says whether it changed.
    """
    root = Path(collection.root)
    skipped: list[Skipped] = []
    from engram_py.capture.redact import refuse_secret

    counts = dict.fromkeys(("indexed", "updated", "unchanged", "removed"), 0)

    def result(*, unfinished: bool = False, warnings: tuple[str, ...] = ()) -> CollectionUpdate:
        return CollectionUpdate(
            collection.name, collection.project, **counts, skipped=tuple(skipped[:_MOST_SKIPPED]),
            unfinished=unfinished, warnings=warnings,
        )  # fmt: skip

    if not root.exists():  # an unmounted disk is not a deleted folder
        return result(unfinished=True, warnings=(f"{root} is not there; its documents stay as they were",))
    globs = patterns(collection.globs)
    try:
        found = list(find_files(root, globs, skipped.append, ignore=ignore, until=until))
    except TimeoutError:
        return result(unfinished=True)
    known = table.known(store, collection.id)
    gone = [known[path]["id"] for path in known.keys() - {one.path for one in found} if known[path]["active"]]
    with store.transaction():
        table.retire(store, gone)
    counts["removed"] = len(gone)
    for number, one in enumerate(found):
        if until is not None and time.monotonic() >= until:
            return result(unfinished=True)
        row = known.get(one.path)
        if row is not None and row["active"] and (row["size"], row["mtime_ns"]) == (one.size, one.mtime_ns):
            counts["unchanged"] += 1
            continue
        try:
            refuse_secret("path", one.path)
            read = read_document(root, one)
        except InvalidArgumentError:
            skipped.append(Skipped("[REDACTED]", "its name looks like a secret"))
            continue
        except OSError as exc:
            skipped.append(Skipped(one.path, reason(exc)))
            if row is not None and row["active"]:
                with store.transaction():
                    table.retire(store, [row["id"]])
                counts["removed"] += 1
            continue
        store.give_way()
        with store.transaction():
            if row is not None and row["active"] and row["hash"] == read.hash:
                table.touch(store, row["id"], size=one.size, mtime_ns=one.mtime_ns)
                counts["unchanged"] += 1
            else:
                table.put(store, collection.id, read)
                counts["updated" if row is not None and row["active"] else "indexed"] += 1
        if report is not None:
            report(number + 1, len(found))
    with store.transaction():
        store.update("collections", {"id": collection.id}, {"updated_at": now})
    return result()


def read_document(root: Path, one: Found) -> Read:
    """Return a file as a document. Raises OSError."""
    from engram_py.capture.redact import redact

    text = redact(read_text(root, one.path)).text
    head, skip = split_front_matter(text)
    parts = structure(text, skip=skip)
    title = title_of(one.path, head, parts)
    cuts = tuple(_under_title(cut, title) for cut in passages(parts, skip=skip))
    return Read(
        path=one.path,
        title=title,
        hash=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
        passages=cuts,
        at=to_text(datetime.fromtimestamp(max(0, one.mtime_ns) / 1e9, UTC)),
        words_of_path=one.path,
        terms=tuple(derived_terms(one.path, cut.title, cut.text) for cut in cuts),
        size=one.size,
        mtime_ns=one.mtime_ns,
        status=status_of(head, parts),
    )


def _under_title(cut: Cut, title: str) -> Cut:
    """Return the passage under the title of its document; one before the first heading has that title itself."""
    if not cut.title:
        return Cut(title, (), cut.text, cut.first_line, cut.last_line)
    above = cut.above if title in (*cut.above, cut.title) else (title, *cut.above)
    return Cut(cut.title, above, cut.text, cut.first_line, cut.last_line)
