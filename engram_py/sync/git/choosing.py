"""Which rows of a chunk are a repository's business: a clone must not write into the memory of another project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engram_py.database.store import Store
from engram_py.sync.git import table
from engram_py.sync.mutation import Mutation
from engram_py.sync.replica.project_access import ProjectAccess, normal


@dataclass(slots=True)
class Choice:
    """What is taken of a chunk. ``names`` are the project's, with those that its rows added; None takes all."""

    names: frozenset[str] | None
    taken: list[Mutation] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def choose(store: Store, mutations: Sequence[Mutation], names: frozenset[str] | None) -> Choice:
    """The rows that say they are of this project, and are of no other one here. Aliases come first in ``mutations``."""
    choice = Choice(names)
    if names is None:
        choice.taken = list(mutations)
        return choice
    walls = ProjectAccess(store, mutations)
    for mutation in mutations:
        _choose(walls, mutation, choice)
    return choice


def _choose(walls: ProjectAccess, mutation: Mutation, choice: Choice) -> None:
    assert choice.names is not None
    alias = mutation.entity == "alias" and mutation.op == "upsert"
    if alias and _renames(walls, mutation, choice.names):
        choice.names |= {normal(mutation.project)}
    key = normal(mutation.entity_key)
    # Whose the name of an alias is, is told in words.
    said = [*_projects(mutation), *(() if alias else walls.owners(mutation))]
    strange = next((name for name in said if normal(name) not in choice.names), None)
    if strange is not None:
        choice.left_out[strange] += 1
    elif alias and key not in choice.names and walls.is_taken(key):
        choice.problems.append(
            f"it makes {key} another name of {mutation.project}, and {key} is a project of its own here; if they are "
            f"one, `engram projects merge {key} --into {mutation.project}` joins them, `engram sync --all` believes it"
        )
    else:
        choice.names |= {key} if alias else set()
        choice.taken.append(mutation)


def all_names(store: Store, project: str) -> frozenset[str]:
    """Every name of a project."""
    return frozenset({project, *table.aliases_of(store, project)})


def _projects(mutation: Mutation) -> Iterable[str]:
    """The projects that a row names in any place."""
    yield mutation.project
    named = mutation.payload.get("project")
    if isinstance(named, str) and named.strip():
        yield named
    if mutation.entity == "alias" and mutation.op == "delete":
        yield mutation.entity_key


def _renames(walls: ProjectAccess, alias: Mutation, names: frozenset[str]) -> bool:
    """Whether this project got a new name elsewhere: one that nothing has here."""
    new = normal(alias.project)
    return normal(alias.entity_key) in names and new not in names and not walls.is_known(new)
