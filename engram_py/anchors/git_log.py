"""What git's log says about a few files: the commits that touched them, and their text before and after each."""

from __future__ import annotations

import codecs
import re
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

from engram_py.anchors.spans import Lines, find_span
from engram_py.anchors.values import Mark
from engram_py.dataclass import dataclass, field
from engram_py.git.program import Deadline, ask_git

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
class Change:
    """What a commit did to a file; ``hunks`` are its changed places with the lines around them, before and after."""

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
        """Return how often a span stands in the changed places before and after."""
        sides = zip(*self.hunks, strict=True) if self.hunks else ((), ())
        before, after = (sum(len(find_span(lines, mark, count)) for lines in side) for side in sides)
        return before, after


@dataclass(slots=True)
class Commit:
    id: str
    parents: tuple[str, ...]
    author: str
    changes: list[Change] = field(default_factory=list)

    @property
    def is_merge(self) -> bool:
        return len(self.parents) > 1


@dataclass(frozen=True, slots=True)
class Log:
    """Commits from HEAD back, newest first; ``complete`` when the last one is the first of the repository."""

    commits: tuple[Commit, ...]
    complete: bool
    _since: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    _by_id: dict[str, Commit] = field(default_factory=dict, compare=False, repr=False)

    def last_touch(self, commit: str, touched: Container[str]) -> Commit | None:
        """Return the first of ``touched`` from ``commit`` back, along first parents; None beyond the list."""
        at = self._commit(commit)
        while at is not None and at.id not in touched:
            at = self._commit(at.parents[0]) if at.parents else None
        return at

    def ancestors(self, commit: str) -> set[str]:
        """``commit`` and those of the listed ones it descends from."""
        known, pending = {commit}, [commit]
        while pending:
            one = self._commit(pending.pop())
            for parent in one.parents if one is not None else ():
                if parent not in known:
                    known.add(parent)
                    pending.append(parent)
        return known

    def commits_since(self, commit: str) -> int:
        """Return how many of them ``commit`` does not know of: 0 for HEAD."""
        if commit not in self._since:
            known = self.ancestors(commit)
            self._since[commit] = sum(1 for one in self.commits if one.id not in known)
        return self._since[commit]

    def _commit(self, commit: str) -> Commit | None:
        if not self._by_id:
            self._by_id.update({one.id: one for one in self.commits})
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


def read_renames(root: Path, commits: Sequence[str], deadline: Deadline) -> dict[str, list[Change]]:
    """Return every file that each commit touched, without its text; a rename is a change of kind ``R``."""
    answer = ask_git(root, *_RENAMES, *commits, "--", deadline=deadline)
    return {one.id: one.changes for one in _parsed(answer[0])} if answer and answer[1] else {}


def read_added(root: Path, head: str, paths: Sequence[str], deadline: Deadline) -> set[str] | None:
    """Return the files among ``paths`` that ``head`` or a commit before it has; None when git does not say."""
    answer = ask_git(root, *_ADDED, head, "--", *paths, deadline=deadline)
    return set(answer[0].decode("utf-8", "replace").split("\0")) if answer and answer[1] else None


def _parsed(out: bytes) -> Iterator[Commit]:
    # The lines of a diff begin with a sign or a space, so a line that begins with \x01 is a commit's.
    for block in re.split(rb"(?:\A|\n)\x01", out)[1:]:
        first, *rest = block.split(b"\n")
        commit = _commit(first)
        _read_changes(commit, iter(rest))
        yield commit


def _read_changes(commit: Commit, lines: Iterator[bytes]) -> None:
    old_name, blobs, changes = b"", list[str](), dict[str, Change]()
    current: Change | None = None
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


def _commit(line: bytes) -> Commit:
    ids, _, author = line.partition(b"\0")
    own, *parents = ids.decode("ascii", "replace").split()
    name = "".join(char for char in author.decode("utf-8", "replace") if char.isprintable())
    return Commit(own, tuple(parents), name[:_AUTHOR_CHARS].strip() or "somebody")


def _change(line: bytes) -> Change:
    facts, _, names = line.partition(b"\t")
    _, _, old_blob, new_blob, kind = facts.decode("ascii", "replace").split()
    first, _, second = names.partition(b"\t")
    old_path = _unquoted(first)
    return Change(_unquoted(second) if second else old_path, kind[:1], old_blob, new_blob, old_path)


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
