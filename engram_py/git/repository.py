"""Finds the git repository a directory belongs to by reading its files; no git program is started."""

from __future__ import annotations

import stat
from pathlib import Path

from engram_py.dataclass import dataclass, replace
from engram_py.files import exists, is_folder, read_bounded, real_path, reason
from engram_py.git.config_file import has_conditions, load_config, remote_url
from engram_py.git.refs import read_refs
from engram_py.git.remotes import canonical_remote, strip_credentials

__all__ = ["Repository", "canonical_remote", "find_repository", "read_head", "strip_credentials"]

_MAX_POINTER = 8192


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as seen from one of its checkouts; ``common_dir`` is the same in all of them.

    ``remote`` is an identity (``github.com/acme/widgets``), not an address, and never holds a credential.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    remote: str | None = None
    branch: str | None = None
    commit: str | None = None
    submodule: bool = False
    bare: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def main_folder(self) -> Path:
        """The folder the repository is named after: the same from every worktree."""
        if self.common_dir.name == ".git":
            return self.common_dir.parent
        if self.git_dir == self.common_dir and not self.bare:
            return self.root
        # `widgets/.bare` with worktrees beside it is a common layout.
        hidden = self.common_dir.name.startswith(".")
        return self.common_dir.parent if hidden else self.common_dir


@dataclass(frozen=True, slots=True)
class _Layout:
    root: Path
    git_dir: Path
    common_dir: Path
    bare: bool = False
    warnings: tuple[str, ...] = ()


def find_repository(directory: Path) -> Repository | None:
    """The repository that ``directory`` is in, or None.

    A damaged ``.git`` still marks a repository's root: it is returned with a warning and without a remote.
    """
    here = real_path(directory)
    for folder in (here, *here.parents):
        if layout := _layout_at(folder):
            return _describe(layout)
    return None


def read_head(repository: Repository) -> tuple[str | None, str | None]:
    """The branch and the commit checked out right now; either may be None."""
    read = read_refs(repository.git_dir, repository.common_dir)
    if read is not None:
        return read
    from engram_py.git.fallback import git_head

    return git_head(repository.git_dir)


def _layout_at(folder: Path) -> _Layout | None:
    marker = folder / ".git"
    try:
        linked = stat.S_ISLNK(marker.lstat().st_mode)
    except (OSError, ValueError):
        return _bare(folder)
    try:
        mode = marker.stat().st_mode
    except OSError as exc:
        return _broken(folder, f"cannot be followed ({reason(exc)})")
    if stat.S_ISDIR(mode):
        return _from_directory(folder, real_path(marker) if linked else marker) or _bare(folder)
    return _from_pointer(folder, marker)


def _from_directory(folder: Path, git_dir: Path) -> _Layout | None:
    try:
        (git_dir / "HEAD").lstat()
    except PermissionError as exc:
        return _broken(folder, f"cannot be read ({reason(exc)})")
    except OSError:
        # Git itself climbs past a folder that merely has the name.
        if not any(exists(git_dir / part) for part in ("config", "objects", "refs")):
            return None
        return _broken(folder, "has no HEAD")
    common_dir, warnings = _common_dir(git_dir)
    return _Layout(folder, git_dir, common_dir, warnings=warnings)


def _from_pointer(folder: Path, marker: Path) -> _Layout:
    """A ``.git`` file: a worktree, a submodule, or a git directory kept elsewhere."""
    try:
        text = read_bounded(marker, _MAX_POINTER).decode("utf-8", errors="surrogateescape").strip()
    except OSError as exc:
        return _broken(folder, f"cannot be read ({reason(exc)})")
    target = text.removeprefix("gitdir:").strip()
    if not text.startswith("gitdir:") or not target or "\0" in target or "\n" in target:
        return _broken(folder, "is not a gitdir pointer")
    git_dir = real_path(folder / target)
    common_dir, warnings = _common_dir(git_dir)
    if not exists(git_dir / "HEAD"):
        if not is_folder(git_dir) and exists(git_dir):
            return _broken(folder, "points at something that is not a directory")
        # A container or a moved repository: the path still tells which repository this is a worktree of.
        if git_dir.parent.name == "worktrees":
            common_dir = git_dir.parent.parent
        warnings = (f"{marker} points at {git_dir}, which is not a git directory; run `git worktree repair`",)
    return _Layout(folder, git_dir, common_dir, warnings=warnings)


def _common_dir(git_dir: Path) -> tuple[Path, tuple[str, ...]]:
    try:
        text = read_bounded(git_dir / "commondir", _MAX_POINTER).decode("utf-8", errors="surrogateescape").strip()
    except (FileNotFoundError, NotADirectoryError):
        return git_dir, ()
    except OSError as exc:
        return git_dir, (f"{git_dir / 'commondir'} cannot be read ({reason(exc)})",)
    common_dir = real_path(git_dir / text) if text and "\0" not in text and "\n" not in text else git_dir
    if is_folder(common_dir):
        return common_dir, ()
    return git_dir, (f"{git_dir / 'commondir'} names a directory that does not exist",)


def _bare(folder: Path) -> _Layout | None:
    if not exists(folder / "HEAD") or not (is_folder(folder / "objects") and is_folder(folder / "refs")):
        return None
    if folder.name == ".git":  # somebody stands inside the git directory of an ordinary repository
        return _from_directory(folder.parent, folder)
    return _Layout(folder, folder, folder, bare=True)


def _broken(folder: Path, what: str) -> _Layout:
    marker = folder / ".git"
    return _Layout(folder, marker, marker, warnings=(f"{marker} {what}; the folder is used as the repository",))


def _describe(layout: _Layout) -> Repository:
    remote, warnings = _remote(layout)
    repository = Repository(
        root=layout.root,
        git_dir=layout.git_dir,
        common_dir=layout.common_dir,
        remote=remote,
        submodule=_is_submodule(layout.git_dir),
        bare=layout.bare,
        warnings=layout.warnings + warnings,
    )
    branch, commit = read_head(repository)
    return replace(repository, branch=branch, commit=commit)


def _remote(layout: _Layout) -> tuple[str | None, tuple[str, ...]]:
    path = layout.common_dir / "config"
    try:
        entries = load_config(path)
    except (FileNotFoundError, NotADirectoryError):
        return None, ()
    except OSError as exc:
        return None, () if layout.warnings else (f"{path} cannot be read ({reason(exc)}); its remote is unknown",)
    if has_conditions(entries):
        from engram_py.git.fallback import merged_config

        entries = merged_config(layout.root) or entries
    url = remote_url(entries)
    base = layout.common_dir.parent if layout.common_dir.name == ".git" else layout.common_dir
    return (canonical_remote(url, base=base) if url else None), ()


def _is_submodule(git_dir: Path) -> bool:
    parts = git_dir.parts
    return ".git" in parts and "modules" in parts[parts.index(".git") + 1 :]
