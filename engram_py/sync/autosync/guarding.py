"""What a server may not do, whoever pushed it there: reach from one project into another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engram_py.database.store import Store
from engram_py.sync.mutation import Mutation
from engram_py.sync.replica.project_access import ProjectAccess, normal

# Other names first: they say what is whose. Older texts last: they go with their observation.
_ORDER = {"alias": 0, "version": 2}


def within(
    store: Store, names: Sequence[str], mutations: Sequence[Mutation]
) -> tuple[list[Mutation], list[tuple[Mutation, str]]]:
    """Of what arrived for the projects ``names``, what is of the project it came under, and the rest with the reason
    for a person.

    A row that says it was given another project than the one it came under is taken for one of the latter.
    """
    guard = _Guard(ProjectAccess(store, mutations), frozenset(map(normal, names)))
    kept: list[Mutation] = []
    left: list[tuple[Mutation, str]] = []
    for mutation in sorted(mutations, key=lambda one: _ORDER.get(one.entity, 1)):
        if reason := guard.refusal(mutation):
            left.append((mutation, reason))
        else:
            guard.walls.took(mutation)
            kept.append(guard.named(mutation))
    return kept, left


@dataclass(frozen=True, slots=True)
class _Guard:
    walls: ProjectAccess
    enrolled: frozenset[str]

    def refusal(self, mutation: Mutation) -> str:
        """Why a row may not come under its project; '' when it may."""
        if mutation.entity == "alias" and mutation.op == "upsert":
            return self._takes_over(mutation)
        other = next((name for name in self.walls.owners(mutation) if not self._is_of(name, mutation.project)), None)
        if other is None:
            return ""
        if self.walls.canonical(mutation.project) == other:
            return f"it is a row of {other} here, which is not enrolled: `engram cloud enroll {other}`"
        return f"it belongs to {other} here, and came under {mutation.project}: {_joins(other, mutation.project)}"

    def named(self, mutation: Mutation) -> Mutation:
        given = mutation.payload.get("project")
        if not isinstance(given, str) or self._is_of(given, mutation.project):
            return mutation
        return replace(mutation, payload={**mutation.payload, "project": mutation.project})

    def _takes_over(self, alias: Mutation) -> str:
        key, project = normal(alias.entity_key), alias.project
        if self._is_of(key, project) or not self.walls.is_taken(key):
            return ""
        # A merge on another machine ends the project under its own name, where only its own people write.
        if key in self.enrolled and self.walls.is_given_up(key):
            return ""
        said = f"it makes {key} another name of {project}, and {key} is a project of its own here"
        return f"{said}: {_joins(key, project)}"

    def _is_of(self, name: str, project: str) -> bool:
        """Whether a name is one of the project's, and not of one that it became part of on this machine alone."""
        now = self.walls.canonical(name)
        return now == self.walls.canonical(project) and not self.enrolled.isdisjoint((normal(name), now))


def _joins(name: str, project: str) -> str:
    return f"if they are one, `engram projects merge {name} --into {project}` joins them"
