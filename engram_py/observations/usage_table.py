"""SQL over how often observations were shown, and over whether anything was written since."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

from engram_py.database.store import Store
from engram_py.observations.table import count_live, live_ids, projects_json
from engram_py.observations.values import MOST_COUNTED

T = TypeVar("T")
_MOST_KEPT = 8  # of 10,000 ids each a megabyte
SMALL = 10_000  # a project with fewer rows is small: what it has can be known by heart

# Counters alone: no trigger of the search index fires for them, and what other machines hear about stays as it was.
COUNT = """
update observations
set access_count = access_count + :times, last_accessed_at = max(coalesce(last_accessed_at, ''), :at)
where id = :id
"""


def count_shown(store: Store, shown: Mapping[int, tuple[int, str]]) -> bool:
    """Add ``(times, last)`` to the counters of each id, in one transaction that waits for nobody.

    False when this process is in the middle of another write. Raises sqlite3.Error (busy, full, read-only): nothing
    is counted then. It is no write that ``written`` sees: what was read before is still true.
    """
    values = [{"id": row_id, "times": times, "at": at} for row_id, (times, at) in shown.items()]
    with store.in_passing() as connection:
        if connection is None:
            return False
        connection.execute("begin immediate")
        connection.executemany(COUNT, values)
        connection.execute("commit")
        return True


def written(store: Store) -> tuple[int, int, int]:
    """What changes with every write, of this process (which may have opened the file again) and of any other."""
    with store.connection() as connection:
        [others] = connection.execute("pragma data_version").fetchone()
        return store.opened, store.writes, others


def count_visible(store: Store, projects: Sequence[str] | None) -> int:
    """How many observations the projects see, counted no further than about ``MOST_COUNTED``: to count 10,000 takes
    .2 ms."""
    asked = projects_json(projects)
    return _until_written(store, asked, lambda: count_live(store, projects, cap=MOST_COUNTED + 1))


def ids_visible(store: Store, projects: Sequence[str], *, most: int) -> frozenset[int] | None:
    """The ids of what the projects see; None of ``most`` or more: to read 5,000 takes 2 ms."""

    def look() -> frozenset[int] | None:
        return live_ids(store, projects, cap=most) if count_live(store, projects, cap=most) < most else None

    return _until_written(store, (projects_json(projects), most), look)


def _until_written(store: Store, key: Hashable, look: Callable[[], T]) -> T:
    """What ``look`` gives, which looks again only after somebody wrote."""
    if store.in_transaction:  # what it writes may be rolled back
        return look()
    now = written(store)
    since, seen = store.visible
    if since != now:
        store.visible = (now, seen := {})
    if key not in seen:
        if len(seen) >= _MOST_KEPT:
            seen.clear()
        seen[key] = look()
    found: T = seen[key]
    return found
