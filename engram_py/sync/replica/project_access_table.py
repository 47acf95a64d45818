"""SQL over what stands between projects: whose a row is here, and whether a name is somebody's."""

from __future__ import annotations

import json
from collections.abc import Iterable

from engram_py.database.store import Store
from engram_py.sync.replica.table import MADE_UP

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
HAS_MEMORY = f"{_MEMORY} limit 1"
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
    """Of rows (kind, key), the projects that each is of here; what is not here is not in it."""
    wanted = list(rows)
    found: dict[tuple[str, str], set[str]] = {}
    for kind, sql in OWNERS.items():
        keys = [key for entity, key in wanted if entity == kind]
        for row in store.rows(sql, keys=json.dumps(keys)) if keys else ():
            if row["project"]:
                found.setdefault((kind, row["key"]), set()).add(row["project"])
    for row in store.rows(CARRIED_OWNERS, keys=json.dumps(wanted)):
        found.setdefault((row["entity"], row["key"]), set()).add(row["project"])
    return found


def has_memory(store: Store, project: str) -> bool:
    """Whether anything was remembered of the project: an observation, a session or a prompt."""
    return store.row(HAS_MEMORY, name=project) is not None


def is_taken(store: Store, name: str) -> bool:
    """Whether anything here has this name, but for an empty project."""
    return store.row(IS_TAKEN, name=name) is not None


def is_given_up(store: Store, name: str, ended: str) -> bool:
    """Whether the project was ended under its own name, as a merge elsewhere does; ``ended`` is when, for an end that
    is just arriving, or ''."""
    return store.row(IS_GIVEN_UP, name=name, ended=ended) is not None
