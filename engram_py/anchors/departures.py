"""Finds the commit at which a file stopped saying what it said."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from engram_py.anchors.file_history import MAX_CONTEXT, Change, Commit, Log
from engram_py.anchors.values import Mark
from engram_py.dataclass import dataclass


class Verdict(Enum):
    PRESENT = "present"  # HEAD still says it: what changed is not committed
    UNSEEN = "unseen"  # this file never said it, as far as history tells
    UNSETTLED = "unsettled"  # further back than the log goes


@dataclass(frozen=True, slots=True)
class Text:
    """A text to look for: ``count`` marked lines, or without them the whole file ``blob``. ``blob`` is None when the
    file held changes of its own, so that no commit need ever have said just this. ``since`` is HEAD at that time."""

    mark: Mark
    count: int | None
    blob: str | None
    since: str | None


def find_departure(log: Log, path: str, text: Text, *, was_here: bool = True) -> Commit | Verdict:
    """The newest commit that took ``text`` out of ``path``, and with it from what is checked out.

    Compares what the changed places said before and after, not line numbers, so it holds across merges and rebases.
    A merge counts only where no commit that it merged explains the change. ``was_here``: the text was read in this
    file once, so where no commit shows it, that says something too.
    """
    merge: Commit | None = None
    blobs = _same_text(log, path, text.blob)
    for commit, change in _touching(log, path):
        if change.binary and text.count is not None:
            return Verdict.UNSEEN  # git shows no lines of it: `-diff` in .gitattributes
        before, after = _copies(change, text, blobs)
        if before == after:
            continue
        if commit.is_merge:
            merge = merge or (commit if before > after else None)
        else:
            return commit if before > after else merge or Verdict.PRESENT
    if merge:
        return merge
    if was_here:
        return _without_event(log, path, text)
    born = any(change.kind == "A" for _, change in _touching(log, path))
    return Verdict.UNSEEN if born or log.complete else Verdict.UNSETTLED


def removal(log: Log, path: str) -> Commit | Verdict:
    """The commit that deleted the file at ``path`` for good; ``PRESENT`` while HEAD has one, ``UNSEEN`` where no
    commit tells of it, ``UNSETTLED`` where the log does not reach that far.

    Along first parents, each commit says what became of the file where HEAD is. What a merge brought is looked for
    in what it merged, so the merge itself is named only where it dropped a file that both sides had.
    """
    changes = {commit.id: change.kind for commit, change in _touching(log, path)}
    at = log.last_touch(log.commits[0].id, changes) if log.commits else None
    if at is None:
        return Verdict.UNSEEN if log.complete else Verdict.UNSETTLED
    if changes[at.id] != "D":
        return Verdict.PRESENT
    while at.is_merge:
        merged = [log.last_touch(parent, changes) for parent in at.parents[1:]]
        before = log.ancestors(at.parents[0])  # a file that was deleted there as well has come back since
        deleted = (one for one in merged if one is not None and changes[one.id] == "D")
        deeper = next((one for one in deleted if one.id not in before), None)
        if deeper is None:
            return at if log.complete or None not in merged else Verdict.UNSETTLED
        at = deeper
    return at


def _without_event(log: Log, path: str, text: Text) -> Commit | Verdict:
    """No commit took it out: nobody committed the change, or it never was committed as it was."""
    ids = {commit.id for commit in log.commits}
    if text.since is not None and text.since not in ids:
        return Verdict.UNSEEN if log.complete else Verdict.UNSETTLED
    if text.since is None and not log.complete:
        return Verdict.UNSETTLED
    if text.blob is not None and (text.count is None or text.count <= MAX_CONTEXT):
        return Verdict.PRESENT
    older = log.ancestors(text.since) if text.since else set[str]()
    later = [commit for commit, _ in _touching(log, path) if commit.id not in older and not commit.is_merge]
    return later[-1] if later else Verdict.PRESENT


def _touching(log: Log, path: str) -> Iterator[tuple[Commit, Change]]:
    for commit in log.commits:
        for change in commit.changes:
            if change.path == path:
                yield commit, change


def _copies(change: Change, text: Text, blobs: set[str | None]) -> tuple[int, int]:
    if text.count is not None:
        return change.copies(text.mark, text.count)
    return int(change.old_blob in blobs), int(change.new_blob in blobs)


def _same_text(log: Log, path: str, blob: str | None) -> set[str | None]:
    """``blob``, and what it became by commits that only changed blanks."""
    same: set[str | None] = {blob} if blob else set()
    for _, change in reversed([*_touching(log, path)]):
        if change.only_blanks and change.old_blob in same:
            same.add(change.new_blob)
    return same
