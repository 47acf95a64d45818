"""What upkeep tells: the latest runs, and which memories are used most."""

from __future__ import annotations

from datetime import datetime, timedelta

from engram_py.database import runs
from engram_py.database.journal import Journal
from engram_py.database.store import Row, Store
from engram_py.observations.table import VISIBLE
from engram_py.observations.validation import clamp
from engram_py.projects.projects import ProjectOperations, Projects
from engram_py.times import parse_time
from engram_py.upkeep.values import Hot, HotReport, Runs

# Days since the last use, and how many uses keep a memory warm (Aurelius, spec/seed-capabilities.md U24 and U25).
HOT_DAYS, WARM_DAYS, BUSY = 7, 30, 10
_MOST = 200

HOT = f"""
select id, title, type, access_count, last_accessed_at, created_at from observations
where access_count > 0 and deleted_at is null and lifecycle = 'active' and {VISIBLE}
  and coalesce(topic_key, '') {{}} 'entity/%'
order by access_count desc, last_accessed_at desc, id desc limit :limit
"""
TOTAL = f"select coalesce(sum(access_count), 0) from observations where deleted_at is null and {VISIBLE}"


class Reports(ProjectOperations):
    """Counts only: looking at them is no use of a memory."""

    def __init__(self, store: Store, journal: Journal, projects: Projects) -> None:
        super().__init__(store, journal, projects)

    def runs(self, *, name: str | None = None, limit: int = 20) -> Runs:
        """Return the latest runs, newest first, and how each pass fared in 30 days."""
        limit, said = clamp("limit", limit, 1, _MOST)
        return Runs(runs.latest(self._store, name=name, limit=limit), runs.fared(self._store), said)

    def hot(self, *, limit: int = 10, project: str | None = None, all_projects: bool = False) -> HotReport:
        """Return the memories, and the entities, that were shown most."""
        limit, said = clamp("limit", limit, 1, _MOST)
        place = self._projects.for_read(project, all_projects=all_projects)
        values = {"projects": place.reads, "limit": limit}
        now = self._journal.moment()
        rows, entities = (
            tuple(_hot(row, now) for row in self._store.rows(HOT.format(like), **values))
            for like in ("not like", "like")
        )
        total = int(self._store.value(TOTAL, projects=place.reads))
        return HotReport(rows, entities, total, (*said, *place.warnings))


def tier(access_count: int, last: datetime | None, now: datetime) -> str:
    """``hot`` up to 7 days after the last use, ``warm`` up to 30, then ``cold``; ten uses keep hot and warm instead."""
    days = (now - last) / timedelta(days=1) if last is not None else 0.0
    busy = access_count >= BUSY
    if days <= (WARM_DAYS if busy else HOT_DAYS):
        return "hot"
    return "warm" if busy or days <= WARM_DAYS else "cold"


def _hot(row: Row, now: datetime) -> Hot:
    used = parse_time(row["last_accessed_at"] or row["created_at"])
    shown = (row["id"], row["title"], row["type"], row["access_count"], row["last_accessed_at"])
    return Hot(*shown, tier(row["access_count"], used, now))
