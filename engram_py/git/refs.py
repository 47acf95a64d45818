"""What HEAD points at, read from the files git keeps: the branch and the commit."""

from __future__ import annotations

import re
from pathlib import Path

from engram_py.files import open_regular, read_bounded

_MAX_REF = 4096
_MAX_PACKED = 64 << 20
_BLOCK = 1 << 20
_DEPTH = 5
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# The first line of a local branch's log: no commit, its first one, and what it was made from.
_CREATED = re.compile(rf"0+ ({_COMMIT.pattern}) .*\tbranch: Created from (.+)")
# With the reftable format HEAD names this branch, which cannot exist.
REFTABLE = "refs/heads/.invalid"


def symbolic_head(git_dir: Path) -> str | None:
    """The ref that HEAD names, or None when it is detached or unreadable."""
    return _target(_read(git_dir / "HEAD"))


def read_refs(git_dir: Path, common_dir: Path) -> tuple[str | None, str | None] | None:
    """The branch and the commit of a checkout; a detached HEAD has no branch, an unborn branch no commit. None where
    only git itself can tell: with the reftable format."""
    text = _read(git_dir / "HEAD")
    ref = _target(text)
    if ref == REFTABLE:
        return None
    if ref is None:
        return None, _commit(text)
    branch = ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None
    return branch, _resolve(ref, git_dir, common_dir)


def read_ref(git_dir: Path, common_dir: Path, ref: str) -> str | None:
    """The commit of a ref such as ``refs/heads/main``; None when there is none, or it is no ref's name."""
    return _resolve(ref, git_dir, common_dir) if _target(f"ref: {ref}") == ref else None


def created_at(common_dir: Path, branch: str) -> str | None:
    """The commit a local branch was created at, as its log says; None where that is not known, or where the branch
    goes on the one of its name that a remote has."""
    ref = f"refs/heads/{branch}"
    if _target(f"ref: {ref}") != ref:
        return None
    try:
        with open_regular(common_dir / "logs" / ref) as file:
            found = _CREATED.match(file.readline(_MAX_REF).decode("utf-8", errors="replace"))
    except OSError:
        return None
    return found[1] if found and not found[2].endswith(f"/{branch}") else None


def _resolve(ref: str, git_dir: Path, common_dir: Path) -> str | None:
    for _ in range(_DEPTH):
        text = _read(git_dir / ref)
        if not text and common_dir != git_dir:
            text = _read(common_dir / ref)
        following = _target(text)
        if following is None:
            return _commit(text) or _packed(common_dir / "packed-refs", ref)
        ref = following
    return None


def _read(path: Path) -> str:
    try:
        return read_bounded(path, _MAX_REF).decode("utf-8", errors="replace").strip()
    except OSError:
        return ""


def _target(text: str) -> str | None:
    """The ref in ``ref: refs/…``; anything that could leave the git directory is no ref."""
    if not text.startswith("ref:"):
        return None
    ref = text[4:].strip()
    unsafe = ".." in ref or "\\" in ref or not ref.isprintable() or "//" in ref
    return ref if ref.startswith("refs/") and not unsafe else None


def _commit(text: str) -> str | None:
    return text if _COMMIT.fullmatch(text) else None


def _packed(path: Path, ref: str) -> str | None:
    """The commit of ``ref`` in packed-refs, which may hold a hundred thousand: searched block by block."""
    needle = b" " + ref.encode("utf-8", errors="replace") + b"\n"
    overlap = len(needle) + 65
    tail, seen = b"", 0
    try:
        with path.open("rb") as file:
            while seen < _MAX_PACKED and (block := file.read(_BLOCK)):
                seen += len(block)
                window = tail + block
                at = window.find(needle)
                if at >= 0:
                    start = window.rfind(b"\n", 0, at) + 1
                    return _commit(window[start:at].decode("ascii", errors="replace"))
                tail = window[-overlap:]
    except OSError:
        return None
    return None
