"""Whether the repository of the working directory is the one an observation's project means."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from engram_py.anchors.worktree import WorkingTree
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.git.repository import Repository
from engram_py.projects.identities import Identities
from engram_py.projects.projects import Projects


class Here:
    """The repository of this process's directory and the project it belongs to, found out once per call."""

    def __init__(self, store: Store, journal: Journal, projects: Projects) -> None:
        location = projects.settings_here()
        repository = location.repository
        self._projects = projects
        self.directory: Path = location.directory
        self.repository: Repository | None = None if repository is None or repository.bare else repository
        self.tree = None if self.repository is None else WorkingTree(self.repository)
        named = self.repository is not None and location.name is not None
        self._own = Identities(store, journal).owner(location) if named else None

    @cached_property
    def names(self) -> frozenset[str]:
        """The projects whose code this is: the repository's own, and the one that ``--project`` says it is."""
        if self.repository is None:
            return frozenset()
        place = self._projects.for_read()
        said = place.project if place.source == "override" else None
        return frozenset(name for name in (self._own, said) if name)

    def repository_of(self, project: str) -> Repository | None:
        """The repository here, when ``project`` is its project."""
        return self.repository if self._is_here(project) else None

    def tree_of(self, project: str) -> WorkingTree | None:
        """The files here, when they are those of ``project``."""
        return self.tree if self._is_here(project) else None

    def _is_here(self, project: str) -> bool:
        return self.repository is not None and (project == self._own or project in self.names)
