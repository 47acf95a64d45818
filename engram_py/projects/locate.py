"""Find the project of a directory: by settings file, git, child repositories, or folder name."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from engram_py.dataclass import dataclass, replace
from engram_py.files import exists, is_folder, real_path
from engram_py.git.remotes import remote_names
from engram_py.git.repository import Repository, find_repository, read_head
from engram_py.projects.binding import load_binding
from engram_py.projects.names import slug_project
from engram_py.projects.settings_file import DEFAULTS, ProjectSettings, find_project_settings

Source = Literal["config", "git_binding", "git_remote", "git_root", "git_child", "dir_basename", "ambiguous", "none"]
Clock = Callable[[], float]

CHILD_BUDGET_SECONDS = 0.030
CACHE_SECONDS = 2.0
_CACHED = 64


@dataclass(frozen=True, slots=True)
class Location:
    """What a directory says about the project it belongs to; ``name`` is a proposal, normalised.

    ``fallback_names`` are for a ``name`` that another repository has already. ``candidates`` are the child
    repositories' projects, where there is no one answer. ``unconfirmed`` is the name in a settings file that may not
    be followed here.
    """

    directory: Path
    source: Source
    name: str | None
    fallback_names: tuple[str, ...] = ()
    repository: Repository | None = None
    candidates: tuple[str, ...] = ()
    settings: ProjectSettings = DEFAULTS
    warnings: tuple[str, ...] = ()
    unconfirmed: str = ""


class _Named(NamedTuple):
    source: Source
    name: str
    fallback_names: tuple[str, ...] = ()


_SKIPPED = frozenset(
    "node_modules vendor .venv venv __pycache__ target dist build .idea .vscode".split()  # noqa: SIM905
)


class _Children(NamedTuple):
    """The projects of the child repositories, sorted; ``only`` is the folder where there is exactly one."""

    names: tuple[str, ...]
    only: Path | None
    warnings: tuple[str, ...]


def locate(directory: Path, *, by_settings: bool = True, clock: Clock = time.monotonic) -> Location:
    """Return the project that ``directory`` belongs to, by the first rule that answers; never raises.

    Without ``by_settings`` the name in its settings file is passed over, but not its preferences.

    A directory that is gone counts as the nearest parent that is there. The home directory, a file system's
    root and the shared temporary directory never lend a project their name.
    """
    here, warnings = _existing(directory)
    shared = [os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]
    home = os.path.expanduser("~")  # noqa: PTH111 (Path.home may raise)
    # Folders whose name is never a project's, besides the roots, which have none.
    nameless = _resolved((home, "/tmp", "/var/tmp", *shared))  # noqa: S108 (nothing is written there)
    repository = find_repository(here)
    settings = find_project_settings(here, repository.root if repository else None)
    warnings += settings.warnings
    found = Location(here, "none", None, repository=repository, settings=settings)
    if by_settings and settings.project is not None:
        own = repository.warnings if repository else ()
        return replace(found, source="config", name=settings.project, warnings=warnings + own)
    if repository is not None:
        named, more = _repository_name(repository, nameless)
        warnings += repository.warnings + more
        if named is not None:
            return replace(found, **named._asdict(), warnings=warnings)
        found = replace(found, repository=None)
    children = _scan_children(here, settings.ignore, nameless, clock() + CHILD_BUDGET_SECONDS, clock)
    return _from_children(found, children, warnings, nameless)


class Locator:
    """``locate`` for a server that asks with every call: the project for two seconds, HEAD fresh each time."""

    def __init__(self, *, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[Path, tuple[float, Location]] = {}

    def locate(self, directory: Path, *, head: bool = True) -> Location:
        """Return what ``locate`` answers for ``directory``, with the branch and the commit as they are now; without
        ``head`` as they were in the last two seconds."""
        now = self._clock()
        at, location = self._kept.get(directory, (0.0, None))
        if location is not None and now - at < CACHE_SECONDS:
            if not head or location.repository is None:
                return location
            branch, commit = read_head(location.repository)
            return replace(location, repository=replace(location.repository, branch=branch, commit=commit))
        location = locate(directory)
        if len(self._kept) >= _CACHED:
            self._kept.clear()
        self._kept[directory] = (now, location)
        return location

    def forget(self) -> None:
        """Drop the cache: a repository was given another project."""
        self._kept.clear()


def _existing(directory: Path) -> tuple[Path, tuple[str, ...]]:
    wanted = real_path(directory)
    for folder in (wanted, *wanted.parents):
        if is_folder(folder):
            gone = folder != wanted and not exists(wanted)
            return folder, ((f"{wanted} is not there; {folder} is used instead",) if gone else ())
    return wanted, (f"{wanted} is not a directory",)


@lru_cache(maxsize=8)
def _resolved(folders: tuple[str, ...]) -> frozenset[Path]:
    return frozenset(real_path(Path(folder)) for folder in folders)


def _folder_name(folder: Path, nameless: frozenset[Path]) -> str | None:
    if folder in nameless or folder == folder.parent:
        return None
    return slug_project(folder.name.removesuffix(".git"))


def _repository_name(repository: Repository, nameless: frozenset[Path]) -> tuple[_Named | None, tuple[str, ...]]:
    binding, warning = load_binding(repository.common_dir)
    warnings = (warning,) if warning else ()
    if binding is not None:
        return _Named("git_binding", binding.project), warnings
    if repository.remote is not None:
        names = [name for part in remote_names(repository.remote) if (name := slug_project(part))]
        if names:
            others = dict.fromkeys(name for name in names[1:] if name != names[0])
            return _Named("git_remote", names[0], tuple(others)), warnings
    name = _folder_name(repository.main_folder, nameless)
    return _Named("git_root", name) if name is not None else None, warnings


def _child_names(folder: Path, nameless: frozenset[Path]) -> tuple[str, tuple[str, ...], str] | None:
    """Return the name of a child repository, its other possible names, and its identity."""
    repository = find_repository(folder)
    if repository is None:
        return None
    if project := find_project_settings(folder, repository.root).project:
        return project, (), project
    named, _ = _repository_name(repository, nameless)
    return (named.name, named.fallback_names, repository.remote or str(repository.common_dir)) if named else None


def _from_children(
    found: Location, children: _Children, warnings: tuple[str, ...], nameless: frozenset[Path]
) -> Location:
    warnings += children.warnings
    own = _folder_name(found.directory, nameless)
    if found.directory in nameless or found.directory == found.directory.parent:
        return replace(found, candidates=children.names, warnings=warnings)
    if children.only is not None:
        note = f"{children.only} is the one repository in {found.directory}, so its project is used"
        found = replace(found, source="git_child", name=children.names[0], warnings=(*warnings, note))
        return replace(found, repository=find_repository(children.only))
    if children.names:
        return replace(found, source="ambiguous", candidates=children.names, warnings=warnings)
    if own is not None:
        return replace(found, source="dir_basename", name=own, warnings=warnings)
    return replace(found, warnings=warnings)


def _scan_children(
    directory: Path, ignore: tuple[str, ...], nameless: frozenset[Path], deadline: float, clock: Clock
) -> _Children:
    """Return the child repositories of ``directory``; past the ``deadline`` the answer is cut short and says so.

    Several checkouts of one repository are one project. Where two repositories share a name, the second is
    offered by its longer one. A scan that was cut short never claims to have found the only one.
    """
    folders, complete = _repositories(directory, ignore, deadline, clock)
    owners: dict[str, str] = {}
    for folder in folders:
        # Past the deadline a folder's name stands in for what its repository would say.
        complete = complete and clock() < deadline
        named = _child_names(folder, nameless) if complete else None
        if named is None and (slug := slug_project(folder.name)):
            named = slug, (), str(folder)
        if named is not None:
            name, longer, identity = named
            free = next((each for each in (name, *longer) if owners.get(each, identity) == identity), name)
            owners.setdefault(free, identity)
    only = folders[0] if complete and len(owners) == 1 else None
    slow = () if complete else (f"{directory} has too many children to look at all of them in time",)
    return _Children(tuple(sorted(owners)), only, slow)


def _repositories(directory: Path, ignore: tuple[str, ...], deadline: float, clock: Clock) -> tuple[list[Path], bool]:
    found: list[Path] = []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if clock() > deadline:
                return sorted(found), False
            if _looks_like_repository(entry, ignore):
                found.append(Path(entry.path))
    return sorted(found), True


def _looks_like_repository(entry: os.DirEntry[str], ignore: tuple[str, ...]) -> bool:
    if entry.name.startswith(".") or entry.name in _SKIPPED:
        return False
    if any(fnmatchcase(entry.name, pattern.rstrip("/")) for pattern in ignore):
        return False
    try:
        return entry.is_dir(follow_symlinks=False) and os.path.lexists(os.path.join(entry.path, ".git"))  # noqa: PTH118
    except OSError:
        return False
