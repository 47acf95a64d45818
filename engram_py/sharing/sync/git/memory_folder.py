"""The folder ``.engram/memories`` as the disk has it, and as git has it: who committed a file, where, and when."""

from __future__ import annotations

import secrets
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from engram_py.base.clock import LAST_MILLISECOND
from engram_py.base.dataclass import dataclass, field
from engram_py.base.files import changed_ns, reason, write_atomically
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.git.repository import Repository
from engram_py.sharing.sync.chunk import ChunkRefusedError
from engram_py.sharing.sync.errors import SyncFolderError
from engram_py.sharing.sync.git.folder import (
    NAME,
    ChunkFolder,
    entries,
    file_problem,
    not_written,
    read_file,
    read_text,
)
from engram_py.sharing.sync.git.memory_file import MOST_FILE_BYTES, MemoryFileError

FOLDER = f"{NAME}/memories"
ENDING = ".md"
# The merge driver is registered under this name; where it is not, git joins the files by lines.
DRIVER = "engram"
ATTRIBUTES = f"memories/*{ENDING} -text diff=markdown merge={DRIVER}\n"
# How many files are on the disk, each before it appears; of more, a crash of the machine may lose what the next sync
# writes again.
_MOST_DURABLE = 20
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
_MOST_GIT_BYTES = 64 * 2**20
_MOST_ATTRIBUTES_BYTES = 2**16


class Listed(NamedTuple):
    """A file as the folder lists it. ``problem``: it is no file that can be read."""

    size: int
    changed_ns: int
    problem: str = ""


class MemoryFolder:
    """The readable memories of the repository with the top folder ``root``. What is in it is untrusted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = root / FOLDER
        self._attributes = root / NAME / ".gitattributes"
        self._outer = ChunkFolder(root)
        self._written = 0

    @property
    def exists(self) -> bool:
        return self.path.is_dir() or self.is_shared

    @property
    def is_shared(self) -> bool:
        """Whether git is told of memories here: who takes ``.engram`` away as a whole deletes none of them."""
        return ATTRIBUTES in read_text(self._attributes, _MOST_ATTRIBUTES_BYTES)

    @property
    def changed_ns(self) -> int:
        """When a file was added, replaced or removed last, in nanoseconds, 0 without a folder; an edit in place is not
        seen by it."""
        try:
            return changed_ns(self.path.stat())
        except OSError:
            return 0

    def list(self) -> tuple[dict[str, Listed], list[str]]:
        """Return the files by name, and the names that are no text. Raises SyncFolderError."""
        self._outer.check(self.path)
        found: dict[str, Listed] = {}
        unnamed: list[str] = []
        for name, about in entries(self.path):
            if not name.endswith(ENDING) or name.startswith("."):
                continue
            if not _is_utf8(name):
                unnamed.append(ascii(name)[1:-1])
                continue
            problem = file_problem(about.st_mode)
            if not problem and about.st_size > MOST_FILE_BYTES:
                problem = f"it has {about.st_size:,} bytes; the limit is {MOST_FILE_BYTES:,}"
            found[name] = Listed(about.st_size, changed_ns(about), problem)
        return found, unnamed

    def read(self, name: str) -> bytes:
        """Return the bytes of a file. Raises MemoryFileError."""
        try:
            return read_file(self.path / name, MOST_FILE_BYTES)
        except ChunkRefusedError as exc:
            raise MemoryFileError(str(exc)) from None

    def write(self, name: str, data: bytes) -> Listed:
        """Put a file into the folder in one step. Raises SyncFolderError; then nothing is there that was not before."""
        path = self.path / name
        try:
            if not self._written:
                self._outer.check(self.path)
                self.path.mkdir(parents=True, exist_ok=True)
                said = read_text(self._attributes, _MOST_ATTRIBUTES_BYTES)
                if ATTRIBUTES not in said:
                    write_atomically(self._attributes, f"{said}{ATTRIBUTES}".encode(), mode=0o644)
            write_atomically(path, data, mode=0o644, durable=self._written < _MOST_DURABLE)
            about = path.lstat()
        except OSError as exc:
            raise not_written(path, exc) from exc
        self._written += 1
        return Listed(about.st_size, changed_ns(about))

    def remove(self, name: str) -> None:
        """Raises SyncFolderError."""
        try:
            (self.path / name).unlink(missing_ok=True)
        except OSError as exc:
            raise SyncFolderError(str(self.path), f"{name} cannot be removed ({reason(exc)})") from exc


@dataclass(frozen=True, slots=True)
class Commits:
    """The commits of a file in the history of HEAD: the name that the author of the last one gives themselves, a label
    alone, and when it was made (Unix milliseconds, the author's own; 0 where it is no time). ``ids`` are the commits,
    newest first, and ``blobs`` git's names of the file's bytes after each, empty where it was deleted."""

    milliseconds: int
    author: str
    ids: list[str] = field(default_factory=list)
    blobs: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.blobs)

    @property
    def deletion(self) -> str:
        """The commit that deleted the file last, empty without one."""
        return self.ids[self.blobs.index("")] if "" in self.blobs else ""


class GitView:
    """The folder as git has it. Each question is asked once, when it is needed; without an answer in time it is empty,
    and ``answers`` says so."""

    def __init__(self, repository: Repository, seconds: float) -> None:
        self._repository = repository
        self._deadline = Deadline(seconds)
        self.answers = True

    @cached_property
    def head(self) -> dict[str, str]:
        """The committed files of this branch: git's name of each one's bytes, by file name."""
        return self._tree(self._repository.commit) if self._repository.commit else {}

    @cached_property
    def default(self) -> dict[str, str]:
        """The files of the default branch, where what was reviewed is; where no branch is known to be it, of HEAD in a
        repository without remotes, else none."""
        if self._default is None:
            return {} if self._remotes else self.head
        ref, commit = self._default
        here = self._repository.branch is not None and ref == f"refs/heads/{self._repository.branch}"
        return self.head if here or commit == self._repository.commit else self._tree(commit)

    @cached_property
    def commits(self) -> dict[str, Commits]:
        """The commits of each file that the history of HEAD has, and of those it had."""
        if self._repository.commit is None:
            return {}
        # All of it: of two sides that were merged git leaves the one out whose files were not taken.
        wanted = ("--full-history", "-c", "--no-renames", "--raw", "--no-abbrev", "-z")
        mark = secrets.token_hex(16)  # an author's name may hold any other
        found: dict[str, Commits] = {}
        said = self._ask("log", *wanted, f"--format={mark}%H%x00%at%x00%an", "HEAD", "--", FOLDER)
        for record in said.split(mark)[1:]:
            commit, at, author, *rest = (part.strip("\n") for part in record.split("\0"))
            changes = [part for part in rest if part]
            for about, path in zip(changes[::2], changes[1::2], strict=False):
                last = Commits(_milliseconds(at), author)
                blob = about.split(" ")[-2]  # that after the commit stands before the letters of what it did
                known = found.setdefault(_name(path), last)
                known.ids.append(commit)
                known.blobs.append(blob if blob.strip("0") else "")
        return found

    def is_before(self, commit: str, later: str) -> bool:
        """Return whether a commit is in the history of another."""
        return (
            ask_git(self._repository.root, "merge-base", "--is-ancestor", commit, later, deadline=self._deadline)
            is not None
        )

    @cached_property
    def elsewhere(self) -> dict[str, set[str]]:
        """The files that commits of other branches touch and that of HEAD has not in its history, with git's names of
        the bytes that they have there."""
        wanted = ("--no-renames", "--raw", "--no-abbrev", "-z", "--format=", "--branches", "--remotes", "--not", "HEAD")
        said = self._ask("log", *(wanted if self._repository.commit else wanted[:-2]), "--", FOLDER)
        parts = [part.strip("\n") for part in said.split("\0") if part.strip("\n")]
        found: dict[str, set[str]] = {}
        for about, path in zip(parts[::2], parts[1::2], strict=False):
            found.setdefault(_name(path), set()).add(about.split(" ")[-2])
        return found

    @property
    def is_busy(self) -> bool:
        """Whether a merge, a rebase or the like is not ended: what the folder holds then is of nobody yet."""
        return any((self._repository.git_dir / name).exists() for name in _UNFINISHED)

    @cached_property
    def _default(self) -> tuple[str, str] | None:
        """The default branch and its commit: that of the remote that the person cloned."""
        remote = f"refs/remotes/{self._remote}" if self._remote else ""
        refs = [f"{remote}/{name}" for name in ("HEAD", "main", "master")] if remote else []
        refs += [f"refs/heads/{name}" for name in ("main", "master", "trunk")]
        said = self._ask("for-each-ref", "--format=%(refname) %(objectname)", *refs)
        found = dict(line.split(" ", 1) for line in said.splitlines())
        chosen = next((ref for ref in refs if ref in found), None)
        return (chosen, found[chosen]) if chosen else None

    @cached_property
    def _remote(self) -> str:
        """The remote that the person cloned: that of git's setting ``engram.remote``, ``origin``, or the only one."""
        named = self._ask("config", "--get", "engram.remote", optional=True).strip()
        for name in (named, "origin"):
            if name in self._remotes:
                return name
        return self._remotes[0] if len(self._remotes) == 1 else ""

    @cached_property
    def _remotes(self) -> list[str]:
        return [name for name in self._ask("remote", optional=True).split("\n") if name]

    def _tree(self, commit: str) -> dict[str, str]:
        said = self._ask("ls-tree", "-z", commit, f"{FOLDER}/", optional=True)
        return {name: blob for name, (_, blob) in tree_of(said).items()}

    def _ask(self, *arguments: str, optional: bool = False) -> str:
        asked = ask_git(self._repository.root, *arguments, deadline=self._deadline, limit=_MOST_GIT_BYTES)
        self.answers = self.answers and (optional or asked is not None)
        return asked[0].decode("utf-8", "replace") if asked else ""


def joined_lines(root: Path, base: str, ours: str, theirs: str) -> str | None:
    """Return what git makes of two edits of a text, None where they conflict."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="engram-merge-") as folder:
        paths = [Path(folder) / name for name in ("ours", "base", "theirs")]
        for path, text in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(f"{text}\n".encode())
        if ask_git(root, "merge-file", *map(str, paths), deadline=Deadline(10.0)) is None:
            return None
        return paths[0].read_bytes().decode().removesuffix("\n")


def tree_of(said: str) -> dict[str, tuple[str, str]]:
    """Return mode and git's name of each entry of the folder, by its name, of what ``git ls-tree -z`` said."""
    entries = (entry.partition("\t") for entry in said.split("\0") if entry)
    return {_name(path): (about.split(" ")[0], about.split(" ")[2]) for about, _, path in entries}


def _is_utf8(name: str) -> bool:
    """Return whether a file's name is text: of any other the system gives halves of surrogate pairs."""
    return name.encode("utf-8", "replace").decode() == name


def _milliseconds(seconds: str) -> int:
    """Return a commit's time, 0 where it has none or one that no calendar has."""
    at = int(seconds) * 1000 if seconds.isdecimal() else 0
    return at if at <= LAST_MILLISECOND else 0


def _name(path: str) -> str:
    return path.rpartition("/")[2]
