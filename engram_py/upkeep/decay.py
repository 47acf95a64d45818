"""The steps of `consolidate`: what nobody uses fades, what is said often weighs more, what says the same is one.

Only what was derived fades and is put away: what somebody saved on purpose never is, however long nobody asks for it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.lazy import regex
from engram_py.observations.table import COLUMNS
from engram_py.observations.values import Observation
from engram_py.privacy.provenance import OWN
from engram_py.projects.projects import ProjectOperations, Projects
from engram_py.relations import table as relations_table
from engram_py.relations.relations import Relations
from engram_py.settings import DEFAULTS
from engram_py.text.words import jaccard, shingles
from engram_py.times import parse_time, to_text

# spec/seed-capabilities.md 1F, O34 to O40, and 2.11.
FADING_DAYS = 30.0
IDLE_DAYS = 30
MOST_COMPARED = 1_000
OVERLAP, EPISODES, BOOST = 0.4, 3, 0.05
EPISODE_DAYS, MOST_EPISODES = 60, 200
_BATCH = 200
_FADED_LATELY = timedelta(minutes=1)  # a pass that goes on is past these
_SAID_FIRST = "both say the same, and this one said it first"

_DERIVED = """
origin = 'derived' and deleted_at is null and lifecycle = 'active' and pinned = 0 and type <> 'session_summary'
and (topic_key is null or topic_key not like 'entity/%' and topic_key <> 'identity/profile')
"""
FADING = f"""
select id, faded, faded_at, last_accessed_at, created_at from observations indexed by observations_derived
where {_DERIVED} and id > :after order by id limit :limit
"""
FADED = "update observations set faded = :faded, faded_at = :now where id = :id"
IDLE = f"""
select id, sync_id, project from observations indexed by observations_derived
where {_DERIVED} and salience * faded < :floor
  and max(updated_at, created_at, coalesce(last_accessed_at, '')) <= :before
order by id limit :limit
"""
EPISODES_OF = f"""
select {COLUMNS} from observations
where type = 'session_summary' and origin = 'derived' and deleted_at is null and lifecycle = 'active' and {OWN}
  and project = :project and created_at >= :since
order by created_at desc, id desc limit :limit
"""
PROJECTS = "select distinct project from observations where origin = 'derived' and deleted_at is null"
FACTS = f"""
select {COLUMNS}, salience as weight, faded, faded_at from observations indexed by observations_derived
where {_DERIVED} and project = :project and {OWN} order by id
"""
OLD_EPISODES = """
select id, sync_id, project from observations indexed by observations_derived
where origin = 'derived' and deleted_at is null and lifecycle = 'active' and pinned = 0 and type = 'session_summary'
  and created_at < :before order by id limit :limit
"""
_WORD = regex(r"\w+")


class Consolidating(ProjectOperations):
    """Each method is a step: it works in short transactions until it is told to stop, and tells what it did.

    ``episode_days`` is how long derived summaries of sessions are in sight; 0 keeps them. ``floor`` is the weight below
    which derived facts are archived.
    """

    def __init__(
        self,
        store: Store,
        journal: Journal,
        projects: Projects,
        *,
        episode_days: int = DEFAULTS["episode_retention_days"],
        floor: float = DEFAULTS["salience_floor"],
    ) -> None:
        super().__init__(store, journal, projects)
        self._episode_days = episode_days
        self._floor = floor

    def steps(self) -> list[tuple[str, Callable[[float | None], dict[str, float]]]]:
        """Return the steps by name, in their order: what is weighed anew is weighed before it fades."""
        return [
            ("promote", self.promote),
            ("fade", self.fade),
            ("merge", self.merge),
            ("archive", self.put_away),
            ("retire", self.retire),
        ]

    def promote(self, until: float | None) -> dict[str, float]:
        """Derived facts that share much with three episodes of the last 60 days weigh .05 more, once per new one."""
        since = to_text(self._journal.moment() - timedelta(days=EPISODE_DAYS))
        done = 0
        for project in self._each(until):
            found = self._episodes(project, since, MOST_EPISODES)
            episodes = [(row.created_at, shingles(row.content)) for row in found]
            if len(episodes) < EPISODES:
                continue
            with self._store.transaction():
                for row in self._store.rows(FACTS, project=project):
                    words = shingles(row["content"])
                    alike = [at for at, other in episodes if jaccard(words, other) >= OVERLAP]
                    if len(alike) < EPISODES or max(alike) <= (row["faded_at"] or ""):
                        continue
                    weight = row["weight"]
                    faded = min(1.0, weight * row["faded"] + BOOST) / weight if weight else 1.0
                    self._store.execute(FADED, id=row["id"], faded=faded, now=self._journal.now())
                    done += 1
        return {"promoted": done}

    def fade(self, until: float | None) -> dict[str, float]:
        """Multiply the weight of derived rows by exp(-days / 30) since their last use or fading."""
        now, text = self._journal.moment(), self._journal.now()
        after, done = 0, 0
        while until is None or time.monotonic() < until:
            self._store.give_way()
            with self._store.transaction():
                rows = self._store.tuples(FADING, after=after, limit=_BATCH)
                for row_id, faded, faded_at, used_at, created_at in rows:
                    last = parse_time(max(filter(None, (faded_at or created_at, used_at))))
                    if last is not None and now - last >= _FADED_LATELY:
                        days = (now - last) / timedelta(days=1)
                        self._store.execute(FADED, id=row_id, faded=faded * math.exp(-days / FADING_DAYS), now=text)
                        done += 1
            if len(rows) < _BATCH:
                break
            after = rows[-1][0]
        return {"faded": done}

    def merge(self, until: float | None) -> dict[str, float]:
        """Of derived episodes of a project with the same words the first stands, and replaces the others.

        One word more or less may be a "not" or another port, so nothing that differs in a word is the same.
        """
        done = 0
        for project in self._each(until):
            first: dict[frozenset[str], Observation] = {}
            for row in reversed(self._episodes(project, "", MOST_COMPARED)):
                older = first.setdefault(frozenset(_WORD.findall(row.content.lower())), row)
                if older is not row:
                    relations = Relations(self._store, self._journal, self._projects)
                    relations.compare(older.id, row.id, "supersedes", confidence=1.0, reasoning=_SAID_FIRST)
                    done += 1
        return {"merged": done}

    def put_away(self, until: float | None) -> dict[str, float]:
        """Derived facts below the floor that nobody used for 30 days are archived; `restore` brings them back."""
        before = to_text(self._journal.moment() - timedelta(days=IDLE_DAYS))
        return {"archived": self._archive(until, IDLE, floor=self._floor, before=before)}

    def retire(self, until: float | None) -> dict[str, float]:
        """Derived episodes older than the setting are archived."""
        if not self._episode_days:
            return {}
        before = to_text(self._journal.moment() - timedelta(days=self._episode_days))
        return {"retired": self._archive(until, OLD_EPISODES, before=before)}

    def _archive(self, until: float | None, sql: str, **values: object) -> int:
        done = 0
        while until is None or time.monotonic() < until:
            self._store.give_way()
            with self._store.transaction():
                rows = self._store.tuples(sql, limit=_BATCH, **values)
                for row_id, sync_id, project in rows:
                    clock = self._journal.stamp()
                    self._store.update("observations", {"id": row_id}, {"lifecycle": "archived", "clock": clock})
                    self._journal.changed("observation", sync_id, project=project, clock=clock)
                relations_table.settle(self._store, (row[1] for row in rows))
            done += len(rows)
            if len(rows) < _BATCH:
                break
        return done

    def _each(self, until: float | None) -> Iterator[str]:
        for [project] in self._store.tuples(PROJECTS):
            if until is not None and time.monotonic() >= until:
                return
            yield project

    def _episodes(self, project: str, since: str, limit: int) -> Sequence[Observation]:
        rows = self._store.rows(EPISODES_OF, project=project, since=since, limit=limit)
        return [Observation.from_row(row) for row in rows]
