"""Scan for pairs of observations that nobody compared yet."""

from __future__ import annotations

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.errors import InvalidArgumentError
from engram_py.observations import browse
from engram_py.observations.arguments import clamp
from engram_py.observations.lookup import MAX_ID
from engram_py.observations.values import Observation
from engram_py.projects.projects import Projects
from engram_py.recall.related import LIMIT, Candidates
from engram_py.relations.relations import moment_of
from engram_py.relations.values import Scanned

SCANNED, INSERTED = 100, 100


class Conflicts:
    """Finds pairs that may need a verdict, by the candidates that a save would name."""

    def __init__(self, store: Store, journal: Journal, projects: Projects) -> None:
        self._store = store
        self._journal = journal
        self._projects = projects
        self._candidates = Candidates(store, journal)

    def scan(
        self,
        project: str | None = None,
        *,
        all_projects: bool = False,
        since: str | None = None,
        apply: bool = False,
        limit: int = SCANNED,
        cursor: int = 0,
        max_insert: int = INSERTED,
    ) -> Scanned:
        """Compare a page of observations with older ones of like titles; ``apply`` keeps each new pair as pending."""
        if not 1 <= limit <= SCANNED:
            raise InvalidArgumentError("limit", limit, expected=f"between 1 and {SCANNED}")
        if not 0 <= cursor <= MAX_ID:
            raise InvalidArgumentError("cursor", cursor, expected="zero or more")
        max_insert, _ = clamp("max_insert", max_insert if max_insert > 0 else INSERTED, 1, INSERTED)
        reads, moment = self._projects.for_read(project, all_projects=all_projects).reads, moment_of(since)
        found = known = inserted = 0
        capped = False
        with self._store.transaction():
            rows = browse.page(self._store, projects=reads, since=moment, cursor=cursor, limit=limit)
            clock = self._journal.stamp() if apply and rows else ""
            seen: set[tuple[str, ...]] = set()
            for observation in map(Observation.from_row, rows):
                for other in self._pairs(observation, seen):
                    found += 1
                    if not self._candidates.is_unasked(observation, other):
                        known += 1
                    elif apply and inserted >= max_insert:
                        capped = True
                    elif apply:
                        self._candidates.ask(observation, other, clock)
                        inserted += 1
        more = rows[-1]["id"] if len(rows) == limit and not capped else None
        return Scanned(len(rows), found, known, inserted, capped, not apply, more)

    def _pairs(self, observation: Observation, seen: set[tuple[str, ...]]) -> list[str]:
        """Return the sync ids of what looks like this observation; each pair once, whichever end comes first."""
        pairs = {
            tuple(sorted((row["sync_id"], observation.sync_id))): row["sync_id"]
            for _, row in self._candidates.similar(observation)[:LIMIT]
        }
        fresh = [other for pair, other in pairs.items() if pair not in seen]
        seen.update(pairs)
        return fresh
