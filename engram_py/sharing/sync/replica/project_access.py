"""Decide which project an arrived row belongs to here, so that no project reaches into another.

A row says itself which project it is of. Whoever may write to one project must not reach the others on the same machine
by saying so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, field, replace
from engram_py.memory.projects import table as project_table
from engram_py.memory.projects.values import InvalidProjectError, normalize_project
from engram_py.sharing.sync.mutation import Mutation, version_owner
from engram_py.sharing.sync.replica.table import MADE_UP


class ProjectAccess:
    """The owners of rows and names here, updated with each row that is accepted (``record``)."""

    def __init__(self, store: Store, mutations: Sequence[Mutation]) -> None:
        self._store = store
        self._owners = owners(store, {_identity(one) for one in mutations})
        self._became = {row["alias"]: row["project"] for row in project_table.aliases(store)}
        self._ended = {normalized(one.entity_key): one.clock for one in mutations if _ends_itself(one)}

    def canonical(self, name: str) -> str:
        """Return the present name of a project."""
        name, seen = normalized(name), set[str]()
        while name in self._became and name not in seen:
            seen.add(name)
            name = self._became[name]
        return name

    def owners(self, mutation: Mutation) -> Iterable[str]:
        """Return the projects that a row belongs to here; none when it is new."""
        if mutation.entity == "project":
            return (normalized(mutation.entity_key),)
        return sorted(self._owners.get(_identity(mutation), ()))

    def is_taken(self, name: str) -> bool:
        return is_taken(self._store, normalized(name))

    def is_known(self, name: str) -> bool:
        """Return whether there is a project of this name, even an empty one, or the name is in use."""
        name = normalized(name)
        return project_table.exists(self._store, name) or is_taken(self._store, name)

    def is_given_up(self, name: str) -> bool:
        """Return whether the project's own writers ended it, as a merge does, and nobody here merged it elsewhere."""
        name = normalized(name)
        ended = {"name": name, "ended": self._ended.get(name, "")}
        return name not in self._became and self._store.row(IS_GIVEN_UP, **ended) is not None

    def record(self, mutation: Mutation) -> None:
        """Record an accepted row: it belongs to its project for the rest of the batch."""
        if mutation.op != "upsert" or mutation.entity == "version":
            return
        if mutation.entity == "alias":
            name, project = normalized(mutation.entity_key), self.canonical(mutation.project)
            if name != project:
                self._became[name] = project
        self._owners.setdefault(_identity(mutation), {normalized(mutation.project)})


# Aliases first, because they decide ownership; versions last, after their observation.
_ORDER = {"alias": 0, "version": 2}


def allowed_rows(
    store: Store, names: Sequence[str], mutations: Sequence[Mutation]
) -> tuple[list[Mutation], list[tuple[Mutation, str]]]:
    """Split rows that came under enrolled projects into those of their project and others, each with a reason.

    A row that says it was given another project than the one it came under is taken for one of the latter.
    """
    access, enrolled = ProjectAccess(store, mutations), frozenset(map(normalized, names))
    kept: list[Mutation] = []
    left: list[tuple[Mutation, str]] = []
    for mutation in sorted(mutations, key=lambda one: _ORDER.get(one.entity, 1)):
        if reason := _refusal(access, enrolled, mutation):
            left.append((mutation, reason))
            continue
        access.record(mutation)
        given = mutation.payload.get("project")
        foreign = isinstance(given, str) and not _belongs_to(access, enrolled, given, mutation.project)
        payload = {**mutation.payload, "project": mutation.project} if foreign else mutation.payload
        kept.append(replace(mutation, payload=payload))
    return kept, left


def _refusal(access: ProjectAccess, enrolled: frozenset[str], mutation: Mutation) -> str:
    """Return why a row may not come under its project, '' when it may."""
    project = mutation.project
    if mutation.entity == "alias" and mutation.op == "upsert":
        key = normalized(mutation.entity_key)
        # A merge on another machine ends the project under its own name, where only its writers may.
        ended = key in enrolled and access.is_given_up(key)
        if ended or not access.is_taken(key) or _belongs_to(access, enrolled, key, project):
            return ""
        said = f"it makes {key} another name of {project}, and {key} is a project of its own here"
        return f"{said}: {_merge_hint(key, project)}"
    for owner in access.owners(mutation):
        if _belongs_to(access, enrolled, owner, project):
            continue
        if access.canonical(project) == owner:
            return f"it is a row of {owner} here, which is not enrolled: `engram cloud enroll {owner}`"
        return f"it belongs to {owner} here, and came under {project}: {_merge_hint(owner, project)}"
    return ""


def _belongs_to(access: ProjectAccess, enrolled: frozenset[str], name: str, project: str) -> bool:
    """Return whether a name is one of the project's, not counting merges made on this machine alone."""
    now = access.canonical(name)
    return now == access.canonical(project) and not enrolled.isdisjoint((normalized(name), now))


def _merge_hint(name: str, project: str) -> str:
    return f"if they are one, `engram projects merge {name} --into {project}` joins them"


@dataclass(slots=True)
class FolderRows:
    """The rows to import of a chunk. ``names`` are the project's names, with those the rows added; None is any."""

    names: frozenset[str] | None
    taken: list[Mutation] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def folder_rows(store: Store, mutations: Sequence[Mutation], names: frozenset[str] | None) -> FolderRows:
    """Choose the rows that belong to this project and to no other one here. Aliases come first in ``mutations``."""
    rows = FolderRows(names)
    if names is None:
        rows.taken += mutations
        return rows
    access = ProjectAccess(store, mutations)
    for mutation in mutations:
        is_alias, key = mutation.entity == "alias" and mutation.op == "upsert", normalized(mutation.entity_key)
        if is_alias and key in names and not access.is_known(mutation.project):
            names |= {normalized(mutation.project)}  # a new name of this project, which nothing has here
        # Whose the name of an alias is, is told in words.
        owners = [*_named_projects(mutation), *(() if is_alias else access.owners(mutation))]
        foreign = next((name for name in owners if normalized(name) not in names), None)
        if foreign is not None:
            rows.left_out[foreign] += 1
        elif is_alias and key not in names and access.is_taken(key):
            said = f"it makes {key} another name of {mutation.project}, and {key} is a project of its own here"
            hint = _merge_hint(key, mutation.project)
            rows.problems.append(f"{said}; {hint}, or `engram sync --all` accepts it")
        else:
            names |= {key} if is_alias else set()
            rows.taken.append(mutation)
    rows.names = names
    return rows


def _named_projects(mutation: Mutation) -> Iterator[str]:
    """Yield every project that a row names."""
    yield mutation.project
    named = mutation.payload.get("project")
    if isinstance(named, str) and named.strip():
        yield named
    if mutation.entity == "alias" and mutation.op == "delete":
        yield mutation.entity_key


def normalized(name: str) -> str:
    """Return the canonical spelling of a project's name; an invalid name is returned as it is."""
    try:
        return normalize_project(name)
    except InvalidProjectError:
        return name


def _identity(mutation: Mutation) -> tuple[str, str]:
    """Return the row whose project decides: of an older text, its observation."""
    if mutation.entity == "version":
        return "observation", version_owner(mutation.entity_key)[0]
    named = mutation.entity in ("alias", "project")
    return mutation.entity, normalized(mutation.entity_key) if named else mutation.entity_key


def _ends_itself(mutation: Mutation) -> bool:
    ends = (mutation.entity, mutation.op) == ("project", "delete")
    return ends and normalized(mutation.entity_key) == normalized(mutation.project)


# The projects that a row of the same identity has here.
_OWNERS = "select {key} as key, project from {table} where {key} in (select value from json_each(:keys))"
OWNERS = {
    # But for a stand-in that a row of another project left for a session nobody sent yet.
    "session": _OWNERS.format(key="id", table="sessions") + f" and clock <> '{MADE_UP}'",
    "observation": _OWNERS.format(key="sync_id", table="observations"),
    "prompt": _OWNERS.format(key="sync_id", table="user_prompts"),
    "relation": _OWNERS.format(key="sync_id", table="memory_relations"),
    "alias": _OWNERS.format(key="alias", table="project_aliases")
    + " union "
    + _OWNERS.format(key="alias", table="sync_aliases"),
}

CARRIED_OWNERS = """
select entity, entity_key as key, project
from sync_carried
where (entity, entity_key) in (select value ->> 0, value ->> 1 from json_each(:keys))
"""

# What makes a name somebody's. A row of `projects` alone does not: an empty project has nothing to lose. One that
# goes to a server or through a folder has: its rows may be on their way.
_MEMORY = " union all ".join(
    f"select 1 from {table} where project = :name" for table in ("observations", "sessions", "user_prompts")
)
IS_TAKEN = f"""
{_MEMORY}
union all select 1 from memory_relations where project = :name
union all select 1 from project_aliases where :name in (alias, project)
union all select 1 from sync_aliases where :name in (alias, project)
union all select 1 from sync_renamed where project = :name
union all select 1 from sync_carried where project = :name
union all select 1 from project_identities where project = :name
union all select 1 from sync_folders where project = :name
union all select 1 from cloud_projects where project = :name
limit 1
"""

# A project that its own people ended, by what is here or by what arrives (:ended, its clock), and that was not begun
# again since.
IS_GIVEN_UP = """
select 1
from (
    select clock as ended from tombstones where entity = 'project' and entity_key = :name and project = :name
    union all select :ended
)
where ended > coalesce((select clock from projects where name = :name), '')
limit 1
"""


def owners(store: Store, rows: Iterable[tuple[str, str]]) -> dict[tuple[str, str], set[str]]:
    """Return the projects that a row belongs to here; none when it is new."""
    wanted = list(rows)
    found: dict[tuple[str, str], set[str]] = {}
    for kind, sql in OWNERS.items():
        keys = [key for entity, key in wanted if entity == kind]
        for row in store.rows(sql, keys=keys) if keys else ():
            if row["project"]:
                found.setdefault((kind, row["key"]), set()).add(row["project"])
    for row in store.rows(CARRIED_OWNERS, keys=wanted):
        found.setdefault((row["entity"], row["key"]), set()).add(row["project"])
    return found


def is_taken(store: Store, name: str) -> bool:
    """Return whether a name is in use here, so that an alias from elsewhere must not take it over."""
    return store.row(IS_TAKEN, name=name) is not None
