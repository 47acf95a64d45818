"""Resolve the project of a call, list projects, and map repositories, names and aliases to them, also after clones and
moves.
"""

from __future__ import annotations

from pathlib import Path

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.files import expanded, readable_path
from engram_py.base.reasons import Told, operation, reason, sentence
from engram_py.base.settings import Settings
from engram_py.memory.projects import table
from engram_py.memory.projects.locate import Location, Locator, locate, names_of_remote, rebind, write_binding
from engram_py.memory.projects.settings_file import ProjectSettings
from engram_py.memory.projects.values import (
    AmbiguousProjectError,
    CurrentProject,
    InvalidProjectError,
    Place,
    ProjectLine,
    UnknownProjectError,
    former_spelling,
    normalize_project,
    similar_projects,
    slug_project,
)


class Projects:
    """Resolves the project of a call: argument, session, override, config file, git, folder; in that order."""

    def __init__(
        self, store: Store, journal: Journal, locator: Locator, *, directory: Path, override: str | None = None
    ) -> None:
        self._store = store
        self._journal = journal
        self._locator = locator
        self.directory = directory
        self._override = override
        self._identities = Identities(store, journal)
        self._session_project: str | None = None

    def enter(self, project: str | None) -> None:
        """Use ``project`` for calls that name neither project nor session."""
        self._session_project = project

    def without_override(self) -> Projects:
        """Return the same without this process's override: for records of other processes."""
        return Projects(self._store, self._journal, self._locator, directory=self.directory)

    def _located(self, directory: Path, *, head: bool = True) -> Location:
        """Return the location, without a name that only an unconfirmed settings file gives it."""
        location = self._locator.locate(directory, head=head)
        if location.source == "git_child" and location.repository is not None:
            child = self._located(location.repository.root, head=head)
            return replace(location, name=child.name, warnings=(*location.warnings, *child.warnings))
        if location.source == "git_binding" and self._identities.is_copy(location):
            name, *others = names_of_remote(location.repository) if location.repository else ()
            return replace(location, source="git_remote", name=name, fallback_names=tuple(others))
        if location.source != "config" or self._identities.is_confirmed(location):
            return location
        file = location.settings.path.name if location.settings.path else ".engram.json"
        said = reason("unconfirmed_name", file=file, project=location.name)
        found = locate(location.directory, by_settings=False)
        return replace(found, unconfirmed=location.name or "", warnings=(*found.warnings, said))

    def confirm(self) -> str:
        """Follow the name in this folder's settings file, and return the project.

        Raises InvalidProjectError: no settings file names one.
        """
        location = self._locator.locate(self.directory)
        if location.source != "config" or location.name is None:
            raise InvalidProjectError("", "no .engram.json here names a project")
        with self._store.transaction():
            project = self._identities.meant(location.name)
            self._identities.confirm(location, project)
        return project

    # --- resolving -------------------------------------------------------------------------------------

    def for_write(
        self,
        project: str | None = None,
        *,
        session_id: str | None = None,
        directory: str | None = None,
        scope: str | None = None,
    ) -> Place:
        """Return the one project a write goes to, created when it is new. Call inside the write's transaction.

        Raises:
            AmbiguousProjectError: nothing decides between several, or nothing names one. A personal or global
                observation belongs to no project, so then it is filed under its scope's name.
            InvalidProjectError: ``project`` is not a name.
        """
        place = self._named(project, session_id, elsewhere=directory is not None)
        location = None
        if place is None:
            location = self._located(expanded(directory) if directory else self.directory)
            place = self._at(location)
        if not place.project:
            if scope in ("personal", "global"):
                place = Place(scope, "scope", place.path, (scope,))
            else:
                candidates = place.reads or [line.name for line in table.lines(self._store)][:10]
                raise AmbiguousProjectError(place.path, candidates, *place.warnings)
        ensured = self._ensured(place, explicit=bool(project))
        if location is not None and place.source != "scope":
            self._identities.remember(location, place.project)
        return ensured

    def for_read(
        self,
        project: str | None = None,
        *,
        session_id: str | None = None,
        all_projects: bool = False,
        head: bool = True,
    ) -> Place:
        """Return where a read looks: without one project the candidates, or everything, with a warning.

        Without ``head`` git is not asked for the present branch and commit.
        """
        if all_projects:
            return Place("", "all", str(self.directory), None)
        named = self._named(project, session_id, head=head)
        if named is None:
            return self._at(self._located(self.directory, head=head))
        if project and not table.exists(self._store, named.project):
            near = similar_projects(named.project, table.names(self._store))
            warning = reason("no_memory_yet", project=named.project, similar=tuple(near))
            return replace(named, warnings=(*named.warnings, warning))
        return named

    def existing(self, project: str) -> str:
        """Return the present name of ``project``. Raises InvalidProjectError, UnknownProjectError."""
        return self._identities.existing(normalize_project(project))

    def current(self) -> CurrentProject:
        """Return the project of this process. Never raises."""
        location = self._located(self.directory)
        place = self._named(None, None) or self._at(location)
        repository = location.repository
        ambiguous = not place.project
        return CurrentProject(
            project=place.project or None,
            project_source=place.source,
            project_path=place.path,
            candidates=location.candidates if ambiguous else (),
            remote=repository.remote if repository else None,
            branch=repository.branch if repository else None,
            known=bool(place.project) and table.exists(self._store, place.project),
            hint=sentence("give ", operation("project"), " when you save") if ambiguous else None,
            warnings=place.warnings,
        )

    def adopt(self, project: str) -> None:
        """The repository of this directory is ``project`` from now on. Call inside a transaction."""
        self._identities.adopt(self._located(self.directory), project)
        self._locator.forget()

    def is_of_another_repository(self, name: str) -> bool:
        """Return whether a name is the project of another repository than that of this directory."""
        location = self._located(self.directory)
        return location.repository is not None and self._identities.belongs_to_another(name, location)

    def preferences(self) -> ProjectSettings:
        """Return the ``.engram.json`` settings of this directory; does not ask git."""
        return self._located(self.directory, head=False).settings

    def settings_here(self) -> Location:
        """Return the location of this process's directory, with its ``.engram.json``."""
        return self._located(self.directory)

    def _named(
        self, project: str | None, session_id: str | None, *, elsewhere: bool = False, head: bool = True
    ) -> Place | None:
        """Return the project somebody named: by argument, by the session, or for the whole process.

        ``elsewhere``: the call names a directory of its own, which the process's session says nothing about.
        """
        if project:
            name = normalize_project(project)
            warnings = () if name == project else (reason("name_normalized", given=project, name=name),)
            return self._place(name, "explicit", warnings=warnings, head=head)
        if session_id is not None and session_id.strip():
            from engram_py.base.capture.session_id import clean_session_id  # redaction is not loaded for nothing

            session_id = clean_session_id(session_id)
        else:
            session_id = None  # hosts send blanks for what they leave out
        project, directory = table.place_of_session(self._store, session_id or "")
        if project:
            return self._place(project, "session", path=directory, head=head)
        if self._session_project and not session_id and not elsewhere:
            return self._place(self._session_project, "session", head=head)
        if self._override:
            return self._place(normalize_project(self._override), "override", here=True, head=head)
        return None

    def _place(
        self,
        name: str,
        source: str,
        *,
        path: str = "",
        here: bool = False,
        warnings: tuple[Told, ...] = (),
        head: bool = True,
    ) -> Place:
        """Return a named project, with the branch and preferences of this directory where it is its project."""
        name = self._identities.meant(name)
        place = Place(name, source, path or str(self.directory), (name,), warnings=warnings)
        location = self._located(self.directory, head=head)
        is_here = location.name is not None and self._identities.owner(location) == name
        if here or is_here:
            branch, commit = _head(location)
            reads = self._read_at(location) if is_here else place.reads
            scope = location.settings.default_scope
            return replace(place, reads=reads, default_scope=scope, branch=branch, commit=commit)
        return place

    def _read_at(self, location: Location) -> tuple[str, ...]:
        """Return the project of a directory, and of a submodule's directory the projects around it as well."""
        names, found = dict[str, None](), location
        while found.name is not None:
            names[self._identities.owner(found)] = None
            if found.superproject is None:
                break
            found = self._located(found.superproject, head=False)
        return tuple(names)

    def _at(self, location: Location) -> Place:
        """Return the project of a directory; with an empty name when there is not exactly one."""
        path = str(location.directory)
        warnings = location.warnings
        if location.source == "ambiguous":
            names = tuple(self._identities.meant(name) for name in location.candidates)
            return Place("", "ambiguous", path, names, warnings=(reason("several_repositories"), *warnings))
        if location.name is None:
            return Place("", "none", path, None, warnings=(reason("no_project_here", nameless=True), *warnings))
        reads = self._read_at(location)
        branch, commit = _head(location)
        source, scope = _engram_source(location), location.settings.default_scope
        return Place(reads[0], source, path, reads, scope, branch, commit, warnings=warnings)

    def _ensured(self, place: Place, *, explicit: bool) -> Place:
        """Add the project of ``place`` to the table; a new explicit name gets a note that lists similar names."""
        if table.exists(self._store, place.project):
            return place
        near = similar_projects(place.project, table.names(self._store))
        self._identities.create(place.project)
        said = (reason("created_project", project=place.project, similar=tuple(near)),) if explicit or near else ()
        return replace(place, created=True, warnings=(*place.warnings, *said))

    # --- listing ---------------------------------------------------------------------------------------

    def list(self) -> tuple[ProjectLine, ...]:
        """Return all projects, the most recently active first."""
        return tuple(table.lines(self._store))

    def named_like(self, part: str) -> tuple[str, ...]:
        """Return the names that hold ``part``, those that begin with it first, then the most recently active."""
        found = [name for name in table.latest_names(self._store) if part.lower() in name.lower()]
        return tuple(sorted(found, key=lambda name: not name.lower().startswith(part.lower())))


@dataclass(frozen=True)
class Core:
    """The base of every service of an open memory: the file, its journal, the project of a call, the settings."""

    store: Store
    journal: Journal
    projects: Projects
    settings: Settings


def _engram_source(location: Location) -> str:
    """Return the source of a project as Engram names it: a bound repository counts as its remote or root."""
    if location.source != "git_binding":
        return location.source
    remote = location.repository is not None and location.repository.remote
    return "git_remote" if remote else "git_root"


def _head(location: Location) -> tuple[str | None, str | None]:
    repository = location.repository
    return (None, None) if repository is None else (repository.branch, repository.commit)


class Identities:
    """One project per repository. A clone is known by its remote, a worktree or subfolder by the common git
    directory, a moved or re-pointed repository by the binding file inside that directory."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store, self._journal = store, journal

    def canonical(self, name: str) -> str:
        """Return the project that ``name`` is now: itself, or what it was merged into."""
        if table.exists(self._store, name):
            return name
        return table.target_of_alias(self._store, name) or name

    def meant(self, name: str) -> str:
        """Return the project of ``name``, also one that an earlier version spelled differently."""
        project, former = self.canonical(name), former_spelling(name)
        if former == name or table.exists(self._store, project):
            return project
        earlier = self.canonical(former)
        return earlier if table.exists(self._store, earlier) else project

    def existing(self, name: str) -> str:
        """Return the project that ``name`` means. Raises UnknownProjectError when nothing was ever kept for it."""
        project = self.meant(name)
        if not table.exists(self._store, project):
            known = table.names(self._store)
            raise UnknownProjectError(name, similar_projects(name, known), known)
        return project

    def owner(self, location: Location) -> str:
        """Return the project of a located directory; two repositories never share one by the accident of a name."""
        assert location.name is not None
        repository = location.repository
        if repository is None or location.source in ("config", "git_binding", "git_child", "dir_basename"):
            return self.meant(location.name)
        for kind, value in _identities(location):
            known = table.identity_owner(self._store, kind, value)
            # Another repository may have been cloned into a folder we knew: then only the remote counts.
            if known and (kind == "remote" or not self.belongs_to_another(known, location)):
                return known
        parent = slug_project(f"{repository.main_folder.parent.name}-{location.name}")
        for name in (location.name, *location.fallback_names, *([parent] if parent else ())):
            project = self.meant(name)
            if not self.belongs_to_another(project, location):
                return project
        import hashlib

        digest = hashlib.sha256(str(_identities(location)[0]).encode()).hexdigest()[:6]
        return self.meant(f"{location.name}-{digest}")

    def is_copy(self, location: Location) -> bool:
        """Return whether a repository was copied with its binding, and has a remote of its own by now.

        The original is still where it was, and the remote is none of its project's. A repository that was moved, or
        whose remote was changed in its place, stays the project it was.
        """
        repository = location.repository
        if repository is None or not names_of_remote(repository) or location.name is None:
            return False
        project, here = self.meant(location.name), readable_path(str(repository.common_dir))
        if repository.remote in table.identities_of(self._store, "remote", project):
            return False
        folders = table.identities_of(self._store, "common_dir", project)
        return here not in folders and any(Path(folder).exists() for folder in folders)

    def is_confirmed(self, location: Location) -> bool:
        """Return whether the name in a settings file may be followed: a clone's must not open another's memory.

        It may where the project has no memory, where it began here, and where a person confirmed it.
        """
        assert location.name is not None
        project, places = self.meant(location.name), _places(location)
        return table.is_confirmed(self._store, project, places) or table.began_below(
            self._store, project, str(_root(location))
        )

    def confirm(self, location: Location, project: str) -> None:
        """Note that this place is ``project``, whoever named it. Call inside a transaction."""
        if not table.exists(self._store, project):
            self.create(project)
        for place in _places(location):
            table.confirm(self._store, project, place, now=self._journal.now())

    def remember(self, location: Location, project: str) -> None:
        """Note that this repository is ``project``, which exists: here, and in the repository's own git directory."""
        repository = location.repository
        if location.source == "config" and not table.is_confirmed(self._store, project, _places(location)):
            self.confirm(location, project)
        if repository is None or location.source in ("config", "git_child"):
            return
        if all(table.identity_owner(self._store, *one) == project for one in _identities(location)):
            return
        self._set(location, project)
        if location.source != "git_binding":
            bound = write_binding(repository.common_dir, project)
            if bound is not None and self.canonical(bound.project) != project:
                rebind(repository.common_dir, project, copied=True)

    def adopt(self, location: Location, project: str) -> None:
        """This repository is ``project`` from now on, whatever it was and whatever its remote is called."""
        if not table.exists(self._store, project):
            self.create(project)
        self._set(location, project)
        if location.repository is not None:
            rebind(location.repository.common_dir, project)

    def _set(self, location: Location, project: str) -> None:
        from engram_py.base.capture.redact import redact  # once for each place

        for kind, value in _identities(location):
            if redact(value).count:
                continue
            values = {"kind": kind, "value": value, "project": project, "created_at": self._journal.now()}
            self._store.insert("project_identities", values, replace=True)

    def create(self, project: str) -> None:
        now, clock = self._journal.now(), self._journal.stamp()
        values = {"name": project, "display_name": project, "created_at": now, "updated_at": now, "clock": clock}
        self._store.insert("projects", values)
        self._journal.changed("project", project, project=project, clock=clock)

    def belongs_to_another(self, project: str, location: Location) -> bool:
        """Return whether a different repository owns this name, by its remote or else its directory."""
        repository = location.repository
        assert repository is not None
        remotes = table.identities_of(self._store, "remote", project)
        if repository.remote and remotes:
            return repository.remote not in remotes
        here = readable_path(str(repository.common_dir))
        others = [known for known in table.identities_of(self._store, "common_dir", project) if known != here]
        return any(Path(known).exists() for known in others)  # one that is gone was moved here, or deleted


def _root(location: Location) -> Path:
    return location.repository.root if location.repository else location.directory


def _places(location: Location) -> list[str]:
    """Return the names of a place that stay: after a move the remote, without one the git directory or the folder."""
    return [value for _, value in _identities(location)] or [readable_path(str(location.directory))]


def _identities(location: Location) -> list[tuple[str, str]]:
    repository = location.repository
    if repository is None:
        return []
    remote = [("remote", repository.remote)] if repository.remote else []
    return [*remote, ("common_dir", readable_path(str(repository.common_dir)))]
