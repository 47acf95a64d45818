"""Asks git's history about texts that are not where they were: who took them out, when, and where they may be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import PurePosixPath

from engram_py.anchors.git_log import MAX_CONTEXT, Change, Commit, Log, read_log, read_renames
from engram_py.anchors.values import Anchor
from engram_py.dataclass import asdict, dataclass, replace
from engram_py.git.answers import GitAnswers
from engram_py.git.program import Deadline
from engram_py.git.repository import Repository

Touched = Mapping[str, Sequence[Change]]

# The newest commits first: nearly every change that anybody asks about is among them.
_DEPTHS = (256, 4_096)
_NAMES_FOLLOWED = 8
_MOST_PATHS = 100
MOST_CANDIDATES = 12


class NoCommit(Enum):
    """Why no commit is named."""

    PRESENT = "present"  # HEAD still says it: what changed is not committed
    UNSEEN = "unseen"  # this file never said it, as far as history tells
    BEYOND_LOG = "beyond_log"  # further back than the log goes


@dataclass(frozen=True, slots=True)
class FileEvent:
    """A commit, by whom it is, and how many HEAD has since."""

    commit: str
    author: str
    commits_ago: int


@dataclass(frozen=True, slots=True)
class Trace:
    """What history says of one text. ``path`` is what its file was called last, ``candidates`` are files that the
    commit which took the text out touched as well. ``present`` is whether HEAD has the file, ``deleted_by`` what
    deleted it; neither where git does not reach that far."""

    path: str
    changed_by: FileEvent | None = None
    uncommitted: bool = False
    candidates: tuple[str, ...] = ()
    deleted_by: FileEvent | None = None
    present: bool = False


def trace(
    repository: Repository, anchors: Sequence[Anchor], answers: GitAnswers, deadline: Deadline
) -> dict[int, Trace]:
    """Return what became of the texts of ``anchors``, by the anchor's id, in a few questions to git for all of them."""
    head = repository.commit
    if head is None:
        return {anchor.id: Trace(anchor.path, uncommitted=True) for anchor in anchors}
    keys = {anchor.id: _key(anchor) for anchor in anchors}

    def ask(missing: Sequence[str]) -> dict[str, str]:
        told: dict[str, str] = {}
        for some in _by_paths([anchor for anchor in anchors if keys[anchor.id] in missing]):
            found = _follow(repository, head, some, deadline)
            if found is None:
                break
            told |= {keys[one]: json.dumps(asdict(found[one])) for one in found}
        return told

    questions = [*dict.fromkeys(keys.values())]
    known = answers.ask(repository, head, questions, kind="trace", deadline=deadline, git=ask)
    return {
        anchor.id: _from_json(known[key]) if (key := keys[anchor.id]) in known else Trace(anchor.path)
        for anchor in anchors
    }


def _by_paths(anchors: Sequence[Anchor]) -> Iterator[list[Anchor]]:
    """Yield the anchors in groups of so many files that a command line holds their names."""
    ordered = sorted(anchors, key=lambda anchor: (anchor.path, anchor.id))
    paths = [*dict.fromkeys(anchor.path for anchor in ordered)]
    for first in range(0, len(paths), _MOST_PATHS):
        some = {*paths[first : first + _MOST_PATHS]}
        yield [anchor for anchor in ordered if anchor.path in some]


def _follow(
    repository: Repository, head: str, anchors: Sequence[Anchor], deadline: Deadline
) -> dict[int, Trace] | None:
    """Trace every text to the commit that took it out, and its file through the names it had since."""
    traces = {anchor.id: Trace(anchor.path) for anchor in anchors}
    open_ends = list(anchors)
    for turn in range(_NAMES_FOLLOWED):
        paths = {anchor.id: traces[anchor.id].path for anchor in open_ends}
        events = _events(repository, head, open_ends, paths, deadline, was_here=not turn)
        if events is None:
            return None
        ends = {one: file_deleted_by(log, paths[one]) for one, (_, log) in events.items()}
        left = {end.id for one, (event, _) in events.items() for end in (event, ends[one]) if isinstance(end, Commit)}
        touched = read_renames(repository.root, sorted(left), deadline) if left else {}
        for one, (event, log) in events.items():
            traces[one] = _ended(_seen(traces[one], event, log, touched), ends[one], log, touched)
        open_ends = [anchor for anchor in open_ends if _renamed(traces, anchor, ends.get(anchor.id), touched)]
        if not open_ends:
            return traces
    for anchor in open_ends:  # renamed more often than anybody follows: who changed it stays unsaid
        traces[anchor.id] = Trace(traces[anchor.id].path)
    return traces


def _seen(known: Trace, event: Commit | NoCommit, log: Log, touched: Touched) -> Trace:
    """Return what is known of a text after a look at the history of one name of its file."""
    if event is NoCommit.PRESENT:  # so an earlier name of the file lost it by the renaming alone
        return Trace(known.path, uncommitted=True)
    if not isinstance(event, Commit):
        return known
    candidates = _candidates(touched.get(event.id, ()), known.path)
    return Trace(known.path, changed_by=_event(event, log), candidates=candidates)


def _ended(known: Trace, end: Commit | NoCommit, log: Log, touched: Touched) -> Trace:
    """Return the trace with what became of the file; a commit whose renames are unknown deleted nothing for sure."""
    deleted_by = _event(end, log) if isinstance(end, Commit) and end.id in touched else None
    return replace(known, deleted_by=deleted_by, present=end is NoCommit.PRESENT)


def _event(commit: Commit, log: Log) -> FileEvent:
    return FileEvent(commit.id, commit.author, log.commits_since(commit.id))


def _renamed(traces: dict[int, Trace], anchor: Anchor, end: Commit | NoCommit | None, touched: Touched) -> bool:
    """Return whether the commit that removed the file only renamed it; the trace goes on under the new name then."""
    known = traces[anchor.id]
    for change in touched.get(end.id, ()) if isinstance(end, Commit) else ():
        if change.kind == "R" and change.old_path == known.path:
            traces[anchor.id] = replace(known, path=change.path, deleted_by=None)
            return True
    return False


def _events(
    repository: Repository,
    head: str,
    anchors: Sequence[Anchor],
    paths: Mapping[int, str],
    deadline: Deadline,
    *,
    was_here: bool,
) -> dict[int, tuple[Commit | NoCommit, Log]] | None:
    found: dict[int, tuple[Commit | NoCommit, Log]] = {}
    pending = list(anchors)
    for most in _DEPTHS:
        names = sorted({paths[anchor.id] for anchor in pending})
        context = min(MAX_CONTEXT, max((anchor.lines or 0 for anchor in pending), default=0))
        log = read_log(repository.root, head, names, context=context, most=most, deadline=deadline)
        if log is None:
            return None
        for anchor in pending:
            found[anchor.id] = text_removed_by(log, paths[anchor.id], anchor, was_here=was_here), log
        pending = [anchor for anchor in pending if found[anchor.id][0] is NoCommit.BEYOND_LOG]
        if not pending or log.complete:
            break
    return found


def _candidates(changes: Sequence[Change], path: str) -> tuple[str, ...]:
    """Return the files a commit wrote besides ``path``, the likeliest new places first."""
    old = PurePosixPath(path)
    likely = [one for one in changes if one.kind != "D" and one.path != path and one.path.endswith(old.suffix)]

    def rank(change: Change) -> tuple[bool, bool, bool, str]:
        new = PurePosixPath(change.path)
        return new.name != old.name, change.kind == "M", new.parent != old.parent, change.path

    return tuple(one.path for one in sorted(likely, key=rank)[:MOST_CANDIDATES])


def _key(anchor: Anchor) -> str:
    facts = (anchor.path, anchor.start_line, anchor.end_line, anchor.digest, anchor.blob, anchor.git_commit)
    return "trace:" + hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def _from_json(text: str) -> Trace:
    values = json.loads(text)
    events = {name: FileEvent(**values[name]) if values[name] else None for name in ("changed_by", "deleted_by")}
    return Trace(**values | events | {"candidates": tuple(values["candidates"])})


def text_removed_by(log: Log, path: str, anchor: Anchor, *, was_here: bool = True) -> Commit | NoCommit:
    """Return the newest commit that took the text of ``anchor`` out of ``path``, and with it from what is checked out.

    Compares what the changed places said before and after, not line numbers, so it holds across merges and rebases.
    A merge counts only where no commit that it merged explains the change. ``was_here``: the text was read in this
    file once, so where no commit shows it, that says something too.
    """
    merge: Commit | None = None
    blobs = _same_text(log, path, anchor.blob)
    for commit, change in _touching(log, path):
        if change.binary and anchor.lines is not None:
            return NoCommit.UNSEEN  # git shows no lines of it: `-diff` in .gitattributes
        before, after = _copies(change, anchor, blobs)
        if before == after:
            continue
        if commit.is_merge:
            merge = merge or (commit if before > after else None)
        else:
            return commit if before > after else merge or NoCommit.PRESENT
    if merge:
        return merge
    if was_here:
        return _without_event(log, path, anchor)
    born = any(change.kind == "A" for _, change in _touching(log, path))
    return NoCommit.UNSEEN if born or log.complete else NoCommit.BEYOND_LOG


def file_deleted_by(log: Log, path: str) -> Commit | NoCommit:
    """Return the commit that deleted the file at ``path`` for good; ``PRESENT`` while HEAD has one, ``UNSEEN`` where no
    commit tells of it, ``BEYOND_LOG`` where the log does not reach that far.

    Along first parents, each commit says what became of the file where HEAD is. What a merge brought is looked for
    in what it merged, so the merge itself is named only where it dropped a file that both sides had.
    """
    changes = {commit.id: change.kind for commit, change in _touching(log, path)}
    at = log.last_touch(log.commits[0].id, changes) if log.commits else None
    if at is None:
        return NoCommit.UNSEEN if log.complete else NoCommit.BEYOND_LOG
    if changes[at.id] != "D":
        return NoCommit.PRESENT
    while at.is_merge:
        merged = [log.last_touch(parent, changes) for parent in at.parents[1:]]
        before = log.ancestors(at.parents[0])  # a file that was deleted there as well has come back since
        deleted = (one for one in merged if one is not None and changes[one.id] == "D")
        deeper = next((one for one in deleted if one.id not in before), None)
        if deeper is None:
            return at if log.complete or None not in merged else NoCommit.BEYOND_LOG
        at = deeper
    return at


def _without_event(log: Log, path: str, anchor: Anchor) -> Commit | NoCommit:
    """Return that nobody committed the change, or that the text never was committed."""
    ids = {commit.id for commit in log.commits}
    if anchor.git_commit is not None and anchor.git_commit not in ids:
        return NoCommit.UNSEEN if log.complete else NoCommit.BEYOND_LOG
    if anchor.git_commit is None and not log.complete:
        return NoCommit.BEYOND_LOG
    if anchor.blob is not None and (anchor.lines is None or anchor.lines <= MAX_CONTEXT):
        return NoCommit.PRESENT
    older = log.ancestors(anchor.git_commit) if anchor.git_commit else set[str]()
    later = [commit for commit, _ in _touching(log, path) if commit.id not in older and not commit.is_merge]
    return later[-1] if later else NoCommit.PRESENT


def _touching(log: Log, path: str) -> Iterator[tuple[Commit, Change]]:
    for commit in log.commits:
        for change in commit.changes:
            if change.path == path:
                yield commit, change


def _copies(change: Change, anchor: Anchor, blobs: set[str | None]) -> tuple[int, int]:
    if anchor.lines is not None and anchor.mark is not None:
        return change.copies(anchor.mark, anchor.lines)
    return int(change.old_blob in blobs), int(change.new_blob in blobs)


def _same_text(log: Log, path: str, blob: str | None) -> set[str | None]:
    """``blob``, and what it became by commits that only changed blanks."""
    same: set[str | None] = {blob} if blob else set()
    for _, change in reversed([*_touching(log, path)]):
        if change.only_blanks and change.old_blob in same:
            same.add(change.new_blob)
    return same
