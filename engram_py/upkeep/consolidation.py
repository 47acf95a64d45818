"""The steps of `consolidate`: what nobody uses fades, what is said often weighs more, what says the same is one.

Only what was derived fades and is put away: what somebody saved on purpose never is, however long nobody asks for it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from engram_py.base.database.compaction import give_back
from engram_py.base.lazy import regex
from engram_py.base.text.words import jaccard, shingles
from engram_py.base.times import parse_time, to_text
from engram_py.memory.observations.table import COLUMNS
from engram_py.memory.observations.values import Observation
from engram_py.memory.privacy.provenance import own
from engram_py.memory.projects.projects import Core
from engram_py.memory.relations import table as relations_table
from engram_py.memory.relations.relations import Relations
from engram_py.memory.sessions.retention import oldest_kept, prune_turns

# Writers wait while a file is written anew, about a second for so many bytes.
_WRITTEN_ANEW = 64 << 20


# spec/seed-capabilities.md 1F, O34 to O40, and 2.11.
FADING_DAYS, IDLE_DAYS, MOST_COMPARED = 30.0, 30, 1_000
OVERLAP, EPISODES, BOOST = 0.4, 3, 0.05
EPISODE_DAYS, MOST_EPISODES = 60, 200
_BATCH = 200
_FADED_LATELY = timedelta(minutes=1)  # a pass that goes on is past these
_FADES = "origin = 'derived' and deleted_at is null and lifecycle = 'active' and pinned = 0"
_DERIVED = f"""
{_FADES} and type <> 'session_summary'
and (topic_key is null or topic_key not like 'entity/%' and topic_key <> 'identity/profile')
"""
FADING = f"""
select id, faded, faded_at, last_accessed_at, created_at from observations indexed by observations_derived
where {_FADES} and id > :after order by id limit :limit
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
where type = 'session_summary' and origin = 'derived' and deleted_at is null and lifecycle = 'active'
  and {own("observations")} and project = :project and created_at >= :since
order by created_at desc, id desc limit :limit
"""
AGENTS_OF = "select id, agent from sessions where id in (select value from json_each(:ids))"
PROJECTS = "select distinct project from observations where origin = 'derived' and deleted_at is null"
FACTS = f"""
select {COLUMNS}, salience as weight, faded, faded_at from observations indexed by observations_derived
where {_DERIVED} and project = :project and {own("observations")} order by id
"""
OLD_EPISODES = """
select id, sync_id, project from observations indexed by observations_derived
where origin = 'derived' and deleted_at is null and lifecycle = 'active' and pinned = 0 and type = 'session_summary'
  and created_at < :before order by id limit :limit
"""
_WORD = regex(r"\w+")


class Consolidating:
    """The steps of ``consolidate``: each works in short transactions until its time is up, and returns its counts."""

    def __init__(self, core: Core) -> None:
        self._core, self._store, self._journal, self._projects = core, core.store, core.journal, core.projects
        self._episode_days = core.settings.episode_retention_days  # 0 keeps derived summaries in sight
        self._floor = core.settings.salience_floor

    def steps(self) -> list[tuple[str, Callable[[float | None], dict[str, float]]]]:
        """Return the steps by name, in their order: facts gain weight before they fade."""
        return [
            ("promote", self.promote),
            ("fade", self.fade),
            ("merge", self.merge),
            ("archive", self.put_away),
            ("retire", self.retire),
            ("prune", self.prune),
            ("shrink", lambda until: {"bytes_freed": give_back(self._store, most=_WRITTEN_ANEW)}),
        ]

    def promote(self, until: float | None) -> dict[str, float]:
        """Raise the weight of derived facts by .05 that share much with three episodes of 60 days, once per new one."""
        since = to_text(self._journal.moment() - timedelta(days=EPISODE_DAYS))
        done = 0
        for project in self._each(until):
            rows = self._episodes(project, since, MOST_EPISODES)
            episodes = [(row.created_at, shingles(row.content)) for row in rows]
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
        """Merge derived episodes of an agent in a project with the same words: the first stands, the others are
        archived as its duplicates.

        One word more or less may be a "not" or another port, so nothing that differs in a word is the same.
        """
        done = 0
        for project in self._each(until):
            first: dict[tuple[str, frozenset[str]], Observation] = {}
            rows = self._episodes(project, "", MOST_COMPARED)
            agents = dict(self._store.tuples(AGENTS_OF, ids=[row.session_id for row in rows]))
            for row in reversed(rows):
                key = agents.get(row.session_id) or "", frozenset(_WORD.findall(row.content.lower()))
                older = first.setdefault(key, row)
                if older is not row:
                    with self._store.transaction():
                        Relations(self._core).duplicate(row, older)
                        self._put_away([(row.id, row.sync_id, row.project)])
                    done += 1
        return {"merged": done}

    def put_away(self, until: float | None) -> dict[str, float]:
        """Archive derived facts below the floor that were not used for 30 days; `restore` brings them back."""
        before = to_text(self._journal.moment() - timedelta(days=IDLE_DAYS))
        return {"archived": self._archive(until, IDLE, floor=self._floor, before=before)}

    def retire(self, until: float | None) -> dict[str, float]:
        """Archive derived episodes older than the setting."""
        if not self._episode_days:
            return {}
        before = to_text(self._journal.moment() - timedelta(days=self._episode_days))
        return {"retired": self._archive(until, OLD_EPISODES, before=before)}

    def prune(self, until: float | None) -> dict[str, float]:
        """Delete raw messages older than the setting."""
        settings = self._core.settings
        return {"pruned": prune_turns(self._store, oldest_kept(settings.clock, settings.turn_days))}

    def _archive(self, until: float | None, sql: str, **values: object) -> int:
        done = 0
        while until is None or time.monotonic() < until:
            self._store.give_way()
            with self._store.transaction():
                rows = self._store.tuples(sql, limit=_BATCH, **values)
                self._put_away(rows)
            done += len(rows)
            if len(rows) < _BATCH:
                break
        return done

    def _put_away(self, rows: Sequence[tuple[int, str, str]]) -> None:
        for row_id, sync_id, project in rows:
            clock = self._journal.stamp()
            self._store.update("observations", {"id": row_id}, {"lifecycle": "archived", "clock": clock})
            self._journal.changed("observation", sync_id, project=project, clock=clock)
        relations_table.settle(self._store, (row[1] for row in rows))

    def _each(self, until: float | None) -> Iterator[str]:
        for [project] in self._store.tuples(PROJECTS):
            if until is not None and time.monotonic() >= until:
                return
            yield project

    def _episodes(self, project: str, since: str, limit: int) -> Sequence[Observation]:
        rows = self._store.rows(EPISODES_OF, project=project, since=since, limit=limit)
        return [Observation.from_row(row) for row in rows]
