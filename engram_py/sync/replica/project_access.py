"""The walls between projects: whose a row that arrived is here, and which names may become another name of a project.

What arrives says itself which project it is of. Whoever may write to one project must not reach, by saying so, into
the others that are kept on the same machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engram_py.database.store import Store
from engram_py.errors import InvalidProjectError
from engram_py.projects import table as project_table
from engram_py.projects.names import normalize_project
from engram_py.sync.merge import version_owner
from engram_py.sync.mutation import Mutation
from engram_py.sync.replica import project_access_table as table


class ProjectAccess:
    """What is here as a batch arrives; what is taken of the batch is told to it (``took``)."""

    def __init__(self, store: Store, mutations: Sequence[Mutation]) -> None:
        self._store = store
        self._owners = table.owners(store, {_identity(one) for one in mutations})
        self._became = {row["alias"]: row["project"] for row in project_table.aliases(store)}
        self._ended = {normal(one.entity_key): one.clock for one in mutations if _ends_itself(one)}

    def canonical(self, name: str) -> str:
        """What a project is called now."""
        name, seen = normal(name), set[str]()
        while name in self._became and name not in seen:
            seen.add(name)
            name = self._became[name]
        return name

    def owners(self, mutation: Mutation) -> Iterable[str]:
        """The projects that the row is of here: none when it is new. A project is its own."""
        if mutation.entity == "project":
            return (normal(mutation.entity_key),)
        return sorted(self._owners.get(_identity(mutation), ()))

    def is_taken(self, name: str) -> bool:
        """Whether a name is somebody's here, so that it cannot become another name of a project from outside."""
        return table.is_taken(self._store, normal(name))

    def is_known(self, name: str) -> bool:
        """Whether there is a project of this name, be it an empty one, or a name that is taken."""
        name = normal(name)
        return project_table.exists(self._store, name) or table.is_taken(self._store, name)

    def is_given_up(self, name: str) -> bool:
        """Whether those who write to a project ended it, as they do when they merge it into another, and nobody here
        made it part of another one."""
        name = normal(name)
        if name in self._became:
            return False
        return table.is_given_up(self._store, name, self._ended.get(name, ""))

    def took(self, mutation: Mutation) -> None:
        """What is taken belongs to its project, for the rest of the batch too."""
        if mutation.op != "upsert" or mutation.entity == "version":
            return
        if mutation.entity == "alias":
            name, project = normal(mutation.entity_key), self.canonical(mutation.project)
            if name != project:
                self._became[name] = project
        self._owners.setdefault(_identity(mutation), {normal(mutation.project)})


def normal(name: str) -> str:
    """The one spelling of a project's name; what is no name stays as it is, to be refused where it is read."""
    try:
        return normalize_project(name)
    except InvalidProjectError:
        return name


def _identity(mutation: Mutation) -> tuple[str, str]:
    """The row whose project decides: of an older text, its observation."""
    if mutation.entity == "version":
        return "observation", version_owner(mutation.entity_key)[0]
    named = mutation.entity in ("alias", "project")
    return mutation.entity, normal(mutation.entity_key) if named else mutation.entity_key


def _ends_itself(mutation: Mutation) -> bool:
    ends = (mutation.entity, mutation.op) == ("project", "delete")
    return ends and normal(mutation.entity_key) == normal(mutation.project)
