"""Find the project of a directory by settings file, git, child repositories or folder name; keep its name."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Literal

from engram_py.base.dataclass import asdict, dataclass, replace
from engram_py.base.files import exists, is_folder, read_bounded, real_path, write_atomically
from engram_py.base.files import reason as failure
from engram_py.base.git.repository import Repository, find_repository, read_head, remote_names
from engram_py.base.lazy import logger_of, regex
from engram_py.base.reasons import Reason, Told, reason
from engram_py.memory.projects.settings_file import DEFAULTS, ProjectSettings, find_project_settings
from engram_py.memory.projects.values import InvalidProjectError, normalize_project, slug_project

logger = logger_of(__name__)

BINDING_FILE = "engram-project-identity.json"
_MAX_SIZE = 4096
_VERSION = 1
_ID = regex(r"[0-9a-f]{32}")
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
# Without hard links the winner's file is empty for an instant; a loser looks again this often.
_LOOKS = 20


@dataclass(frozen=True, slots=True)
class Binding:
    """A repository's identity and the project it belongs to, in Engram's format."""

    id: str
    project: str


def load_binding(common_dir: Path) -> tuple[Binding | None, Reason | None]:
    """Return the binding of a repository, and what is wrong with the file where it cannot be used."""
    path = common_dir / BINDING_FILE
    try:
        data = json.loads(read_bounded(path, _MAX_SIZE))
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    except OSError as exc:
        return None, reason("file_cannot_be_read", file=str(path), problem=failure(exc))
    except (ValueError, RecursionError):
        return None, reason("binding_no_json", file=str(path))
    return _parsed(data, path)


def _parsed(data: object, path: Path) -> tuple[Binding | None, Reason | None]:
    if not isinstance(data, dict) or data.get("version") != _VERSION:
        return None, reason("binding_of_other_version", file=str(path), version=_VERSION)
    identity, project = data.get("id"), data.get("project")
    if not isinstance(identity, str) or not _ID.fullmatch(identity) or not isinstance(project, str):
        return None, reason("binding_incomplete", file=str(path))
    try:
        return Binding(id=identity, project=normalize_project(project)), None
    except InvalidProjectError as exc:
        return None, reason("binding_without_project", file=str(path), problem=exc.reason)


def write_binding(common_dir: Path, project: str) -> Binding | None:
    """Bind a repository to ``project``, unless it is bound: the first of several processes wins.

    Returns what is in the file afterwards, which may name another project; None when the git directory
    cannot be written or holds a damaged binding, which is left as it is.

    Raises InvalidProjectError: ``project`` is not a project name.
    """
    name = normalize_project(project)
    if (bound := load_binding(common_dir)[0]) is not None:
        return bound
    try:
        _publish(common_dir, _record(os.urandom(16).hex(), name))
    except OSError as exc:
        logger.debug("%s cannot be bound: %s", common_dir, failure(exc))
    return _settled(common_dir)


def rebind(common_dir: Path, project: str, *, copied: bool = False) -> None:
    """Bind a repository to another project, keeping its id, unless it was ``copied``. Raises InvalidProjectError.

    A git directory that cannot be written, or a binding of another version, is left as it is.
    """
    name = normalize_project(project)
    bound, warning = load_binding(common_dir)
    if bound is None and warning is None:
        write_binding(common_dir, name)
        return
    if bound is None or bound.project == name:
        return
    try:
        identity = os.urandom(16).hex() if copied else bound.id
        write_atomically(common_dir / BINDING_FILE, _record(identity, name))
    except OSError as exc:
        logger.debug("%s cannot be bound again: %s", common_dir, failure(exc))


def _record(identity: str, project: str) -> bytes:
    values = {"version": _VERSION, "id": identity, "project": project}
    return (json.dumps(values, ensure_ascii=False) + "\n").encode()


def _publish(common_dir: Path, data: bytes) -> None:
    target = common_dir / BINDING_FILE
    draft = common_dir / f".{BINDING_FILE}.{os.urandom(8).hex()}"
    _create(draft, data)
    try:
        os.link(draft, target)
    except FileExistsError:
        pass
    except (OSError, NotImplementedError):  # a file system without hard links
        with suppress(FileExistsError):
            _create(target, data)
    finally:
        draft.unlink(missing_ok=True)


def _create(path: Path, data: bytes) -> None:
    descriptor = os.open(path, _CREATE, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except OSError:  # half a file would be a damaged binding for ever
        path.unlink(missing_ok=True)
        raise


def _settled(common_dir: Path) -> Binding | None:
    for _ in range(_LOOKS):
        binding, warning = load_binding(common_dir)
        if binding is not None or warning is None:
            return binding
        with suppress(OSError):
            if (common_dir / BINDING_FILE).stat().st_size:
                break
        time.sleep(0.005)
    binding, warning = load_binding(common_dir)
    if warning:
        logger.warning("%s: %s", common_dir, warning.name)
    return binding


Source = Literal["config", "git_binding", "git_remote", "git_root", "git_child", "dir_basename", "ambiguous", "none"]
Clock = Callable[[], float]

CHILD_BUDGET_SECONDS = 0.030
CACHE_SECONDS = 2.0
_CACHED = 64


@dataclass(frozen=True, slots=True)
class Location:
    """The project that a directory proposes; ``name`` is a proposal, normalised.

    ``fallback_names`` are for a ``name`` that another repository has already. ``candidates`` are the child
    repositories' projects, where there is no one answer. ``unconfirmed`` is the name in a settings file that may not
    be followed here. ``superproject`` is the repository that this one is a submodule of.
    """

    directory: Path
    source: Source
    name: str | None
    fallback_names: tuple[str, ...] = ()
    repository: Repository | None = None
    candidates: tuple[str, ...] = ()
    settings: ProjectSettings = DEFAULTS
    warnings: tuple[Told, ...] = ()
    unconfirmed: str = ""
    superproject: Path | None = None


@dataclass(frozen=True, slots=True)
class _RepositoryName:
    source: Source
    name: str
    fallback_names: tuple[str, ...] = ()


_SKIPPED = frozenset(
    "node_modules vendor .venv venv __pycache__ target dist build .idea .vscode".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class _Children:
    """The projects of the child repositories, sorted; ``only`` is the folder where there is exactly one."""

    names: tuple[str, ...]
    only: Path | None
    warnings: tuple[Told, ...]


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
    above = _superproject(repository) if repository else None
    found = Location(here, "none", None, repository=repository, settings=settings, superproject=above)
    if by_settings and settings.project is not None:
        own = repository.warnings if repository else ()
        return replace(found, source="config", name=settings.project, warnings=warnings + own)
    if repository is not None:
        named, more = _repository_name(repository, nameless)
        warnings += repository.warnings + more
        if named is not None:
            return replace(found, **asdict(named), warnings=warnings)
        found = replace(found, repository=None)
    children = _scan_children(here, settings.ignore, nameless, clock() + CHILD_BUDGET_SECONDS, clock)
    return _from_children(found, children, warnings, nameless)


def workspace(directory: Path, roots: Sequence[Path]) -> Path:
    """Return the folder of a client that works in ``roots``: ``directory`` where it lies in one of them, else the first
    that is there, as editors do; ``directory`` where none is."""
    here = real_path(directory)
    there = [root for root in map(real_path, roots) if is_folder(root)]
    return directory if not there or any(here.is_relative_to(root) for root in there) else there[0]


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


def _existing(directory: Path) -> tuple[Path, tuple[Told, ...]]:
    wanted = real_path(directory)
    for folder in (wanted, *wanted.parents):
        if is_folder(folder):
            gone = folder != wanted and not exists(wanted)
            return folder, ((reason("folder_gone", folder=str(wanted), used=str(folder)),) if gone else ())
    return wanted, (reason("no_directory", folder=str(wanted)),)


@lru_cache(maxsize=8)
def _resolved(folders: tuple[str, ...]) -> frozenset[Path]:
    return frozenset(real_path(Path(folder)) for folder in folders)


def _superproject(repository: Repository) -> Path | None:
    """Return the repository around a submodule, which keeps the submodule's git directory in its own."""
    if "modules" not in repository.common_dir.parts:
        return None
    above = find_repository(repository.root.parent)
    inside = above is not None and repository.common_dir.is_relative_to(above.common_dir / "modules")
    return above.root if above is not None and inside else None


def _folder_name(folder: Path, nameless: frozenset[Path]) -> str | None:
    if folder in nameless or folder == folder.parent:
        return None
    return slug_project(folder.name.removesuffix(".git"))


def _repository_name(
    repository: Repository, nameless: frozenset[Path]
) -> tuple[_RepositoryName | None, tuple[Told, ...]]:
    binding, warning = load_binding(repository.common_dir)
    warnings = (warning,) if warning else ()
    if binding is not None:
        return _RepositoryName("git_binding", binding.project), warnings
    if names := names_of_remote(repository):
        return _RepositoryName("git_remote", names[0], names[1:]), warnings
    name = _folder_name(repository.main_folder, nameless)
    return _RepositoryName("git_root", name) if name is not None else None, warnings


def names_of_remote(repository: Repository) -> tuple[str, ...]:
    """Return the names that a repository's remote proposes, the shortest first; none without a remote."""
    parts = remote_names(repository.remote) if repository.remote is not None else ()
    return tuple(dict.fromkeys(name for part in parts if (name := slug_project(part))))


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
    found: Location, children: _Children, warnings: tuple[Told, ...], nameless: frozenset[Path]
) -> Location:
    warnings += children.warnings
    own = _folder_name(found.directory, nameless)
    if found.directory in nameless or found.directory == found.directory.parent:
        return replace(found, candidates=children.names, warnings=warnings)
    if children.only is not None:
        said = reason("one_repository", child=str(children.only), folder=str(found.directory))
        found = replace(found, source="git_child", name=children.names[0], warnings=(*warnings, said))
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
    slow = () if complete else (reason("too_many_children", folder=str(directory)),)
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
