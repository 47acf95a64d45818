"""Count what is kept."""

from __future__ import annotations

from functools import partial

from engram_py.database import counts, journal
from engram_py.database.store import Store
from engram_py.observations.listing import Stats
from engram_py.projects import table as project_table
from engram_py.projects.projects import Projects
from engram_py.sync.autosync import table as sync_state

_MOST_QUEUED = 1_000  # further nobody counts: it would take longer the more there are


class Statistics:
    """Counts the whole memory, or one project."""

    def __init__(self, store: Store, projects: Projects) -> None:
        self._store = store
        self._projects = projects

    def count(self, project: str | None = None) -> Stats:
        """Return the counts of everything kept, or of one project."""
        reads = self._projects.for_read(project).reads if project else None
        of = partial(counts.number, self._store, projects=reads)
        return Stats(
            total_sessions=of("session"),
            total_observations=of("observation"),
            total_prompts=of("prompt"),
            total_relations=of("relation"),
            deleted_observations=of("deleted"),
            versions=counts.number(self._store, "version"),
            queued_mutations=journal.queue_size(self._store, cap=_MOST_QUEUED + 1),
            database_bytes=self._store.path.stat().st_size,
            database_path=str(self._store.path),
            types=counts.types(self._store, reads),
            projects=tuple(project_table.latest_names(self._store)),
            syncs=sync_state.is_used(self._store),
        )
