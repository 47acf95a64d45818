"""Ask git's history about texts that are not where they were: who took them out, when, and where they may be. The log
of a few files gives the commits that touched them, and their text before and after each.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path, PurePosixPath

from engram_py.base.dataclass import asdict, dataclass, field, replace
from engram_py.base.git.answers import GitAnswers
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.git.repository import Repository
from engram_py.memory.anchors.values import Anchor, Mark
from engram_py.memory.anchors.worktree import Lines, find_span

MAX_CONTEXT = 400  # lines around a change that are compared with a span; a longer span is compared by its file
_AUTHOR_CHARS = 40

# Every commit of the walk is listed (`--sparse`), so that they can be counted, and only the files asked about are
# compared, whatever the user's own configuration says a log looks like.
_LOG = (
    "log", "--full-history", "--sparse", "--diff-merges=first-parent", "--raw", "--patch", "--full-index",
    "--no-abbrev", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--no-follow",
    "--ignore-space-at-eol", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/", "--encoding=UTF-8",
    "--format=%x01%H %P%x00%an",
)  # fmt: skip
_RENAMES = (
    "log", "--no-walk=unsorted", "--diff-merges=first-parent", "--raw", "--find-renames", "-l500", "--no-abbrev",
    "--no-color", "--no-follow", "--format=%x01%H %P%x00%an",
)  # fmt: skip
# A root commit adds its files, whatever the user's configuration shows of it.
_ADDED = (
    "-c", "log.showRoot=true", "log", "--full-history", "--diff-merges=first-parent", "--name-only", "--diff-filter=A",
    "--no-renames", "--no-color", "--no-follow", "--format=", "-z",
)  # fmt: skip
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@dataclass(slots=True)
class FileChange:
    """A change of a file by a commit; ``hunks`` are its changed places with the lines around them, before and after."""

    path: str
    kind: str
    old_blob: str
    new_blob: str
    old_path: str
    hunks: list[tuple[Lines, Lines]] = field(default_factory=list)
    binary: bool = False

    @property
    def only_blanks(self) -> bool:
        """Whether nothing but line ends and trailing blanks changed."""
        return self.kind == "M" and not self.hunks and not self.binary

    def copies(self, mark: Mark, count: int) -> tuple[int, int]:
        """Return the number of copies of a span in the changed places, before and after."""
        sides = zip(*self.hunks, strict=True) if self.hunks else ((), ())
        before, after = (sum(len(find_span(lines, mark, count)) for lines in side) for side in sides)
        return before, after


@dataclass(slots=True)
class FileCommit:
    id: str
    parents: tuple[str, ...]
    author: str
    changes: list[FileChange] = field(default_factory=list)

    @property
    def is_merge(self) -> bool:
        return len(self.parents) > 1


@dataclass(frozen=True, slots=True)
class Log:
    """Commits from HEAD back, newest first; ``complete`` when the last one is the first of the repository."""

    commits: tuple[FileCommit, ...]
    complete: bool
    _since: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    _by_id: dict[str, FileCommit] = field(default_factory=dict, compare=False, repr=False)

    def last_touch(self, commit: str, touched: Container[str]) -> FileCommit | None:
        """Return the first of ``touched`` from ``commit`` back, along first parents; None beyond the list."""
        at = self._commit(commit)
        while at is not None and at.id not in touched:
            at = self._commit(at.parents[0]) if at.parents else None
        return at

    def ancestors(self, commit: str) -> set[str]:
        """Return ``commit`` and the listed commits it descends from."""
        reached, pending = {commit}, [commit]
        while pending:
            listed = self._commit(pending.pop())
            for parent in listed.parents if listed is not None else ():
                if parent not in reached:
                    reached.add(parent)
                    pending.append(parent)
        return reached

    def commits_since(self, commit: str) -> int:
        """Return the number of listed commits that are no ancestors of ``commit``: 0 for HEAD."""
        if commit not in self._since:
            ancestors = self.ancestors(commit)
            self._since[commit] = sum(1 for listed in self.commits if listed.id not in ancestors)
        return self._since[commit]

    def _commit(self, commit: str) -> FileCommit | None:
        if not self._by_id:
            self._by_id.update({listed.id: listed for listed in self.commits})
        return self._by_id.get(commit)


def read_log(root: Path, head: str, paths: Sequence[str], *, context: int, most: int, deadline: Deadline) -> Log | None:
    """Return the last ``most`` commits before ``head`` with what they did to ``paths``; None when git does not say."""
    size = (f"--unified={context}", f"--max-count={most}")
    answer = ask_git(root, *_LOG, *size, head, "--", *paths, deadline=deadline)
    if answer is None:
        return None
    out, whole = answer
    commits = list(_parsed(out))
    if not whole and commits:
        commits.pop()  # cut somewhere in its middle
    return Log(tuple(commits), whole and len(commits) < most)


def read_renames(root: Path, commits: Sequence[str], deadline: Deadline) -> dict[str, list[FileChange]]:
    """Return every file that each commit touched, without its text; a rename is a change of kind ``R``."""
    answer = ask_git(root, *_RENAMES, *commits, "--", deadline=deadline)
    return {commit.id: commit.changes for commit in _parsed(answer[0])} if answer and answer[1] else {}


def read_added(root: Path, head: str, paths: Sequence[str], deadline: Deadline) -> set[str] | None:
    """Return the files among ``paths`` that ``head`` or a commit before it has; None when git does not say."""
    answer = ask_git(root, *_ADDED, head, "--", *paths, deadline=deadline)
    return set(answer[0].decode("utf-8", "replace").split("\0")) if answer and answer[1] else None


def _parsed(out: bytes) -> Iterator[FileCommit]:
    # The lines of a diff begin with a sign or a space, so a line that begins with \x01 is a commit's.
    for block in re.split(rb"(?:\A|\n)\x01", out)[1:]:
        first, *rest = block.split(b"\n")
        commit = _commit(first)
        _read_changes(commit, iter(rest))
        yield commit


def _read_changes(commit: FileCommit, lines: Iterator[bytes]) -> None:
    old_name, blobs, changes = b"", list[str](), dict[str, FileChange]()
    current: FileChange | None = None
    for line in lines:
        if line.startswith(b":"):
            change = _change(line)
            commit.changes.append(change)
            changes[change.path] = change
        elif line.startswith(b"index "):
            blobs = line[6:].split()[0].decode("ascii", "replace").split("..")
        elif line.startswith(b"Binary files "):
            for change in commit.changes:
                change.binary = change.binary or [change.old_blob, change.new_blob] == blobs
        elif line.startswith(b"--- "):
            old_name = line[4:]
        elif line.startswith(b"+++ "):
            name = line[4:] if line != b"+++ /dev/null" else old_name
            current = changes.get(_unquoted(name.removesuffix(b"\t"))[2:])
        elif current is not None and (hunk := _HUNK.match(line)):
            current.hunks.append(_hunk(lines, *(int(size) if size else 1 for size in hunk.groups())))


def _commit(line: bytes) -> FileCommit:
    ids, _, author = line.partition(b"\0")
    own, *parents = ids.decode("ascii", "replace").split()
    name = "".join(char for char in author.decode("utf-8", "replace") if char.isprintable())
    return FileCommit(own, tuple(parents), name[:_AUTHOR_CHARS].strip() or "somebody")


def _change(line: bytes) -> FileChange:
    facts, _, names = line.partition(b"\t")
    _, _, old_blob, new_blob, kind = facts.decode("ascii", "replace").split()
    first, _, second = names.partition(b"\t")
    old_path = _unquoted(first)
    return FileChange(_unquoted(second) if second else old_path, kind[:1], old_blob, new_blob, old_path)


def _hunk(lines: Iterator[bytes], old: int, new: int) -> tuple[Lines, Lines]:
    """Return the lines of a hunk on each side. The sizes say where it ends: a removed line may look like a header."""
    before, after = Lines(), Lines()
    while len(before) < old or len(after) < new:
        line = next(lines, None)
        if line is None:
            break
        text = line[1:].rstrip(b" \t\r")
        if line[:1] in (b" ", b"-"):
            before.append(text)
        if line[:1] in (b" ", b"+"):
            after.append(text)
    return before, after


def _unquoted(name: bytes) -> str:
    """Return a path as git prints it; one with quotes, backslashes or control characters comes quoted as in C."""
    if name.startswith(b'"') and name.endswith(b'"'):
        name = codecs.escape_decode(name[1:-1])[0]
    return name.decode("utf-8", "replace")


Touched = Mapping[str, Sequence[FileChange]]

# The newest commits first: nearly every change that anybody asks about is among them.
_DEPTHS = (256, 4_096)
_NAMES_FOLLOWED = 8
_MOST_PATHS = 100
MOST_CANDIDATES = 12


class NoCommit(Enum):
    """The reason that no commit is named."""

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
    """The fate of one text in git's history. ``path`` is what its file was called last, ``candidates`` are files that
    the
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
    """Return the traces of the texts of ``anchors``, by the anchor's id, in a few questions to git for all of them."""
    head = repository.commit
    if head is None:
        return {anchor.id: Trace(anchor.path, uncommitted=True) for anchor in anchors}
    keys = {anchor.id: _key(anchor) for anchor in anchors}

    def ask(missing: Sequence[str]) -> dict[str, str]:
        told: dict[str, str] = {}
        for some in _by_paths([anchor for anchor in anchors if keys[anchor.id] in missing]):
            traced = _follow(repository, head, some, deadline)
            if traced is None:
                break
            told |= {keys[anchor_id]: json.dumps(asdict(traced[anchor_id])) for anchor_id in traced}
        return told

    questions = [*dict.fromkeys(keys.values())]
    answered = answers.ask(repository, head, questions, kind="trace", deadline=deadline, git=ask)
    return {
        anchor.id: _from_json(answered[key]) if (key := keys[anchor.id]) in answered else Trace(anchor.path)
        for anchor in anchors
    }


def _by_paths(anchors: Sequence[Anchor]) -> Iterator[list[Anchor]]:
    """Yield the anchors in groups whose file names fit on one command line."""
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
        ends = {anchor_id: file_deleted_by(log, paths[anchor_id]) for anchor_id, (_, log) in events.items()}
        left = {
            end.id
            for anchor_id, (event, _) in events.items()
            for end in (event, ends[anchor_id])
            if isinstance(end, FileCommit)
        }
        touched = read_renames(repository.root, sorted(left), deadline) if left else {}
        for anchor_id, (event, log) in events.items():
            traces[anchor_id] = _ended(_seen(traces[anchor_id], event, log, touched), ends[anchor_id], log, touched)
        open_ends = [anchor for anchor in open_ends if _renamed(traces, anchor, ends.get(anchor.id), touched)]
        if not open_ends:
            return traces
    for anchor in open_ends:  # renamed more often than anybody follows: who changed it stays unsaid
        traces[anchor.id] = Trace(traces[anchor.id].path)
    return traces


def _seen(traced: Trace, event: FileCommit | NoCommit, log: Log, touched: Touched) -> Trace:
    """Return the trace with what the history of one name of the file tells."""
    if event is NoCommit.PRESENT:  # so an earlier name of the file lost it by the renaming alone
        return Trace(traced.path, uncommitted=True)
    if not isinstance(event, FileCommit):
        return traced
    candidates = _candidates(touched.get(event.id, ()), traced.path)
    return Trace(traced.path, changed_by=_event(event, log), candidates=candidates)


def _ended(traced: Trace, end: FileCommit | NoCommit, log: Log, touched: Touched) -> Trace:
    """Return the trace with what became of the file; a commit whose renames are unknown deleted nothing for sure."""
    deleted_by = _event(end, log) if isinstance(end, FileCommit) and end.id in touched else None
    return replace(traced, deleted_by=deleted_by, present=end is NoCommit.PRESENT)


def _event(commit: FileCommit, log: Log) -> FileEvent:
    return FileEvent(commit.id, commit.author, log.commits_since(commit.id))


def _renamed(traces: dict[int, Trace], anchor: Anchor, end: FileCommit | NoCommit | None, touched: Touched) -> bool:
    """Return whether the commit that removed the file only renamed it; the trace goes on under the new name then."""
    traced = traces[anchor.id]
    for change in touched.get(end.id, ()) if isinstance(end, FileCommit) else ():
        if change.kind == "R" and change.old_path == traced.path:
            traces[anchor.id] = replace(traced, path=change.path, deleted_by=None)
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
) -> dict[int, tuple[FileCommit | NoCommit, Log]] | None:
    events: dict[int, tuple[FileCommit | NoCommit, Log]] = {}
    pending = list(anchors)
    for most in _DEPTHS:
        names = sorted({paths[anchor.id] for anchor in pending})
        context = min(MAX_CONTEXT, max((anchor.lines or 0 for anchor in pending), default=0))
        log = read_log(repository.root, head, names, context=context, most=most, deadline=deadline)
        if log is None:
            return None
        for anchor in pending:
            events[anchor.id] = text_removed_by(log, paths[anchor.id], anchor, was_here=was_here), log
        pending = [anchor for anchor in pending if events[anchor.id][0] is NoCommit.BEYOND_LOG]
        if not pending or log.complete:
            break
    return events


def _candidates(changes: Sequence[FileChange], path: str) -> tuple[str, ...]:
    """Return the files a commit wrote besides ``path``, the likeliest new places first."""
    old = PurePosixPath(path)
    likely = [
        change for change in changes if change.kind != "D" and change.path != path and change.path.endswith(old.suffix)
    ]

    def rank(change: FileChange) -> tuple[bool, bool, bool, str]:
        new = PurePosixPath(change.path)
        return new.name != old.name, change.kind == "M", new.parent != old.parent, change.path

    return tuple(change.path for change in sorted(likely, key=rank)[:MOST_CANDIDATES])


def _key(anchor: Anchor) -> str:
    facts = (anchor.path, anchor.start_line, anchor.end_line, anchor.digest, anchor.blob, anchor.git_commit)
    return "trace:" + hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def _from_json(text: str) -> Trace:
    values = json.loads(text)
    events = {name: FileEvent(**values[name]) if values[name] else None for name in ("changed_by", "deleted_by")}
    return Trace(**values | events | {"candidates": tuple(values["candidates"])})


def text_removed_by(log: Log, path: str, anchor: Anchor, *, was_here: bool = True) -> FileCommit | NoCommit:
    """Return the newest commit that took the text of ``anchor`` out of ``path``, and with it from what is checked out.

    Compares what the changed places said before and after, not line numbers, so it holds across merges and rebases.
    A merge counts only where no commit that it merged explains the change. ``was_here``: the text was read in this
    file once, so where no commit shows it, that says something too.
    """
    merge: FileCommit | None = None
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


def file_deleted_by(log: Log, path: str) -> FileCommit | NoCommit:
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
        deleted = (commit for commit in merged if commit is not None and changes[commit.id] == "D")
        deeper = next((commit for commit in deleted if commit.id not in before), None)
        if deeper is None:
            return at if log.complete or None not in merged else NoCommit.BEYOND_LOG
        at = deeper
    return at


def _without_event(log: Log, path: str, anchor: Anchor) -> FileCommit | NoCommit:
    """Return the first later commit of the file where none took the text out, or the reason that none is named."""
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


def _touching(log: Log, path: str) -> Iterator[tuple[FileCommit, FileChange]]:
    for commit in log.commits:
        for change in commit.changes:
            if change.path == path:
                yield commit, change


def _copies(change: FileChange, anchor: Anchor, blobs: set[str | None]) -> tuple[int, int]:
    if anchor.lines is not None and anchor.mark is not None:
        return change.copies(anchor.mark, anchor.lines)
    return int(change.old_blob in blobs), int(change.new_blob in blobs)


def _same_text(log: Log, path: str, blob: str | None) -> set[str | None]:
    """Return ``blob``, and the blobs that commits made of it by changing only blanks."""
    same: set[str | None] = {blob} if blob else set()
    for _, change in reversed([*_touching(log, path)]):
        if change.only_blanks and change.old_blob in same:
            same.add(change.new_blob)
    return same
