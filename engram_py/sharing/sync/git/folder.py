"""The folder ``.engram``: chunks, signatures, manifest, and what git has of them. Its content is untrusted.

No link in it is followed, reads are bounded, and files are replaced in one step.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path

from engram_py.base.dataclass import dataclass
from engram_py.base.files import reason, write_atomically
from engram_py.base.git.program import Deadline, ask_git
from engram_py.memory.privacy.signatures import MOST_SIGNATURE_BYTES
from engram_py.sharing.sync.chunk import (
    ID,
    MOST_PACKED_BYTES,
    About,
    ChunkRefusedError,
    is_whole,
    manifest_text,
    recovered_manifest,
)
from engram_py.sharing.sync.errors import SyncFolderError
from engram_py.sharing.sync.git.table import Uncommitted
from engram_py.sharing.sync.sealing import Parameters

NAME = ".engram"
PLAIN, SEALED, SIGNATURE = ".jsonl.gz", ".enc", ".sig"
_MOST_MANIFEST_BYTES = 32 * 2**20
_MOST_PARAMETERS_BYTES = 4096
_PART = ".engram-part-"
_PART_SECONDS = 3600  # a part of a file that is older than this is nobody's any more
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)

# The manifest only repeats what the chunks say: git joins two of them by line, and the next sync puts them in order.
ATTRIBUTES = """\
# Written by engram sync. A manifest that git joined is put in order by the next sync.
manifest.json text eol=lf merge=union
chunks/*.jsonl.gz binary
chunks/*.enc binary
chunks/*.sig text eol=lf
"""


@dataclass(frozen=True, slots=True)
class ChunkFile:
    """A chunk's file as the folder lists it. ``problem``: it is no file that can be read."""

    name: str
    sealed: bool
    size: int
    signature_size: int = 0
    problem: str = ""

    @property
    def file(self) -> str:
        return self.name + (SEALED if self.sealed else PLAIN)


class ChunkFolder:
    """The chunk files of the repository with the top folder ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = root / NAME
        self.chunks = self.path / "chunks"

    @property
    def exists(self) -> bool:
        return self.chunks.is_dir()

    def check(self, *more: Path) -> None:
        """Raises SyncFolderError: a part of the folder is a link, which may lead anywhere, or no folder."""
        for path in (self.path, self.chunks, *more):
            try:
                mode = path.lstat().st_mode
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as exc:
                raise SyncFolderError(str(path), f"it cannot be looked at ({reason(exc)})") from exc
            if stat.S_ISLNK(mode) or getattr(path, "is_junction", bool)():
                raise SyncFolderError(str(path), "it is a link to another place")
            if not stat.S_ISDIR(mode):
                raise SyncFolderError(str(path), "it is not a folder")

    def list(self) -> dict[str, ChunkFile]:
        """Return the chunks by name; what has the ending of one and is none is listed with its problem."""
        files = [(*_split(name), about) for name, about in entries(self.chunks)]
        signatures = {name: about.st_size for name, ending, about in files if ending == SIGNATURE}
        found: dict[str, ChunkFile] = {}
        for name, ending, about in files:
            if ending not in (PLAIN, SEALED):
                continue
            problem, key = file_problem(about.st_mode), name
            if not ID.fullmatch(name):
                key, problem = _printable(name + ending), "its name is not a hash"
            elif name in found:
                problem = "there is a plain and a sealed chunk of this name"
            elif not problem and about.st_size > MOST_PACKED_BYTES:
                problem = f"it has {about.st_size:,} bytes; the limit is {MOST_PACKED_BYTES // 2**20} MiB"
            found[key] = ChunkFile(key, ending == SEALED, about.st_size, signatures.get(name, 0), problem)
        return dict(sorted(found.items()))

    def read(self, chunk: ChunkFile) -> bytes:
        """Return the bytes of a chunk's file. Raises ChunkRefusedError."""
        if chunk.problem:
            raise ChunkRefusedError(chunk.problem)
        return read_file(self.chunks / chunk.file, MOST_PACKED_BYTES)

    def read_signature(self, name: str) -> bytes | None:
        """Return the signature file of a chunk, None without one. Raises ChunkRefusedError."""
        path = self.chunks / f"{name}{SIGNATURE}"
        if not os.path.lexists(path):
            return None
        try:
            return read_file(path, MOST_SIGNATURE_BYTES)
        except ChunkRefusedError as exc:
            raise ChunkRefusedError(f"its signature cannot be read: {exc}") from None

    def signature_size(self, name: str) -> int:
        """Return the size of a chunk's signature file in bytes."""
        try:
            return (self.chunks / f"{name}{SIGNATURE}").lstat().st_size
        except OSError:
            return 0

    def write(self, name: str, data: bytes, *, sealed: bool) -> None:
        """Put a chunk into the folder. Raises SyncFolderError; then nothing is there that was not there before."""
        self._put(self.chunks / (name + (SEALED if sealed else PLAIN)), data)

    def write_signature(self, name: str, data: bytes) -> None:
        self._put(self.chunks / f"{name}{SIGNATURE}", data)

    # --- what describes the chunks ----------------------------------------------------------------------

    def manifest(self) -> tuple[dict[str, About], bool]:
        """Return the readable entries of the manifest, and whether all of it is readable."""
        text = read_text(self.path / "manifest.json", _MOST_MANIFEST_BYTES)
        return recovered_manifest(text), is_whole(text)

    def write_manifest(self, chunks: Mapping[str, About]) -> None:
        """Make the manifest say what there is, and tell git how to join two of them."""
        text, path = manifest_text(chunks), self.path / "manifest.json"
        if text != read_text(path, _MOST_MANIFEST_BYTES):
            self._put(path, text.encode())
        if not os.path.lexists(self.path / ".gitattributes"):
            self._put(self.path / ".gitattributes", ATTRIBUTES.encode())

    def parameters(self) -> Parameters | None:
        """Return the encryption parameters of the folder, None when it is not encrypted.

        Raises SyncFolderError: it says so, and not in a way that can be used.
        """
        path = self.path / "encryption.json"
        if not os.path.lexists(path):
            return None
        try:
            return Parameters.from_json(json.loads(read_file(path, _MOST_PARAMETERS_BYTES)))
        except (ChunkRefusedError, ValueError, RecursionError) as exc:
            raise SyncFolderError(str(path), f"how the folder is encrypted cannot be read: {exc}") from exc

    def write_parameters(self, parameters: Parameters) -> None:
        self._put(self.path / "encryption.json", (json.dumps(parameters.to_json(), indent=1) + "\n").encode())

    # --- writing ----------------------------------------------------------------------------------------

    def _put(self, path: Path, data: bytes) -> None:
        self.check()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data, mode=0o644, prefix=_PART)
            _sync_folder(path.parent)
        except OSError as exc:
            raise not_written(path, exc) from exc

    def sweep(self) -> None:
        """Remove what a write left that was killed long ago."""
        for folder in (self.path, self.chunks):
            with contextlib.suppress(OSError):
                for part in folder.glob(f"{_PART}*"):
                    if time.time() - part.lstat().st_mtime > _PART_SECONDS:
                        part.unlink()


def entries(folder: Path) -> list[tuple[str, os.stat_result]]:
    """Return the name and status of each file of a folder; a missing folder has none. Raises SyncFolderError."""
    found: list[tuple[str, os.stat_result]] = []
    try:
        with os.scandir(folder) as listed:
            for entry in listed:
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                    found.append((entry.name, entry.stat(follow_symlinks=False)))
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise SyncFolderError(str(folder), f"it cannot be read ({reason(exc)})") from exc
    return found


def not_written(path: Path, exc: OSError) -> SyncFolderError:
    full = exc.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None))
    why = "no space is left" if full else f"{path.name} cannot be written ({reason(exc)})"
    return SyncFolderError(str(path.parent), why)


def read_file(path: Path, limit: int) -> bytes:
    """Return the bytes of a regular file. Raises ChunkRefusedError with what it is instead."""
    try:
        mode = path.lstat().st_mode
        if problem := file_problem(mode):
            raise ChunkRefusedError(problem)
        with os.fdopen(os.open(path, _READ), "rb") as file:
            if problem := file_problem(os.fstat(file.fileno()).st_mode):
                raise ChunkRefusedError(problem)
            data = file.read(limit + 1)
    except OSError as exc:
        raise ChunkRefusedError(f"it cannot be read ({reason(exc)})") from exc
    if len(data) > limit:
        raise ChunkRefusedError(f"it has more than {limit:,} bytes")
    return data


def read_text(path: Path, limit: int) -> str:
    """Return the text of a regular file, empty where it cannot be read."""
    try:
        return read_file(path, limit).decode("utf-8", "replace")
    except ChunkRefusedError:
        return ""


def file_problem(mode: int) -> str:
    if stat.S_ISREG(mode):
        return ""
    if stat.S_ISLNK(mode):
        return "it is a symbolic link"
    return "it is a folder" if stat.S_ISDIR(mode) else "it is not a file"


def _split(file: str) -> tuple[str, str]:
    """Return the name and the ending of a file of a chunk; the ending of another file is empty."""
    ending = next((one for one in (PLAIN, SEALED, SIGNATURE) if file.endswith(one)), "")
    return file.removesuffix(ending), ending


def _printable(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name)[:80]


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where the system can be told so."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_SECONDS = 10.0
_MOST_BRANCHES = 200


def on_other_branches(root: Path) -> set[str]:
    """Return the names of chunks that other branches have, local or fetched, and this one has not.

    A chunk that this branch has, and its folder has not, was removed here. Empty when git does not answer.
    """
    deadline = Deadline(_SECONDS)
    own = _chunks(root, "HEAD", deadline)
    newest = ("--sort=-committerdate", f"--count={_MOST_BRANCHES}", "--format=%(objectname)")
    asked = ask_git(root, "for-each-ref", *newest, "refs/heads", "refs/remotes", deadline=deadline)
    tips = dict.fromkeys(asked[0].decode("ascii", "replace").split()) if asked else {}
    others: set[str] = set()
    for tip in tips:
        others |= _chunks(root, tip, deadline)
    return others - own


def uncommitted(root: Path) -> Uncommitted:
    """Count the chunks that git has not committed, and those of them that it ignores.

    Those that git ignores are asked for by name: ``git add`` passes over them in silence.
    """
    wanted = ("--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=traditional")
    folders = (f"{NAME}/chunks", f"{NAME}/memories")
    asked = ask_git(root, "status", *wanted, "--", *folders, deadline=Deadline(_SECONDS))
    found: dict[str, bool] = {}
    memories: dict[str, bool] = {}
    for line in asked[0].decode("utf-8", "replace").split("\0") if asked else ():
        state, (name, ending) = line[:2], _split(line[3:].rpartition("/")[2])
        if line[3:].startswith(folders[1]) and name.endswith(".md"):
            memories[name] = state == "!!"
        elif ending and "D" not in state:
            found[name] = found.get(name, False) or state == "!!"
    return Uncommitted(len(found), sum(found.values()) + sum(memories.values()), len(memories))


def _chunks(root: Path, commit: str, deadline: Deadline) -> set[str]:
    asked = ask_git(root, "ls-tree", "-z", "--name-only", commit, f"{NAME}/chunks/", deadline=deadline)
    files = asked[0].decode("utf-8", "replace").split("\0") if asked else []
    parts = (_split(file.rpartition("/")[2]) for file in files)
    return {name for name, ending in parts if ending in (PLAIN, SEALED)}
