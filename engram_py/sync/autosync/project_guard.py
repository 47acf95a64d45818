"""Decide which rows of a page may come under the project that the server lists them under."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Store
from engram_py.dataclass import dataclass, replace
from engram_py.sync.mutation import Mutation
from engram_py.sync.replica.project_access import ProjectAccess, normalized

# Aliases first, because they decide ownership; versions last, after their observation.
_ORDER = {"alias": 0, "version": 2}


def allowed_rows(
    store: Store, names: Sequence[str], mutations: Sequence[Mutation]
) -> tuple[list[Mutation], list[tuple[Mutation, str]]]:
    """Split arrived rows into those of their project and those of others, each with a reason for a person.

    A row that says it was given another project than the one it came under is taken for one of the latter.
    """
    guard = _ProjectGuard(ProjectAccess(store, mutations), frozenset(map(normalized, names)))
    kept: list[Mutation] = []
    left: list[tuple[Mutation, str]] = []
    for mutation in sorted(mutations, key=lambda one: _ORDER.get(one.entity, 1)):
        if reason := guard.refusal(mutation):
            left.append((mutation, reason))
        else:
            guard.access.record(mutation)
            kept.append(guard.with_project(mutation))
    return kept, left


@dataclass(frozen=True, slots=True)
class _ProjectGuard:
    access: ProjectAccess
    enrolled: frozenset[str]

    def refusal(self, mutation: Mutation) -> str:
        """Return why a row may not come under its project, '' when it may."""
        if mutation.entity == "alias" and mutation.op == "upsert":
            return self._alias_refusal(mutation)
        other = next(
            (name for name in self.access.owners(mutation) if not self._belongs_to(name, mutation.project)), None
        )
        if other is None:
            return ""
        if self.access.canonical(mutation.project) == other:
            return f"it is a row of {other} here, which is not enrolled: `engram cloud enroll {other}`"
        return f"it belongs to {other} here, and came under {mutation.project}: {_merge_hint(other, mutation.project)}"

    def with_project(self, mutation: Mutation) -> Mutation:
        given = mutation.payload.get("project")
        if not isinstance(given, str) or self._belongs_to(given, mutation.project):
            return mutation
        return replace(mutation, payload={**mutation.payload, "project": mutation.project})

    def _alias_refusal(self, alias: Mutation) -> str:
        key, project = normalized(alias.entity_key), alias.project
        if self._belongs_to(key, project) or not self.access.is_taken(key):
            return ""
        # A merge on another machine ends the project under its own name, where only its writers may.
        if key in self.enrolled and self.access.is_given_up(key):
            return ""
        said = f"it makes {key} another name of {project}, and {key} is a project of its own here"
        return f"{said}: {_merge_hint(key, project)}"

    def _belongs_to(self, name: str, project: str) -> bool:
        """Return whether a name is one of the project's, not counting merges made on this machine alone."""
        now = self.access.canonical(name)
        return now == self.access.canonical(project) and not self.enrolled.isdisjoint((normalized(name), now))


def _merge_hint(name: str, project: str) -> str:
    return f"if they are one, `engram projects merge {name} --into {project}` joins them"
