"""Find the repository and the folder of a sync, and check that its project may go through it."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import InvalidArgumentError, SyncError
from engram_py.base.files import read_bounded, write_atomically
from engram_py.base.git.repository import Repository
from engram_py.base.reasons import Told
from engram_py.memory.privacy.signatures import Keyring
from engram_py.memory.projects import table as project_table
from engram_py.memory.projects.locate import names_of_remote
from engram_py.memory.projects.projects import Projects
from engram_py.memory.projects.values import AmbiguousProjectError, InvalidProjectError, normalize_project
from engram_py.memory.sessions.sessions import MANUAL_PREFIX
from engram_py.memory.writing.merge import Merging
from engram_py.sharing.sync.chunk import FORMAT, MOST_PLAIN_BYTES
from engram_py.sharing.sync.errors import NoRepositoryError
from engram_py.sharing.sync.git import table
from engram_py.sharing.sync.git.folder import ChunkFolder
from engram_py.sharing.sync.git.memory_folder import MemoryFolder
from engram_py.sharing.sync.git.table import Adoption
from engram_py.sharing.sync.mutation import Mutation
from engram_py.sharing.sync.replica import project_access
from engram_py.sharing.sync.sealing import SealingKey

if TYPE_CHECKING:
    from engram_py.sharing.sync.replica.replica import Replica

_IDENTITY = "engram-sync-id"
_ID_CHARS = 16


Progress = Callable[[int, int], None]

# Most unpacked bytes of all chunks of a folder: in a reading that nobody asked for, and when a person syncs.
UNASKED_BYTES, ASKED_BYTES = 64 * 2**20, 1024 * 2**20


@dataclass(frozen=True, slots=True)
class Job:
    """The work of one sync: the repository and its folder, the project and its names, the keys and the limits.

    With ``names`` None, rows of every project are imported and exported. ``spellings`` are the names that the
    repository's remote gives the project, and that it cannot have on this machine.
    """

    store: Store
    journal: Journal
    replica: Replica
    keys: Keyring
    repository: Repository
    folder: ChunkFolder
    target: str
    project: str
    names: frozenset[str] | None
    trusted: frozenset[str]
    warnings: tuple[Told, ...] = ()
    key: SealingKey | None = None
    allow_plain: bool = False
    progress: Progress | None = None
    until: float | None = None  # ``time.monotonic``: after that reading stops, and goes on the next time
    spellings: frozenset[str] = frozenset()
    longest: int = MOST_PLAIN_BYTES  # a chunk that unpacks to more is left to a reading that nobody waits for
    most: int = ASKED_BYTES  # what the folder may add in all

    @property
    def device(self) -> str:
        with self.store.transaction():
            return self.journal.device()

    @property
    def is_late(self) -> bool:
        return self.until is not None and time.monotonic() >= self.until

    @property
    def projects(self) -> tuple[str, ...] | None:
        return None if self.names is None else (self.project,)

    @property
    def selection(self) -> str:
        return "" if self.names is None else self.project

    @property
    def has_files(self) -> bool:
        """Whether the folder has memories as files."""
        return MemoryFolder(self.repository.root).exists

    def format(self, asked: str | None = None) -> str:
        """Return the format that an export writes: the one asked for, else the folder's, else text.

        Raises InvalidArgumentError.
        """
        sealed, all_projects = self.key is not None, self.names is None
        if asked == "text" and (sealed or all_projects):
            why = "an encrypted folder" if sealed else "--all"
            said = f"text files do not go together with {why}"
            raise InvalidArgumentError("format", said=said, step="use --format chunks")
        if sealed or all_projects:
            return "chunks"
        has_chunks = self.folder.exists or (self.folder.path / "manifest.json").exists()
        return asked or ("text" if self.has_files or not has_chunks else "chunks")

    def policy(self, names: frozenset[str] | None) -> str:
        """Return a digest of what refusals depend on: with the same digest they would be decided the same."""
        key = self.key.parameters.key_id if self.key else ""
        terms = [FORMAT, self.allow_plain, sorted(self.trusted), key, None if names is None else sorted(names)]
        terms += [sorted(self.spellings)] if self.spellings else []
        return hashlib.sha256(json.dumps(terms).encode()).hexdigest()[:16]

    def own_rows(self, mutations: Sequence[Mutation]) -> Sequence[Mutation]:
        """Return the rows of a chunk, those of a chunk of one project by its name here.

        A repository has its folder's rows under the name its remote gives it, where nobody else has that name; on this
        machine another repository may have it.
        """
        names = {mutation.project for mutation in mutations}
        if len(names) != 1 or not names <= self.spellings:
            return mutations
        return [_renamed(mutation, self.project) for mutation in mutations]


class Places:
    """Finds the sync folder of the current directory."""

    def __init__(self, store: Store, journal: Journal, projects: Projects, replica: Replica) -> None:
        self._store, self._journal = store, journal
        self._projects = projects
        self._replica = replica
        self._keyring = Keyring(store.path.parent)

    def here(self) -> Repository:
        """Return the repository. Raises NoRepositoryError."""
        location = self._projects.settings_here()
        repository = location.repository
        if repository is None:
            raise NoRepositoryError(str(location.directory), "is in no git repository")
        if repository.bare:
            raise NoRepositoryError(str(repository.root), "is a bare repository, without files to put chunks beside")
        return repository

    def job(self, project: str | None = None, *, all_projects: bool = False) -> Job:
        """Return the work on the folder here, for the given project, else the repository's own, or for all.

        Raises:
            NoRepositoryError: there is no checkout here.
            AmbiguousProjectError: the repository does not say which project it is.
            SyncError (unconfirmed_project): its ``.engram.json`` names a project that was never used here.
            SyncFolderError: its ``.engram`` is not a folder of its own.
        """
        repository = self.here()
        folder = ChunkFolder(repository.root)
        folder.check()
        # ENGRAM_PROJECT applies to the process, not to this repository.
        found = self._projects.without_override().for_read(project)
        if not found.project:
            raise AmbiguousProjectError(found.path, found.reads or (), *found.warnings)
        target = _target(repository)
        job = Job(
            self._store,
            self._journal,
            self._replica,
            self._keyring,
            repository,
            folder,
            target,
            found.project,
            names=None if all_projects else names_of(self._store, found.project),
            trusted=frozenset(table.trusted(self._store, target)),
            warnings=found.warnings if project else (),
        )
        if not project or found.project == self._projects.without_override().for_read().project:
            job = replace(job, spellings=self._spellings(job))
        if not (project or all_projects) and (name := self._projects.settings_here().unconfirmed):
            raise SyncError(
                f".engram.json names project {name} for {repository.root}, but its memories come from another folder; "
                "nothing was read or written",
                hint="if it is the same project, run `engram projects confirm` here",
                code="unconfirmed_project",
            )
        return job

    def named(self, job: Job, project: str) -> Job:
        """Return the work for a project of another name."""
        names = None if job.names is None else names_of(self._store, project)
        return replace(job, project=project, names=names)

    def current(self, project: str) -> str:
        """Return the present name of a project."""
        return self._projects.for_read(project).project

    def adoption(self, job: Job, project: str) -> Adoption | None:
        """Return what adopting the chunks' project as the repository's would mean, None where it cannot be done."""
        if self._projects.settings_here().settings.project is not None:
            return None  # somebody wrote down what it is called
        try:
            name = self.current(normalize_project(project))
        except InvalidProjectError:
            return None
        if name == job.project:
            return None
        return Adoption(
            job.project,
            name,
            own=project_table.count_observations(self._store, job.project),
            known=project_access.is_taken(self._store, name) and not table.is_allowed(self._store, job.target, name),
        )

    def _spellings(self, job: Job) -> frozenset[str]:
        names = {name: self.adoption(job, name) for name in names_of_remote(job.repository)}
        return frozenset(name for name, adoption in names.items() if adoption is not None and not adoption.is_free)

    def of_others(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of the names that are projects of other repositories on this machine."""
        return tuple(name for name in names if self._projects.is_of_another_repository(name))

    def adopt(self, adoption: Adoption) -> None:
        """Make the repository the project of its chunks, and merge what was kept of it under another name."""
        with self._store.transaction():
            self._projects.adopt(adoption.project)
            if adoption.own:
                Merging(self._store, self._journal).merge([adoption.name], into=adoption.project)

    def confirm(self, job: Job) -> None:
        """Record that the project syncs through this folder."""
        if self._projects.settings_here().unconfirmed == job.project:
            self._projects.confirm()
        if not table.is_allowed(self._store, job.target, job.project):
            with self._store.transaction():
                table.allow(self._store, job.target, job.project, self._journal.now())


def names_of(store: Store, project: str) -> frozenset[str]:
    """Return all names of a project."""
    return frozenset({project, *project_table.aliases_of(store, project)})


def _target(repository: Repository) -> str:
    """Return ``git:`` and this repository's id on this machine: the same in all worktrees, and after a move.

    A copy, whose original is still there, gets an id of its own.
    """
    path = repository.common_dir / _IDENTITY
    home = path.with_name(f"{_IDENTITY}-home")
    try:
        here, known = os.fsencode(repository.common_dir), _bytes(home)
        identity = _identity(path)
        if identity and known not in (b"", here) and _identity(Path(os.fsdecode(known)) / _IDENTITY) == identity:
            identity = ""
        identity = identity or _made(path)
        if known != here:
            write_atomically(home, here)
        return f"git:{identity}"
    except OSError:  # a git directory that cannot be written still has a place
        return f"git:{hashlib.sha256(os.fsencode(repository.common_dir)).hexdigest()[:_ID_CHARS]}"


def _bytes(path: Path) -> bytes:
    try:
        return read_bounded(path, 4_096)
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _identity(path: Path) -> str:
    text = _bytes(path)[:64].decode("ascii", "replace").strip()
    return text if len(text) == _ID_CHARS and not set(text) - set("0123456789abcdef") else ""


def _made(path: Path) -> str:
    identity = os.urandom(_ID_CHARS // 2).hex()
    part = path.with_name(f"{path.name}.{identity}")
    part.write_text(f"{identity}\n", encoding="ascii")
    part.replace(path)
    return _identity(path)


def _renamed(mutation: Mutation, project: str) -> Mutation:
    """Return a row as the machine would write it that calls its project so."""
    old, prefix = mutation.project, MANUAL_PREFIX
    new: dict[Any, str] = {old: project, f"{prefix}{old}": f"{prefix}{project}"}
    key = new.get(mutation.entity_key, mutation.entity_key) if mutation.entity in ("project", "session") else None
    named = {name: new.get(mutation.payload.get(name), mutation.payload.get(name)) for name in _NAMES}
    payload = mutation.payload | {name: value for name, value in named.items() if name in mutation.payload}
    return replace(mutation, project=project, entity_key=key or mutation.entity_key, payload=payload)


# The columns that name a project, or the session that a command line files under.
_NAMES = ("project", "session_id", "id", "name")
