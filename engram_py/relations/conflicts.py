"""List and count relations, and scan for pairs that were not compared yet."""

from __future__ import annotations

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.errors import InvalidArgumentError
from engram_py.observations import browse
from engram_py.observations.arguments import clamp
from engram_py.observations.errors import RelationNotFoundError
from engram_py.observations.lookup import MAX_ID
from engram_py.observations.values import Observation
from engram_py.projects.projects import Projects
from engram_py.recall.related import LIMIT, Candidates
from engram_py.relations import table
from engram_py.relations.values import Relation, RelationPage, RelationStats, Scanned
from engram_py.times import canonical

DEFAULT, MOST = 50, 500
SCANNED, INSERTED = 100, 100
STATUSES = ("pending", "judged", "orphaned", "ignored")


class Conflicts(Candidates):
    """Lists relations and finds pairs that may need one."""

    def __init__(self, store: Store, journal: Journal, projects: Projects) -> None:
        super().__init__(store, journal)
        self._projects = projects

    def page(
        self,
        project: str | None = None,
        *,
        all_projects: bool = False,
        status: str | None = None,
        since: str | None = None,
        limit: int = DEFAULT,
        offset: int = 0,
    ) -> RelationPage:
        """Return the relations, newest first, but for those found to be no conflict. Raises InvalidArgumentError."""
        limit = DEFAULT if limit <= 0 else min(limit, MOST)
        offset = max(0, min(offset, MAX_ID))
        reads, moment = self._reads(project, all_projects), _moment(since)
        total, found = table.page(
            self._store, projects=reads, status=status or None, since=moment, limit=limit, offset=offset
        )
        return RelationPage(total, limit, offset, tuple(found))

    def get(self, relation_id: int) -> Relation:
        """Return one relation. Raises RelationNotFoundError."""
        found = table.by_id(self._store, relation_id) if 1 <= relation_id <= MAX_ID else None
        if found is None:
            raise RelationNotFoundError(relation_id)
        return found

    def stats(self, project: str | None = None, *, all_projects: bool = False) -> RelationStats:
        """Return the counts by verb and by state."""
        reads = self._reads(project, all_projects)
        return RelationStats(
            by_relation=table.tally(self._store, "relation", projects=reads),
            by_judgment_status=table.tally(self._store, "judgment_status", projects=reads),
        )

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
        reads, moment = self._reads(project, all_projects), _moment(since)
        found = known = inserted = 0
        capped = False
        with self._store.transaction():
            rows = browse.page(self._store, projects=reads, since=moment, cursor=cursor, limit=limit)
            clock = self._journal.stamp() if apply and rows else ""
            seen: set[tuple[str, ...]] = set()
            for observation in map(Observation.from_row, rows):
                for other in self._pairs(observation, seen):
                    found += 1
                    if not self._unasked(observation, other):
                        known += 1
                    elif apply and inserted >= max_insert:
                        capped = True
                    elif apply:
                        self._ask(observation, other, clock)
                        inserted += 1
        more = rows[-1]["id"] if len(rows) == limit and not capped else None
        return Scanned(len(rows), found, known, inserted, capped, not apply, more)

    def _pairs(self, observation: Observation, seen: set[tuple[str, ...]]) -> list[str]:
        """Return the sync ids of what looks like this observation; each pair once, whichever end comes first."""
        pairs = {
            tuple(sorted((row["sync_id"], observation.sync_id))): row["sync_id"]
            for _, row in self._similar(observation)[:LIMIT]
        }
        fresh = [other for pair, other in pairs.items() if pair not in seen]
        seen.update(pairs)
        return fresh

    def _reads(self, project: str | None, all_projects: bool) -> tuple[str, ...] | None:
        return self._projects.for_read(project, all_projects=all_projects).reads


def _moment(since: str | None) -> str:
    """Return the first moment that counts. Raises InvalidArgumentError."""
    if not since or not since.strip():
        return ""
    moment = canonical(since)
    if moment is None:
        raise InvalidArgumentError("since", since, expected="a time as RFC 3339 writes it")
    return moment
