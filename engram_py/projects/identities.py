"""Map repositories, names and aliases to projects, also after clones and moves."""

from __future__ import annotations

from pathlib import Path

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.files import readable_path
from engram_py.projects import table
from engram_py.projects.locate import Location, rebind, write_binding
from engram_py.projects.names import former_spelling, similar_projects, slug_project
from engram_py.projects.values import UnknownProjectError


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
            if known and (kind == "remote" or not self._belongs_to_another(known, location)):
                return known
        parent = slug_project(f"{repository.main_folder.parent.name}-{location.name}")
        for name in (location.name, *location.fallback_names, *([parent] if parent else ())):
            project = self.meant(name)
            if not self._belongs_to_another(project, location):
                return project
        import hashlib

        digest = hashlib.sha256(str(_identities(location)[0]).encode()).hexdigest()[:6]
        return self.meant(f"{location.name}-{digest}")

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
            write_binding(repository.common_dir, project)

    def adopt(self, location: Location, project: str) -> None:
        """This repository is ``project`` from now on, whatever it was and whatever its remote is called."""
        if not table.exists(self._store, project):
            self.create(project)
        self._set(location, project)
        if location.repository is not None:
            rebind(location.repository.common_dir, project)

    def _set(self, location: Location, project: str) -> None:
        from engram_py.capture.redact import redact  # once for each place

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

    def _belongs_to_another(self, project: str, location: Location) -> bool:
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
