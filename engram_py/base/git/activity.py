"""Find the work done in a checkout between two moments: commits made, taken back or undone, and files that changed.

HEAD's reflog tells what happened in this checkout, whatever the branch: a commit that was made here and then has its
own committer time there, one that was only checked out, pulled or reset to has an older one. Where there is no reflog,
the history of HEAD is read. Nothing here depends on the words of a message, but for git's own line of a revert.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from engram_py.base.dataclass import dataclass, replace
from engram_py.base.files import read_bounded
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.git.repository import Repository
from engram_py.base.lazy import regex

MOST_COMMITS = 50
MOST_FILES = 200
# Entries of a reflog or a log that are looked at, and files of a checkout.
_MOST_ENTRIES = 2_000
_MOST_LOOKED_AT = 50_000
_MOST_COMPARED = 4 << 20
_SHA256_CHARS = 64
# How much later than its commit an entry of the reflog may be written.
_AT_ONCE_SECONDS = 2
_FORMAT = "%H%x00%gd%x00%ct%x00%at%x00%s%x00%b%x01"
_WHEN = regex(r"@\{(\d+)\}")
_REVERTS = regex(r"^This reverts commit ([0-9a-f]{7,64})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class WorkCommit:
    """A commit made in that time. ``reverts`` is the id of the commit it takes back, "" for none."""

    id: str
    subject: str
    authored: int
    reverts: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """The work done in a checkout. ``commits`` are there still, oldest first; ``reverted`` are the ids among them
    that a later
    one takes back; ``dropped`` were made and are on no branch any more. ``changed`` are the files of the commits,
    ``uncommitted`` those that differ from the last commit, ``restored`` those that were written and are as before."""

    branch: str = ""
    commits: tuple[WorkCommit, ...] = ()
    reverted: frozenset[str] = frozenset()
    dropped: tuple[WorkCommit, ...] = ()
    changed: tuple[str, ...] = ()
    uncommitted: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()

    @property
    def kept(self) -> tuple[WorkCommit, ...]:
        """The commits whose changes are still there: neither taken back, nor taking back one of them."""
        ids = {commit.id for commit in self.commits}
        return tuple(commit for commit in self.commits if commit.id not in self.reverted and commit.reverts not in ids)

    @property
    def is_nothing(self) -> bool:
        return not (self.commits or self.dropped or self.uncommitted or self.restored)


def work_between(repository: Repository, start: datetime, end: datetime, deadline: Deadline) -> Work | None:
    """Return the work done in a checkout from ``start`` to ``end``; None where git does not say."""
    first, last = int(start.timestamp()), end.timestamp()  # git counts whole seconds
    entries = list(_entries(repository.root, deadline))
    if not entries and repository.commit:
        return None
    made = _made(entries, first, last)
    moves = _moves(entries, {commit.id for commit in made}, first, last)
    gone = _unreachable(repository.root, [commit.id for commit in made], deadline)
    there = {commit.id for commit in made if commit.id not in gone}
    commits = tuple(replace(commit, reverts=_whole(commit.reverts, there)) for commit in made if commit.id in there)
    work = Work(
        # Once HEAD went elsewhere, nothing tells which branch it was.
        branch="" if moves or any(when > last for when, _ in entries) else repository.branch or "",
        commits=commits[-MOST_COMMITS:],
        reverted=frozenset(commit.reverts for commit in commits if commit.reverts in there),
        dropped=tuple(_dropped(made, there))[-MOST_COMMITS:],
    )
    changed = _files_of(repository.root, [commit.id for commit in work.kept], deadline)
    written, unknown = _written(repository.root, start.timestamp(), last, deadline)
    dirty = _differing(repository.root, written, deadline) if written else set()
    restored: list[str] = []
    if not moves:  # a switch of branches or a pull writes files that nobody edited
        committed = {*_files_of(repository.root, [commit.id for commit in commits], deadline)}
        restored = [path for path in written if path not in dirty and path not in committed]
    return replace(
        work,
        changed=tuple(changed[:MOST_FILES]),
        uncommitted=tuple([*(path for path in written if path in dirty), *unknown][:MOST_FILES]),
        restored=tuple(restored[:MOST_FILES]),
    )


def _entries(root: Path, deadline: Deadline) -> Iterator[tuple[int, WorkCommit]]:
    """Yield when HEAD moved, and the commit it moved to, latest first."""
    size = f"--max-count={_MOST_ENTRIES}"
    shape = ("--date=unix", "--no-color", "--encoding=UTF-8", f"--format={_FORMAT}", size)
    answer = ask_git(root, "log", "--walk-reflogs", *shape, "HEAD", "--", deadline=deadline)
    if answer is None or not answer[0].strip():
        answer = ask_git(root, "log", *shape, "HEAD", "--", deadline=deadline)
    for record in (answer[0] if answer else b"").decode("utf-8", "replace").split("\x01"):
        fields = record.lstrip("\n").split("\0")
        if len(fields) == 6 and fields[2].isdecimal() and fields[3].isdecimal():
            when = _WHEN.search(fields[1])
            taken_back = _REVERTS.search(fields[5])
            commit = WorkCommit(fields[0], fields[4], int(fields[3]), taken_back[1] if taken_back else "")
            moment, committed = int(when[1] if when else fields[2]), int(fields[2])
            # Of an entry that is no new commit only its moment counts.
            yield moment, commit if abs(moment - committed) <= _AT_ONCE_SECONDS else replace(commit, authored=-1)


def _made(entries: Sequence[tuple[int, WorkCommit]], first: float, last: float) -> list[WorkCommit]:
    """Return the commits made in that time, oldest first: HEAD first came to them when they were written."""
    reached: dict[str, tuple[int, WorkCommit]] = {}
    for when, commit in reversed(entries):
        reached.setdefault(commit.id, (when, commit))
    made = [commit for when, commit in reached.values() if first <= when <= last and commit.authored >= 0]
    return made[-4 * MOST_COMMITS :]


def _moves(
    entries: Sequence[tuple[int, WorkCommit]], made: Container[str], first: float, last: float
) -> list[WorkCommit]:
    """Return the commits that HEAD went to in that time without making them."""
    before = [*(commit.id for _, commit in entries[1:]), ""]
    steps = zip(entries, before, strict=False)
    return [
        commit for (when, commit), old in steps if first <= when <= last and commit.id not in made and commit.id != old
    ]


def _dropped(made: Sequence[WorkCommit], there: Container[str]) -> Iterator[WorkCommit]:
    """Yield the commits that are gone and were not only rewritten.

    Amending and rebasing keep the author's time, and the subject or the place in the row.
    """
    kept = [commit for commit in made if commit.id in there]
    for number, commit in enumerate(made):
        if commit.id not in there:
            heirs = [*(other for other in kept if other.subject == commit.subject), *made[number + 1 : number + 2]]
            if not any(heir.authored == commit.authored for heir in heirs):
                yield commit


def _unreachable(root: Path, commits: Sequence[str], deadline: Deadline) -> set[str]:
    if not commits:
        return set()
    refs = ("--not", "HEAD", "--branches", "--tags", "--remotes", "--")
    answer = ask_git(root, "rev-list", *commits, *refs, deadline=deadline)
    return set(answer[0].decode("ascii", "replace").split()) & set(commits) if answer and answer[1] else set()


def _whole(prefix: str, ids: Iterable[str]) -> str:
    return next((commit_id for commit_id in ids if prefix and commit_id.startswith(prefix)), prefix)


def _files_of(root: Path, commits: Sequence[str], deadline: Deadline) -> list[str]:
    """Return the files that the commits touched, those of most commits first."""
    if not commits:
        return []
    shape = ("--no-walk=unsorted", "--name-only", "--no-renames", "--no-color", "--no-ext-diff", "--format=", "-z")
    answer = ask_git(root, "-c", "log.showRoot=true", "log", *shape, "--stdin", given=commits, deadline=deadline)
    times: dict[str, int] = {}
    for path in _paths(answer):
        times[path] = times.get(path, 0) + 1
    return sorted(times, key=lambda path: -times[path])


def _written(root: Path, first: float, last: float, deadline: Deadline) -> tuple[list[str], list[str]]:
    """Return the tracked files, and those that git does not know, that were last written in that time."""

    def in_time(path: str) -> bool:
        if deadline.left <= 0:
            return False
        try:
            return first <= os.lstat(root / path).st_mtime <= last
        except (OSError, ValueError):
            return False

    # In the middle of a merge git lists a file several times.
    tracked = [*dict.fromkeys(_paths(ask_git(root, "ls-files", "-z", deadline=deadline)))][:_MOST_LOOKED_AT]
    unknown = _paths(ask_git(root, "ls-files", "-z", "--others", "--exclude-standard", deadline=deadline))
    return [path for path in tracked if in_time(path)], [path for path in unknown[:_MOST_LOOKED_AT] if in_time(path)]


def _differing(root: Path, written: Sequence[str], deadline: Deadline) -> set[str]:
    """Return the files that differ from the last commit. Bytes are compared: git would run configured filters."""
    shape = ("-z", "--name-only", "--no-renames", "--ignore-submodules=all", "--no-ext-diff")
    newer = set(_paths(ask_git(root, "diff-files", *shape, "--", deadline=deadline)))
    staged = set(_paths(ask_git(root, "diff-index", "--cached", *shape, "HEAD", "--", deadline=deadline)))
    doubtful = [path for path in written if path in newer][:MOST_FILES]
    blobs = {}
    if doubtful:
        answer = ask_git(root, "ls-files", "--stage", "-z", "--", *doubtful, deadline=deadline)
        entries = (entry.partition("\t") for entry in _paths(answer))
        blobs = {path: facts.split(" ")[1] for facts, _, path in entries}
    return staged | {path for path in doubtful if not _holds(root / path, blobs.get(path, ""))}


def _holds(path: Path, blob: str) -> bool:
    try:
        data = read_bounded(path, _MOST_COMPARED)
    except OSError:
        return False
    digest = hashlib.sha256 if len(blob) == _SHA256_CHARS else hashlib.sha1
    return digest(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() == blob


def _paths(answer: tuple[bytes, bool] | None) -> list[str]:
    if answer is None:
        return []
    names = answer[0].decode("utf-8", "replace").split("\0")
    return [name.lstrip("\n") for name in names if name.strip("\n")]
