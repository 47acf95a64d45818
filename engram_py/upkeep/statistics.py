"""What upkeep did and what is kept, in numbers."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from engram_py.base.database import mutation_queue, runs
from engram_py.base.database.store import Row, Store
from engram_py.base.times import parse_time
from engram_py.memory.entities.table import facts_since_synthesis
from engram_py.memory.observations.arguments import clamp
from engram_py.memory.observations.listing import Stats
from engram_py.memory.observations.table import VISIBLE
from engram_py.memory.observations.usage import tier
from engram_py.memory.projects import table as project_table
from engram_py.memory.projects.projects import Core, Projects
from engram_py.sharing.sync.autosync import table as sync_state
from engram_py.upkeep.values import Hot, HotReport, Runs

# Days since the last use, and how many uses keep a memory warm (Aurelius, spec/seed-capabilities.md U24 and U25).
_MOST = 200
HOT = f"""
select id, title, type, access_count, last_accessed_at, created_at from observations
where access_count > 0 and deleted_at is null and lifecycle = 'active' and {VISIBLE}
  and coalesce(topic_key, '') {{}} 'entity/%'
order by access_count desc, last_accessed_at desc, id desc limit :limit
"""
# What its log holds included.
SIZE = "select page_count * page_size from pragma_page_count, pragma_page_size"
VAULTS = "select 1 from meta where key >= 'vault:' and key < 'vault;' limit 1"
TOTAL = f"select coalesce(sum(access_count), 0) from observations where deleted_at is null and {VISIBLE}"


class Reports:
    """Counts only: looking at them is no use of a memory."""

    def __init__(self, core: Core) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects

    def runs(self, *, name: str | None = None, limit: int = 20) -> Runs:
        """Return the latest runs, newest first, and how each pass fared in 30 days."""
        limit, notes = clamp("limit", limit, 1, _MOST)
        new = facts_since_synthesis(self._store)
        return Runs(runs.latest(self._store, name=name, limit=limit), runs.fared(self._store), new, notes)

    def hot(self, *, limit: int = 10, project: str | None = None, all_projects: bool = False) -> HotReport:
        """Return the memories, and the entities, that were shown most."""
        limit, notes = clamp("limit", limit, 1, _MOST)
        place = self._projects.for_read(project, all_projects=all_projects)
        values = {"projects": place.reads, "limit": limit}
        now = self._journal.moment()
        rows, entities = (
            tuple(_hot(row, now) for row in self._store.rows(HOT.format(like), **values))
            for like in ("not like", "like")
        )
        total = int(self._store.value(TOTAL, projects=place.reads))
        return HotReport(rows, entities, total, (*notes, *place.warnings))


def _hot(row: Row, now: datetime) -> Hot:
    used = parse_time(row["last_accessed_at"] or row["created_at"])
    shown = (row["id"], row["title"], row["type"], row["access_count"], row["last_accessed_at"])
    return Hot(*shown, tier(row["access_count"], used, now))


_MOST_QUEUED = 1_000  # a longer queue is not counted to its end


class Statistics:
    """Counts the whole memory, or one project."""

    def __init__(self, store: Store, projects: Projects) -> None:
        self._store = store
        self._projects = projects

    def count(self, project: str | None = None) -> Stats:
        """Return the counts of everything kept, or of one project."""
        reads = self._projects.for_read(project).reads if project else None
        of = partial(mutation_queue.count_rows, self._store, projects=reads)
        return Stats(
            total_sessions=of("session"),
            total_observations=of("observation"),
            total_prompts=of("prompt"),
            total_relations=of("relation"),
            deleted_observations=of("deleted"),
            versions=mutation_queue.count_rows(self._store, "version"),
            queued_mutations=mutation_queue.queue_size(self._store, cap=_MOST_QUEUED + 1),
            database_bytes=int(self._store.value(SIZE)),
            database_path=str(self._store.path),
            types=mutation_queue.count_types(self._store, reads),
            projects=tuple(project_table.latest_names(self._store)),
            syncs=sync_state.is_used(self._store),
            facts_since_synthesis=facts_since_synthesis(self._store),
        )
