"""Files of a working tree as anchors need them: named when an observation is saved, read later by their path
alone. Hashes recognise a piece of text: in its own lines, in other lines of its file, in another file.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from zlib import crc32

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass
from engram_py.base.files import exists, expanded, read_bounded, reason
from engram_py.base.git.answers import TrackedFiles, tracked_files
from engram_py.base.git.repository import Repository, find_repository
from engram_py.base.lazy import regex
from engram_py.memory.anchors.values import PATH_LIMIT_CHARS, Mark
from engram_py.memory.projects.projects import Identities, Projects

_BOM = b"\xef\xbb\xbf"
# A file of nothing but closing brackets has a copy of `}` on every line; more of them than this tell nothing more.
MOST_COPIES = 256


class Lines(list[bytes]):
    """The lines of a file. Looking for a second span among them is quicker than for the first."""

    _asked = False

    @cached_property
    def by_probe(self) -> dict[str, list[int]]:
        """The indexes of equal lines, by what follows the offset in the probe of a span that has one."""
        indexes: dict[str, list[int]] = {}
        for at, line in enumerate(self):
            indexes.setdefault(_probe(line), []).append(at)
        return indexes

    def like(self, probe: str) -> Sequence[int]:
        """Return the indexes of the lines that a probe may mean."""
        if self._asked:
            return self.by_probe.get(probe, ())
        self._asked = True
        return _like(self, probe)


def normal_lines(data: bytes) -> Lines:
    """Return the lines of a file without what editors change: line ends, trailing blanks, a byte order mark."""
    data = data.removeprefix(_BOM)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if b" \n" in data or b"\t\n" in data or data.endswith((b" ", b"\t")):
        return Lines(line.rstrip(b" \t") for line in lines)
    return Lines(lines)


def digest_of(lines: Sequence[bytes]) -> str:
    return raw_digest(b"\n".join(lines).rstrip(b"\n"))


def raw_digest(data: bytes) -> str:
    import hashlib

    return hashlib.blake2b(data, digest_size=16).hexdigest()


def mark_span(lines: Sequence[bytes], start: int, end: int) -> Mark:
    """Return the mark that finds lines ``start`` to ``end`` (from 1, both included, within the file) again."""
    span = lines[start - 1 : end]
    sizes = Counter(map(len, lines))
    # To be found quickly: the line whose length the fewest others have, a long one among several such.
    offset = min(range(len(span)), key=lambda at: (sizes[len(span[at])], -len(span[at])))
    probe = f"{offset}.{_probe(span[offset])}"
    places = find_span(lines, Mark(digest_of(span), probe), len(span))
    here = start - 1
    return Mark(digest_of(span), probe, max(1, len(places)), places.index(here) if here in places else 0)


def find_span(lines: Sequence[bytes], mark: Mark, count: int) -> list[int]:
    """Return the indexes at which ``count`` lines are the marked ones, in order."""
    if mark.probe is None:
        return []
    offset, _, probe = mark.probe.partition(".")
    likely = lines.like(probe) if isinstance(lines, Lines) else _like(lines, probe)
    firsts = (at - int(offset) for at in likely[:MOST_COPIES])
    return [first for first in firsts if _is_at(lines, mark, first, count)]


def place_of(lines: Sequence[bytes], mark: Mark, start: int, count: int) -> int | None:
    """Return the line (from 1) at which the marked span stands now; None where it is gone or one of several copies."""
    here = start - 1
    places = find_span(lines, mark, count)
    if len(places) == mark.copies and mark.copies > 1:
        return places[mark.ordinal] + 1
    if here in places or _is_at(lines, mark, here, count):
        return start
    if not places or len(places) < mark.copies:
        return None
    return min(places, key=lambda at: (abs(at - here), at)) + 1


def _probe(line: bytes) -> str:
    return f"{len(line)}.{crc32(line)}"


def _like(lines: Sequence[bytes], probe: str) -> list[int]:
    length, checksum = map(int, probe.split("."))
    indexes: list[int] = []
    for at, size in enumerate(map(len, lines)):
        # The length first: it costs nothing and rules out nearly every line.
        if size == length and crc32(lines[at]) == checksum:
            indexes.append(at)
            if len(indexes) >= MOST_COPIES:
                break
    return indexes


def _is_at(lines: Sequence[bytes], mark: Mark, first: int, count: int) -> bool:
    return first >= 0 and first + count <= len(lines) and digest_of(lines[first : first + count]) == mark.digest


def distinctive(lines: Sequence[bytes]) -> bool:
    """Return whether a span says enough to know it again in another file: ``return None`` stands in every file."""
    stripped = [line.strip() for line in lines]
    return sum(1 for line in stripped if len(line) > 3) >= 3 and sum(map(len, stripped)) >= 60


# Reading, hashing, splitting and searching this much takes about three milliseconds. What people write is smaller;
# what is larger was generated.
MAX_FILE = 512 << 10
_MOST_HELD = 32 << 20
_BINARY_HEAD = 8_000  # as git looks for a NUL
_DRIVE, _DRIVE_ROOT = regex(r"[A-Za-z]:"), regex(r"[A-Za-z]:/")

MISSING = "no such file"
DIRECTORY = "a directory"
SPARSE = "left out by the sparse checkout"
NO_SUBMODULE = "in a submodule that is not checked out"
OUTSIDE = "outside the repository"


class Content:
    """The bytes of a file that was read."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def digest(self) -> str:
        return raw_digest(self.data)

    @cached_property
    def lines(self) -> Lines:
        return normal_lines(self.data)

    @cached_property
    def text_digest(self) -> str:
        """The digest of its lines."""
        return digest_of(self.lines)

    @property
    def binary(self) -> bool:
        return b"\0" in self.data[:_BINARY_HEAD]

    def blobs(self, *, sha256: bool) -> tuple[str, ...]:
        """Return the blob ids that git may have for this file: as it stands here, and with git's own line ends."""
        import hashlib

        plain = self.data.replace(b"\r\n", b"\n") if b"\r\n" in self.data else self.data
        texts = (self.data,) if plain is self.data else (self.data, plain)
        make = hashlib.sha256 if sha256 else hashlib.sha1  # not for security: it is git's name of a file
        return tuple(make(b"blob %d\0" % len(text) + text).hexdigest() for text in texts)


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that was not read, and why; ``missing`` when there is none. ``blob`` is what git tracks in its place."""

    reason: str
    missing: bool = False
    blob: str | None = None


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A named file of a repository: the checkout it was found in and its path there."""

    root: Path
    path: str


class WorkingTree:
    """The files of a checkout, each read once for as long as this lives."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.root = str(repository.root)
        self._read: dict[str, Content | Unread] = {}
        self._held = 0

    def read(self, path: str) -> Content | Unread:
        """Return the file at ``path``; never one outside of the root, whatever a symlink or an imported path says."""
        file = self._read.get(path)
        if file is None:
            file = _read(self.root, path)
            if isinstance(file, Unread) and file.missing:
                file = self._left_out(path) or file
            self._held += len(file.data) if isinstance(file, Content) else 0
            if self._held > _MOST_HELD:
                self._read.clear()
                self._held = 0
            self._read[path] = file
        return file

    @cached_property
    def tracked(self) -> TrackedFiles | None:
        """Return the files that git tracks here."""
        return tracked_files(self._repository)

    def is_nested(self, path: str) -> bool:
        """Return whether ``path`` lies in another repository below this one, a submodule or not."""
        folders = (path[:at] for at, char in enumerate(path) if char == "/")
        return any(os.path.lexists(f"{self.root}/{folder}/.git") for folder in folders)

    def is_linked(self, path: str) -> bool:
        """Return whether what is read at ``path`` stands under another name."""
        here = f"{self.root}{os.sep}{path}"
        return os.path.realpath(here) != os.path.normpath(here)

    def _left_out(self, path: str) -> Unread | None:
        """Return why a file that git has is not in the working tree although nobody deleted it."""
        if self.tracked is None:
            sparse = exists(self._repository.git_dir / "info" / "sparse-checkout")
            return Unread(SPARSE) if sparse else None
        if any(path.startswith(f"{submodule}/") and not self.is_nested(path) for submodule in self.tracked.submodules):
            return Unread(NO_SUBMODULE)
        file = self.tracked.get(path)
        return Unread(SPARSE, blob=file.blob) if file is not None and file.skipped else None


class CurrentRepository:
    """The repository of this process's directory, its files, and the project it belongs to; found out once per call."""

    def __init__(self, store: Store, journal: Journal, projects: Projects) -> None:
        location = projects.settings_here()
        repository = location.repository
        self._projects = projects
        self.directory: Path = location.directory
        self.repository: Repository | None = None if repository is None or repository.bare else repository
        self.tree = None if self.repository is None else WorkingTree(self.repository)
        named = self.repository is not None and location.name is not None
        self._own = Identities(store, journal).owner(location) if named else None

    @cached_property
    def names(self) -> frozenset[str]:
        """The projects whose code this is: the repository's own, and the one that ``--project`` says it is."""
        if self.repository is None:
            return frozenset()
        place = self._projects.for_read()
        override = place.project if place.source == "override" else None
        return frozenset(name for name in (self._own, override) if name)

    def repository_of(self, project: str) -> Repository | None:
        """Return the repository here, when ``project`` is its project."""
        return self.repository if self._is_here(project) else None

    def tree_of(self, project: str) -> WorkingTree | None:
        """Return the files here, when they are those of ``project``."""
        return self.tree if self._is_here(project) else None

    def _is_here(self, project: str) -> bool:
        return self.repository is not None and (project == self._own or project in self.names)


def read_file(root: Path, path: str) -> Content | Unread:
    """Return one file of a working tree, as ``WorkingTree`` reads it."""
    return _read(str(root), path)


def _read(root: str, path: str) -> Content | Unread:
    if not is_relative(path):
        return Unread(OUTSIDE)
    try:
        real = os.path.realpath(f"{root}{os.sep}{path}")
        mode = os.stat(real)  # noqa: PTH116 (a string: this runs for every hit that is shown)
    except (FileNotFoundError, NotADirectoryError):
        return Unread(MISSING, missing=True)
    except (OSError, ValueError) as exc:
        return Unread(reason(exc) if isinstance(exc, OSError) else "not a path")
    if not _inside(real, root):
        return Unread(OUTSIDE)
    if not stat.S_ISREG(mode.st_mode):
        return Unread(DIRECTORY if stat.S_ISDIR(mode.st_mode) else "not a regular file")
    if mode.st_size > MAX_FILE:
        return Unread(f"larger than {MAX_FILE >> 10} KB")
    try:
        return Content(read_bounded(real, MAX_FILE))
    except FileNotFoundError:
        return Unread(MISSING, missing=True)
    except OSError as exc:
        return Unread(reason(exc))


def place_file(name: str, directory: Path, repository: Repository) -> PlacedFile | Unread:
    """Return the place of ``name``, relative to ``directory`` or to the root, in the repository or a worktree of it."""
    text = slashed(name)
    if not text or not is_path(text):
        return Unread("not a path")
    if os.name != "nt" and _names_a_drive(text):
        return Unread(OUTSIDE)
    bases = dict.fromkeys((directory, repository.root))
    tried = [os.path.normpath(base / expanded(text)) for base in bases]
    for path in tried:
        if placed := _existing(Path(path), repository):
            return placed
    root = str(repository.root)
    inside = [path for path in tried if _inside(path, root) and path != root]
    if not inside:
        return Unread(OUTSIDE)
    return _checked(PlacedFile(repository.root, _posix(inside[-1], root)))


def is_path(text: str) -> bool:
    """Return whether a text can name a file at all, and be stored as a name."""
    return len(text) <= PATH_LIMIT_CHARS and text.isprintable() and text.encode("utf-8", "replace").decode() == text


def is_relative(path: str) -> bool:
    """Return whether ``path`` is one below a root, as far as its letters tell."""
    parts = path.split("/")
    return is_path(path) and not path.startswith("/") and ".." not in parts and not _names_a_drive(path)


def _names_a_drive(path: str) -> bool:
    """Return whether a path begins with a drive. Off Windows `a:b.py` is a plain name, and `C:/Users` is not."""
    return (_DRIVE if os.name == "nt" else _DRIVE_ROOT).match(path) is not None


def slashed(name: str) -> str:
    """Return a path as repositories write it, with slashes and without a leading ``./``."""
    text = name.strip().replace("\\", "/").removeprefix("file://")
    while text.startswith("./"):
        text = text[2:].lstrip("/")
    return text


def _existing(path: Path, repository: Repository) -> PlacedFile | Unread | None:
    if not exists(path):
        # A symlink that leads nowhere, or in a circle, is there all the same.
        return None
    real = os.path.realpath(path)
    root = str(_checkout_of(Path(real), repository))
    if not _inside(real, root) or real == root:
        return Unread("the repository itself" if real == root else OUTSIDE)
    return _checked(PlacedFile(Path(root), _posix(real, root)))


def _checkout_of(path: Path, repository: Repository) -> Path:
    """Return the root of the checkout that holds ``path``: the repository's own, or that of another worktree of it."""
    for folder in path.parents:
        if folder == repository.root:
            break
        if exists(folder / ".git"):
            other = find_repository(folder)
            if other is not None and other.common_dir == repository.common_dir:
                return other.root
    return repository.root


def _checked(placed: PlacedFile) -> PlacedFile | Unread:
    return Unread("inside .git") if PurePosixPath(placed.path).parts[:1] == (".git",) else placed


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root if root.endswith(os.sep) else root + os.sep)


def _posix(path: str, root: str) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")
