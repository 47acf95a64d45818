"""Which rows of a chunk are a repository's business: a clone must not write into the memory of another project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engram_py.errors import InvalidProjectError
from engram_py.models.mutation import Mutation
from engram_py.project.files import readable_path
from engram_py.project.names import normalize_project
from engram_py.services.git_sync.job import Job
from engram_py.store import chunks as table
from engram_py.store.database import Store


@dataclass(slots=True)
class Choice:
    """What is taken of a chunk. ``names`` are the project's, with those that its rows added; None takes all."""

    names: frozenset[str] | None
    taken: list[Mutation] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def choose(store: Store, job: Job, mutations: Sequence[Mutation], names: frozenset[str] | None) -> Choice:
    """The rows that say they are of this project, and are of no other one here. Aliases come first in ``mutations``."""
    choice = Choice(names)
    if names is None:
        choice.taken = list(mutations)
        return choice
    here = table.projects_here(store, [(one.entity, one.entity_key) for one in mutations])
    for mutation in mutations:
        assert choice.names is not None
        alias = mutation.entity == "alias" and mutation.op == "upsert"
        if alias and _renames(store, mutation, choice.names):
            choice.names |= {_normal(mutation.project)}
        said = [*_projects(mutation), *here.get((mutation.entity, mutation.entity_key), ())]
        strange = next((name for name in said if _normal(name) not in choice.names), None)
        if strange is not None:
            choice.left_out[strange] += 1
        elif alias and _is_anothers(store, job, mutation.entity_key):
            choice.problems.append(
                f"it makes {mutation.entity_key} another name of {mutation.project}, and {mutation.entity_key} is "
                f"another repository here; `engram sync --all` believes it"
            )
        else:
            choice.names |= {_normal(mutation.entity_key)} if alias else set()
            choice.taken.append(mutation)
    return choice


def all_names(store: Store, project: str) -> frozenset[str]:
    """Every name of a project."""
    return frozenset({project, *table.aliases_of(store, project)})


def _projects(mutation: Mutation) -> Iterable[str]:
    """The projects that a row names in any place."""
    yield mutation.project
    named = mutation.payload.get("project")
    if isinstance(named, str) and named.strip():
        yield named
    if mutation.entity == "project" or (mutation.entity == "alias" and mutation.op == "delete"):
        yield mutation.entity_key


def _renames(store: Store, alias: Mutation, names: frozenset[str]) -> bool:
    """Whether this project got a new name elsewhere: one that nothing has here."""
    new = _normal(alias.project)
    return _normal(alias.entity_key) in names and new not in names and not table.is_project(store, new)


def _is_anothers(store: Store, job: Job, project: str) -> bool:
    common_dir = readable_path(str(job.common_dir))
    return table.owned_elsewhere(store, _normal(project), common_dir=common_dir, remote=job.remote)


def _normal(project: str) -> str:
    try:
        return normalize_project(project)
    except InvalidProjectError:
        return project
