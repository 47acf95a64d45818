"""Bring a ``git`` collection up to date: index the commits that are new, take out those that are gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from engram_py.database.store import Store
from engram_py.dataclass import dataclass
from engram_py.documents import commits, table
from engram_py.documents.values import Collection, CollectionUpdate, Skipped
from engram_py.git.history import is_shallow
from engram_py.git.program import Deadline
from engram_py.git.repository import Repository

# What one transaction stores: others write between two of them.
BATCH = 100
# For git to list a history, and to print a batch of it.
_LIST_SECONDS, _BATCH_SECONDS = 60.0, 60.0

Report = Callable[[int, int], None]


@dataclass(slots=True)
class _Counts:
    indexed: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: int = 0
    unfinished: bool = False


def update_history(
    store: Store,
    collection: Collection,
    repository: Repository,
    *,
    now: str,
    until: float | None = None,
    report: Report | None = None,
) -> CollectionUpdate:
    """Index what HEAD has and the collection has not, until then (``time.monotonic``).

    What a run that died had stored is found and not read again: the cursor moves once all is there.
    """
    head, counts = repository.commit, _Counts()

    def result(*warnings: str) -> CollectionUpdate:
        skipped = (Skipped(f"{counts.skipped} commits", "the message gives no reason"),) if counts.skipped else ()
        return CollectionUpdate(
            collection.name, collection.project, indexed=counts.indexed, unchanged=counts.unchanged,
            removed=counts.removed, skipped=skipped, unfinished=counts.unfinished, warnings=warnings,
        )  # fmt: skip

    # What was cut off when it was cloned may be fetched later, below the same HEAD.
    state = f"{head} shallow" if is_shallow(repository) else head
    if head is None or state == collection.cursor:
        counts.unchanged = collection.documents
        return result()
    root = repository.root
    since, _, was_shallow = collection.cursor.partition(" ")
    since = "" if was_shallow and state == head else since
    new = commits.new_commits(root, head, since, _deadline(until, _LIST_SECONDS))
    if new is None and since:  # git knows the commit no more
        since, new = "", commits.new_commits(root, head, "", _deadline(until, _LIST_SECONDS))
    if new is None:
        counts.unfinished = True
        return result("git did not list the history, or not in time")
    counts.unchanged = collection.documents
    counts.removed = _remove_lost(store, collection, root, head, since, new, until)
    counts.unchanged -= counts.removed
    for at in range(0, len(new), BATCH):
        if until is not None and time.monotonic() >= until:
            counts.unfinished = True
            return result()
        if not _store(store, collection, root, new[at : at + BATCH], counts, until):
            counts.unfinished = True
            return result("git did not print the commits, or not in time")
        if report is not None:
            report(min(at + BATCH, len(new)), len(new))
    with store.transaction():
        store.update("collections", {"id": collection.id}, {"cursor": state, "updated_at": now})
    return result()


def _deadline(until: float | None, most: float) -> Deadline:
    return Deadline(most if until is None else max(0.0, min(most, until - time.monotonic())))


def _store(
    store: Store, collection: Collection, root: Path, ids: list[str], counts: _Counts, until: float | None
) -> bool:
    """Index a batch of commits; whether git printed it."""
    known = table.known_paths(store, collection.id, ids)
    missing = [one for one in ids if one not in known]
    read = commits.read_commits(root, missing, _deadline(until, _BATCH_SECONDS)) if missing else []
    if read is None:
        return False
    documents = list(commits.documents(read))
    store.give_way()
    with store.transaction():
        stored = table.known_paths(store, collection.id, [one.path for one in documents])  # by another process
        for one in documents:
            if one.path not in stored:
                table.put(store, collection.id, one)
    counts.indexed += len(documents)
    counts.skipped += len(missing) - len(documents)
    return True


def _remove_lost(
    store: Store, collection: Collection, root: Path, head: str, since: str, new: list[str], until: float | None
) -> int:
    """Take out the commits that HEAD's history has no more; how many."""
    if not collection.documents:
        return 0
    if since:
        gone = commits.lost_commits(root, head, since, _deadline(until, _LIST_SECONDS)) or []
        if not gone:
            return 0
        lost = table.known_paths(store, collection.id, gone)
    else:
        lost = table.known(store, collection.id).keys() - set(new)
    known = table.known(store, collection.id)
    ids = [known[path]["id"] for path in lost if known[path]["active"]]
    with store.transaction():
        table.retire(store, ids)
    return len(ids)
