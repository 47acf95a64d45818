"""Looks single files up in git's index, the list of what it tracks, without reading all of it entry by entry.

The layout is that of `gitformat-index(5)`, versions 2 and 3: an entry is 40 bytes of file facts, the blob's id, two
bytes of flags (four in an extended entry), the path and a NUL.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engram_py.dataclass import dataclass
from engram_py.files import read_bounded

_MAX_INDEX = 64 << 20
_HEADER = 12
_FACTS = 40
_NAME_MASK, _STAGE_MASK, _EXTENDED = 0x0FFF, 0x3000, 0x4000
_SKIPPED = 0x4000  # of the two bytes that extend the flags
_KIND_MASK, _REGULAR, _FOLDER = 0xFFFFF000, 0o100000, 0o040000
_LOOKS = 1_000  # how many look-alikes of one name or id are looked at


@dataclass(frozen=True, slots=True)
class GitIndex:
    """The bytes of an index; ``id_size`` is 20 for SHA-1, 32 for SHA-256."""

    data: bytes
    id_size: int = 20

    def blob_of(self, path: str) -> str | None:
        """The id of the blob that is tracked at ``path``."""
        name = path.encode("utf-8", "surrogateescape")
        for at in self._named(name):
            if self._starts_at(at, len(name)):
                return self._blob_before(at)
        return None

    def skips(self, path: str) -> bool:
        """Whether a sparse checkout leaves the file at ``path`` out of the working tree."""
        name = path.encode("utf-8", "surrogateescape")
        for at in self._named(name):
            if self._starts_at(at, len(name)):
                extended = not self._is_a(_REGULAR, at - 2 - self.id_size)
                return extended and bool(int.from_bytes(self.data[at - 2 : at], "big") & _SKIPPED)
        if b"sdir" not in self.data:  # only an index that says so has entries for folders
            return False
        folders = (name[: at + 1] for at, char in enumerate(name) if char == ord("/"))
        return any(self._starts_at(at, len(one), _FOLDER) for one in folders for at in self._named(one))

    def paths_of(self, blob: str, *, most: int) -> list[str]:
        """Paths of the files whose content is ``blob``."""
        wanted = bytes.fromhex(blob)
        found: list[str] = []
        at = self.data.find(wanted, _HEADER)
        while at >= 0 and len(found) < most:
            if path := self._path_after(at + self.id_size):
                found.append(path)
            at = self.data.find(wanted, at + 1)
        return found

    def ending_in(self, tail: str, *, most: int) -> list[str]:
        """Paths whose last parts are ``tail``."""
        name = tail.encode("utf-8", "surrogateescape")
        found: list[str] = []
        for at in self._named(b"/" + name):
            start = self.data.rfind(b"\0", 0, at) + 1
            # The flags' last byte may be anything but NUL, and then looks like the first of the path.
            for first in (start, start + 1, start + 2):
                length = at + 1 + len(name) - first
                if first <= at and self._starts_at(first, length):
                    found.append(self.data[first : first + length].decode("utf-8", "replace"))
                    break
            if len(found) >= most:
                break
        return found

    def _named(self, name: bytes) -> Iterator[int]:
        needle = name + b"\0"
        at = self.data.find(needle, _HEADER)
        for _ in range(_LOOKS):
            if at < 0:
                return
            yield at
            at = self.data.find(needle, at + 1)

    def _starts_at(self, at: int, length: int, kind: int = _REGULAR) -> bool:
        """Whether a path of this length begins at ``at``: the flags before it say so."""
        flags = int.from_bytes(self.data[at - 2 : at], "big")
        if flags & _NAME_MASK == min(length, _NAME_MASK) and not flags & (_STAGE_MASK | _EXTENDED):
            return self._is_a(kind, at - 2 - self.id_size)
        flags = int.from_bytes(self.data[at - 4 : at - 2], "big")
        whole = flags & _NAME_MASK == min(length, _NAME_MASK) and bool(flags & _EXTENDED)
        return whole and not flags & _STAGE_MASK and self._is_a(kind, at - 4 - self.id_size)

    def _blob_before(self, at: int) -> str:
        extended = not self._is_a(_REGULAR, at - 2 - self.id_size)
        end = at - (4 if extended else 2)
        return self.data[end - self.id_size : end].hex()

    def _path_after(self, at: int) -> str | None:
        flags = int.from_bytes(self.data[at : at + 2], "big")
        start = at + (4 if flags & _EXTENDED else 2)
        end = self.data.find(b"\0", start)
        if end <= start or not self._starts_at(start, end - start):
            return None
        return self.data[start:end].decode("utf-8", "replace")

    def _is_a(self, kind: int, id_at: int) -> bool:
        mode = int.from_bytes(self.data[id_at - 16 : id_at - 12], "big")
        return id_at >= _HEADER + _FACTS and mode & _KIND_MASK == kind


def load_index(git_dir: Path, *, sha256: bool = False) -> GitIndex | None:
    """The index of a checkout; None when there is none, it is too large, or of a version that shares path prefixes."""
    try:
        data = read_bounded(git_dir / "index", _MAX_INDEX)
    except OSError:
        return None
    if data[:4] != b"DIRC" or int.from_bytes(data[4:8], "big") not in (2, 3):
        return None
    return GitIndex(data, 32 if sha256 else 20)
