"""The acts of a diff: the lines that staged changes, a range of commits or whole files add and take away, where they
break guards, and how much of the history a guard would have spoken at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from engram_py.base.dataclass import dataclass, field
from engram_py.base.errors import ConflictError
from engram_py.base.files import exists, is_folder, lines_of, read_bounded, readable_path, real_path
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.git.repository import Repository
from engram_py.base.lazy import regex
from engram_py.base.reasons import amount
from engram_py.guidance.guards.expressions import glob
from engram_py.guidance.guards.matching import is_in, is_new, line_test
from engram_py.guidance.guards.values import Found, Guard, NoDiffError

COMMITS = 200
_MOST_DIFF = 64 << 20
_SECONDS = 60.0
_LOOKING_SECONDS = 5.0
_FEW_FILES = 10
_DIFF = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--unified=0",
    "--find-renames",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
# What a branch says of its own files (.gitattributes), or a NUL in them, must not decide whether they are looked at.
_WHATEVER_THEY_SAY = ("--text", "--submodule=short", "--inter-hunk-context=0", "--no-relative")
_HUNK = regex(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPED = regex(r"\\([0-7]{3}|.)")
# Where a runner checked out a commit and no branch.
_BRANCHES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_BRANCH", "BRANCH_NAME")
_PROBES = ("a", "src/b.py", "docs/c/d.md", "e.f")
_LINES = ("}", "x = 1", "a b")

Line = tuple[int, str]


# The text of a file that Git LFS keeps elsewhere, and the mode of a submodule: the diff has a name of what changed.
_POINTER = "version https://git-lfs.github.com/spec/"
_SUBMODULE = " 160000"


@dataclass(slots=True)
class FileChange:
    """A file of a diff, and its lines that are new and gone, each with its number. ``new``: there was none before;
    ``elsewhere``: its text is not in the diff."""

    path: str
    added: list[Line] = field(default_factory=list)
    removed: list[Line] = field(default_factory=list)
    new: bool = False
    elsewhere: bool = False

    def without_moved(self) -> FileChange:
        """Return the same without the lines that stand elsewhere in the file now."""
        new, old = ({line.strip() for _, line in some} for some in (self.added, self.removed))
        added = [(at, line) for at, line in self.added if line.strip() not in old]
        removed = [(at, line) for at, line in self.removed if line.strip() not in new]
        elsewhere = self.elsewhere or any(at == 1 and line.startswith(_POINTER) for at, line in added)
        return FileChange(self.path, added, removed, self.new, elsewhere)


@dataclass(frozen=True, slots=True)
class Changes:
    """What is looked at. ``committed``: it is committed already, so that no branch is guarded against it."""

    files: tuple[FileChange, ...]
    branch: str | None
    committed: bool = False

    def unread(self, guards: Iterable[Guard]) -> tuple[str, ...]:
        """Return the files whose text is not here, of those in which one of the guards looks for a text."""
        within = [guard.within for guard in guards if guard.kind in ("added", "removed")]
        names = (one.path for one in self.files if one.elsewhere)
        return tuple(sorted(name for name in names if any(is_in(name, globs) for globs in within)))


def changes_of(what: Sequence[str], repository: Repository | None, directory: Path, *, staged: bool) -> Changes:
    """Return the changes that are staged, of a range ``A..B``, or the whole of files. Raises NoDiffError."""
    branch = repository.branch if repository else None
    branch = branch or next((os.environ[name] for name in _BRANCHES if os.environ.get(name)), None)
    if staged:
        return Changes(_diffed(repository, "--cached"), branch)
    if len(what) == 1 and ".." in what[0] and not exists(directory / what[0]):
        return Changes(_ranged(repository, what[0]), branch, committed=True)
    root = repository.root if repository else real_path(directory)
    files = (_whole(directory / name, name, root) for name in what)
    return Changes(tuple(one for one in files if one), branch)


def _ranged(repository: Repository | None, span: str) -> tuple[FileChange, ...]:
    """Return what the commits of a range changed: since the point where its two ends parted, where git knows it."""
    first, _, last = span.partition("..")
    if span.startswith("-"):
        raise NoDiffError(span)
    try:
        return _diffed(repository, "--end-of-options", f"{first}...{last.lstrip('.')}")
    except NoDiffError:  # a shallow clone does not
        return _diffed(repository, "--end-of-options", span)


def _diffed(repository: Repository | None, *what: str) -> tuple[FileChange, ...]:
    if repository is None:
        raise NoDiffError(what[-1])
    ask = partial(ask_git, repository.root, "diff", deadline=Deadline(_SECONDS), limit=_MOST_DIFF)
    answer = ask(*_DIFF, *_WHATEVER_THEY_SAY, *what, "--")
    if answer is None:
        raise NoDiffError(what[-1])
    if answer[1]:
        return tuple(parsed(_text(answer[0])))
    listed = ask("--name-only", "--no-renames", "-z", *what, "--")
    if listed is None or not listed[1]:
        raise NoDiffError(what[-1])
    names = [os.fsdecode(name) for name in listed[0].split(b"\0") if name]
    return tuple(change for name in names for change in _alone(name, ask, what))


def _alone(name: str, ask: Callable[..., tuple[bytes, bool] | None], what: Sequence[str]) -> Sequence[FileChange]:
    """Return the change of one file of a diff that is too large as a whole."""
    answer = ask(*_DIFF, *_WHATEVER_THEY_SAY, *what, "--", name)
    if answer is None or not answer[1]:
        return [FileChange(readable_path(name), elsewhere=True)]
    return list(parsed(_text(answer[0])))


def _text(data: bytes) -> str:
    """Return what a file has in ASCII, also as UTF-16: NULs are left out."""
    return data.decode("utf-8", "replace").replace("\0", "")


def _whole(path: Path, name: str, root: Path) -> FileChange | None:
    if is_folder(path) or not exists(path):
        raise NoDiffError(name)
    real = real_path(path)
    below = real.relative_to(root).as_posix() if real.is_relative_to(root) else None
    if below is None:
        return None
    try:
        data = read_bounded(real, _MOST_DIFF)
    except OSError as exc:
        raise NoDiffError(name) from exc
    lines = list(enumerate(lines_of(_text(data)), 1))
    return FileChange(readable_path(below), lines, new=is_new(root, below)).without_moved()


def parsed(diff: str) -> Iterator[FileChange]:
    """Yield the files of a diff in git's form without lines around the changes."""
    change: FileChange | None = None
    left = [0, 0]  # lines of the hunk that are still to come, old and new
    at = [0, 0]
    for line in diff.split("\n"):
        if change is not None and (left[0] or left[1]) and line[:1] in ("-", "+", "\\"):
            side = line[:1] == "+"
            if line[:1] != "\\":
                (change.added if side else change.removed).append((at[side], line[1:].removesuffix("\r")))
                at[side] += 1
                left[side] -= 1
        elif line.startswith("diff --git "):
            if change is not None:
                yield change.without_moved()
            change, left = FileChange(_named(line)), [0, 0]
        elif change is not None and (hunk := _HUNK.match(line)):
            at = [int(hunk[1]), int(hunk[3])]
            left = [int(hunk[2] or 1), int(hunk[4] or 1)]
        elif change is not None and line.startswith("new file mode "):
            change.new, change.elsewhere = True, line.endswith(_SUBMODULE)
        elif change is not None and line.startswith("index ") and line.endswith(_SUBMODULE):
            change.elsewhere = True
        elif change is not None and line.startswith("rename to "):
            change.path = _unquoted(line.removeprefix("rename to "))
        elif change is not None and line.startswith("+++ ") and line != "+++ /dev/null":
            change.path = _unquoted(line[4:].rstrip("\t")).removeprefix("b/")
    if change is not None:
        yield change.without_moved()


def _named(header: str) -> str:
    """Return the file of a ``diff --git a/x b/x`` line: where both names differ, a later line says the new one."""
    text = header.removeprefix("diff --git ")
    return _unquoted(text[: (len(text) - 1) // 2]).removeprefix("a/")


def _unquoted(name: str) -> str:
    """Return a file's name without git's quotes: letters of other scripts stand in them as they are."""
    return _ESCAPED.sub(lambda one: _escape(one[1]), name.strip('"')) if name.startswith('"') else name


def _escape(said: str) -> str:
    return chr(int(said, 8)) if said.isdecimal() else {"n": "\n", "t": "\t"}.get(said, said)


def found_in(guards: Sequence[tuple[int, str, str, Guard]], changes: Changes) -> tuple[Found, ...]:
    """Return where changes break guards, in the order of files and lines."""
    found: list[Found] = []
    for number, title, kind, guard in guards:
        if guard.branch and not (changes.branch and glob(guard.branch).whole(changes.branch)):
            continue
        facts = (number, title, kind, guard.by, guard.use, guard.strict, guard)
        if guard.kind == "branch" and changes.files and not changes.committed:
            found.append(Found("", 0, *facts))
        for change in changes.files:
            found += [Found(change.path, line, *facts) for line in _lines_of(guard, change)]
    return tuple(sorted(found, key=lambda one: (one.file, one.line, one.id)))


def _lines_of(guard: Guard, change: FileChange) -> list[int]:
    """Return the lines of a file that break a guard, 0 for the file as a whole."""
    match guard.kind:
        case "path":
            first = min((at for at, _ in change.added), default=0)
            allowed = change.new and guard.deny != "write"
            return [first] if is_in(change.path, guard.paths) and not allowed else []
        case "added" | "removed":
            if not is_in(change.path, guard.within):
                return []
            test = line_test(guard, most=None)
            return [at for at, line in (change.added if guard.added else change.removed) if test(line)]
    return []


# --- the history -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reach:
    """How many of the files that were changed in the last commits a guard would have spoken at, and of the commits."""

    files: int = 0
    of: int = 0
    hits: int = 0
    commits: int = 0
    everything: bool = False

    def check(self) -> None:
        """Raise ConflictError: it would have spoken at more than half of what was done, or it matches anything."""
        if self.everything or (self.of >= _FEW_FILES and self.files * 2 > self.of):
            share = f"{self.files} of {amount(self.of, 'file')} changed in the last {amount(self.commits, 'commit')}"
            raise ConflictError(
                f"it would have warned at {share}" if self.files else "it would warn at every file",
                hint="make it narrower, for example --in 'src/**' or a more exact --path",
                code="guard_too_wide",
                facts={"files": self.files, "of": self.of, "commits": self.commits},
            )


def reach_of(guard: Guard, repository: Repository | None) -> Reach:
    """Return how often a guard would have spoken in the last 200 commits, and whether it matches anything at all."""
    everything = _matches_anything(guard)
    if guard.kind not in ("path", "added", "removed") or repository is None:
        return Reach(everything=everything)
    hit: set[str] = set()
    every: set[str] = set()
    hits = commits = 0
    for files in history(repository, texts=guard.kind != "path"):
        met = {one.path for one in files if _lines_of(guard, one)}
        every |= {one.path for one in files}
        hit |= met
        hits, commits = hits + bool(met), commits + 1
    return Reach(len(hit), len(every), hits, commits, everything)


def history(
    repository: Repository, *, texts: bool, count: int = COMMITS, seconds: float = _LOOKING_SECONDS
) -> Iterator[list[FileChange]]:
    """Yield the files of each of the last commits that are no merges, the newest first; ``texts``: with their lines."""
    form = ("--patch", *_DIFF) if texts else ("--name-status", "--no-renames")
    arguments = ("log", f"--max-count={count}", "--no-merges", "--format=%x01", *form)
    answer = ask_git(repository.root, *arguments, deadline=Deadline(seconds), limit=_MOST_DIFF)
    for part in (answer[0].decode("utf-8", "replace") if answer else "").split("\x01\n")[1:]:
        named = (line.partition("\t") for line in part.split("\n") if line)
        yield (
            list(parsed(part)) if texts else [FileChange(_unquoted(name), new=state == "A") for state, _, name in named]
        )


def _matches_anything(guard: Guard) -> bool:
    if guard.kind == "path":
        return all(is_in(name, guard.paths) for name in _PROBES)
    if guard.kind not in ("added", "removed"):
        return False
    test = line_test(guard)
    return test("") or all(map(test, _LINES))
