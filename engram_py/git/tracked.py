"""The files that git tracks in a checkout, as ``git ls-files`` lists them: whatever the format of its index.

Asked once for each state of the index: it takes 2 ms for a thousand files and 80 ms for a hundred thousand.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from engram_py.git.program import Deadline, ask_git, has_git
from engram_py.git.repository import Repository

_MAX_LISTING = 64 << 20
_SUBMODULE = "160000"


class TrackedFile(NamedTuple):
    """A file that git tracks; ``skipped`` when a sparse checkout leaves it out of the working tree."""

    path: str
    blob: str
    skipped: bool


class TrackedFiles:
    """The files of one listing, found in it without reading all of it entry by entry."""

    def __init__(self, listing: bytes) -> None:
        self._listing = b"\0" + listing

    def get(self, path: str) -> TrackedFile | None:
        """Return the file at ``path``."""
        return next((one for one in self._files(f"\t{path}\0") if one.path == path), None)

    def with_blob(self, blob: str) -> Iterator[TrackedFile]:
        """Return the files whose content is ``blob``."""
        return self._files(f" {blob} ")

    def ending_in(self, tail: str) -> Iterator[TrackedFile]:
        """Return the files below a folder whose last parts are ``tail``."""
        return self._files(f"/{tail}\0")

    @cached_property
    def submodules(self) -> list[str]:
        """The folders that are repositories of their own."""
        return [path for mode, _, path in self._entries(f" {_SUBMODULE} ") if mode[2:] == _SUBMODULE]

    def _files(self, needle: str) -> Iterator[TrackedFile]:
        for mode, blob, path in self._entries(needle):
            if mode[2:5] == "100":
                yield TrackedFile(path, blob, skipped=mode[0] == "S")

    def _entries(self, needle: str) -> Iterator[tuple[str, str, str]]:
        """Yield the tag and mode, blob and path of the entries that hold ``needle``, without those of a conflict."""
        wanted = needle.encode("utf-8", "surrogatepass")
        at = self._listing.find(wanted)
        while at >= 0:
            start, end = self._listing.rfind(b"\0", 0, at + 1) + 1, self._listing.find(b"\0", at + 1)
            facts, _, path = self._listing[start:end].decode("utf-8", "replace").partition("\t")
            mode, blob, stage = facts.rsplit(" ", 2)
            if stage == "0":
                yield mode, blob, path
            at = self._listing.find(wanted, end)


def tracked_files(repository: Repository) -> TrackedFiles | None:
    """Return what git tracks in the checkout; None where it has no index or git does not say in time."""
    try:
        seen = os.stat(repository.git_dir / "index")  # noqa: PTH116 (a string is quicker)
    except OSError:
        return None
    if not has_git(repository.root):
        return None  # not remembered: there may be one later
    return _listed(repository.root, (seen.st_ino, seen.st_size, seen.st_mtime_ns))


@lru_cache(maxsize=2)
def _listed(root: Path, state: tuple[int, int, int]) -> TrackedFiles | None:
    answer = ask_git(root, "ls-files", "--stage", "-t", "-z", deadline=Deadline(), limit=_MAX_LISTING)
    return TrackedFiles(answer[0]) if answer and answer[1] else None
