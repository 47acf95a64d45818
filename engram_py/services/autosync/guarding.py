"""What a server may not do, whoever pushed it there: reach into a project that was not enrolled at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engram_py.models.mutation import Mutation
from engram_py.store import chunks as table
from engram_py.store.database import Store


def within(
    store: Store, names: Sequence[str], mutations: Sequence[Mutation]
) -> tuple[list[Mutation], list[tuple[Mutation, str]]]:
    """Of what arrived for the projects ``names``, what is theirs, and the rest with the reason for a person.

    A row that says it was given another project than the one it came under is taken for one of the latter.
    """
    every = {alias for name in names for alias in table.aliases_of(store, name)}.union(names)
    here = table.projects_here(store, [(one.entity, one.entity_key) for one in mutations])
    kept: list[Mutation] = []
    left: list[tuple[Mutation, str]] = []
    for mutation in mutations:
        others = [name for name in here.get((mutation.entity, mutation.entity_key), ()) if name not in every]
        key = mutation.entity_key
        if others:
            left.append((mutation, f"it is a row of {others[0]} here, which is not enrolled: `engram cloud enroll`"))
        elif mutation.entity == "alias" and key not in every and table.has_memory(store, key):
            said = f"it makes {key} another name of {mutation.project}, and {key} is a project of its own here: "
            left.append((mutation, f"{said}`engram projects merge {key} --into {mutation.project}` joins them"))
        else:
            kept.append(_named(mutation, every))
    return kept, left


def _named(mutation: Mutation, every: set[str]) -> Mutation:
    given = mutation.payload.get("project")
    if not isinstance(given, str) or given in every:
        return mutation
    return replace(mutation, payload={**mutation.payload, "project": mutation.project})
