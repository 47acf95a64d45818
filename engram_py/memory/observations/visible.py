"""Tell which observations projects see, how many, and of which types. The counts are kept until somebody writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from engram_py.base.database.store import Store
from engram_py.memory.observations.table import SHARED
from engram_py.memory.observations.values import MOST_COUNTED

T = TypeVar("T")

_MOST_CACHED = 8  # of 10,000 ids each a megabyte
SMALL = 10_000  # a project with fewer rows is small: what it has can be known by heart

# Each is read from an index alone, and no further than :cap (-1: to the end).
_LIVE = "select id from observations {index} where {where} and deleted_at is null limit :cap"
_IN_PROJECTS = "project in (select value from json_each(:projects))"
_OWN = _LIVE.format(index="indexed by observations_recent", where=_IN_PROJECTS)
_SHARED = _LIVE.format(index="indexed by observations_shared", where=f"{SHARED} and not {_IN_PROJECTS}")
COUNT_ANYWHERE = f"select count(*) from ({_LIVE.format(index='', where='true')})"
COUNT_OWN = f"select count(*) from ({_OWN})"
COUNT_SHARED = """
select count(*) from (
    select 1
    from projects cross join observations indexed by observations_shared_of on project = projects.name
    where projects.name not in (select value from json_each(:projects)) and scope <> 'project' and deleted_at is null
    limit :cap
)
"""
COUNT_OTHERS = """
select count(*) from (
    select 1
    from projects cross join observations indexed by observations_recent on project = projects.name
    where projects.name not in (select value from json_each(:projects)) and deleted_at is null
    limit :cap
)
"""
# No index has the type: whether there is one is asked of the newest rows that the projects see.
_HAS_TYPE = """
select exists (
    select 1 from ({seen}) as seen cross join observations on observations.id = seen.id
    where type in (select value from json_each(:types))
)
"""
HAS_TYPE = _HAS_TYPE.format(seen=f"select * from ({_OWN}) union all select * from ({_SHARED})")
HAS_TYPE_ANYWHERE = _HAS_TYPE.format(seen=_LIVE.format(index="indexed by observations_newest", where="true"))
LIVE_IDS = f"select json_group_array(id) from (select * from ({_OWN}) union all select * from ({_SHARED}))"


def count_live(store: Store, projects: Sequence[str] | None, *, cap: int = -1) -> int:
    """Return how many observations the projects see; counted no further than about ``cap``."""
    if projects is None:
        return int(store.value(COUNT_ANYWHERE, cap=cap))
    values = {"projects": projects, "cap": cap}
    return int(store.value(COUNT_OWN, **values)) + int(store.value(COUNT_SHARED, **values))


def live_ids(store: Store, projects: Sequence[str], *, cap: int) -> frozenset[int] | None:
    """Return the ids of what the projects see; None when there are ``cap`` or more."""
    ids = json.loads(store.value(LIVE_IDS, projects=projects, cap=cap))
    return frozenset(ids) if len(ids) < cap else None


def has_type(store: Store, projects: Sequence[str] | None, types: Sequence[str], *, cap: int) -> bool:
    """Return whether one of the newest ``cap`` that the projects see has one of the types."""
    sql = HAS_TYPE_ANYWHERE if projects is None else HAS_TYPE
    return bool(store.value(sql, projects=projects, types=list(types), cap=cap))


def count_others(store: Store, projects: Sequence[str], *, cap: int) -> int:
    """Return how many observations there are of other projects; counted no further than ``cap``."""
    return int(store.value(COUNT_OTHERS, projects=projects, cap=cap))


def written(store: Store) -> tuple[int, int, int]:
    """Return a value that changes with every write, of this process or any other."""
    with store.connection() as connection:
        [others] = connection.execute("pragma data_version").fetchone()
        return store.opened, store.writes, others


def count_visible(store: Store, projects: Sequence[str] | None) -> int:
    """Return how many observations the projects see, counted no further than about ``MOST_COUNTED``."""
    asked = None if projects is None else tuple(projects)
    return _until_written(store, asked, lambda: count_live(store, projects, cap=MOST_COUNTED + 1))


def ids_visible(store: Store, projects: Sequence[str], *, most: int) -> frozenset[int] | None:
    """Return the ids of what the projects see; None of ``most`` or more: to read 5,000 takes 2 ms."""

    def look() -> frozenset[int] | None:
        return live_ids(store, projects, cap=most) if count_live(store, projects, cap=most) < most else None

    return _until_written(store, (tuple(projects), most), look)


def _until_written(store: Store, key: Hashable, look: Callable[[], T]) -> T:
    """Return what ``look`` gives, kept until somebody writes."""
    if store.in_transaction:  # what it writes may be rolled back
        return look()
    now = written(store)
    since, seen = store.visible
    if since != now:
        store.visible = (now, seen := {})
    if key not in seen:
        if len(seen) >= _MOST_CACHED:
            seen.clear()
        seen[key] = look()
    found: T = seen[key]
    return found
