"""The passes of upkeep: when each is due, one process at a time, each step by itself, each run recorded; the thread
that runs them; and what upkeep tells.

Of `consolidate`: what nobody uses fades, what is said often weighs more, what says the same is one. Only what was
derived fades and is put away: what somebody saved on purpose never is, however long nobody asks for it.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from engram_py.base.database import mutation_queue, runs
from engram_py.base.database.compaction import give_back
from engram_py.base.database.mutation_queue import Journal, get_meta, set_meta
from engram_py.base.database.runs import NamedLease
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import asdict, replace
from engram_py.base.errors import EngramError, InvalidArgumentError, StoreError
from engram_py.base.lazy import logger_of, regex
from engram_py.base.text.words import jaccard, shingles
from engram_py.base.times import parse_time, passed, to_text
from engram_py.memory.entities.table import facts_since_synthesis
from engram_py.memory.observations.arguments import clamp
from engram_py.memory.observations.listing import Stats
from engram_py.memory.observations.table import COLUMNS, VISIBLE
from engram_py.memory.observations.usage import tier
from engram_py.memory.observations.values import Observation
from engram_py.memory.privacy.provenance import own
from engram_py.memory.privacy.switches import oldest_kept, prune_turns
from engram_py.memory.projects import table as project_table
from engram_py.memory.projects.projects import Core, Projects
from engram_py.memory.relations import table as relations_table
from engram_py.memory.relations.relations import Relations
from engram_py.sharing.sync.autosync import table as sync_state
from engram_py.upkeep.distill.table import is_new
from engram_py.upkeep.distill.values import Flushed
from engram_py.upkeep.values import Hot, HotReport, Maintained, PassDone, Runs, StepDone

if TYPE_CHECKING:
    from engram_py.memory.entities.entities import Entities
    from engram_py.memory.identity.identity import Identity
    from engram_py.recall.documents.documents import Documents
    from engram_py.sharing.vault.vault import Vault
    from engram_py.upkeep.distill.summarizing import Learning


logger = logger_of(__name__)

# The first answers come first.
FIRST_SECONDS, LOOK_SECONDS = 3.0, 30.0


class Worker:
    """Calls ``look`` now and again until it is stopped. A look finds by an index whether anything waits."""

    def __init__(self, look: Callable[[], object], *, name: str = "engram-upkeep", first: float | None = None) -> None:
        self._look = look
        self._first = first
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, seconds: float) -> None:
        """Ask the thread to end, and wait for it for at most ``seconds``."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _run(self) -> None:
        wait = FIRST_SECONDS if self._first is None else self._first
        while not self._stopped.wait(wait):
            wait = LOOK_SECONDS
            try:
                self._look()
            except StoreError as exc:
                logger.info("background work waits: %s", exc.message)
            except Exception:
                if not self._stopped.is_set():
                    logger.exception("background work failed")


# A step is told until when (``time.monotonic``) it may begin more, and tells what it counted.
Step = Callable[[float | None], Mapping[str, float]]
Steps = Mapping[str, Sequence[tuple[str, Step]]]

DISTILL = "distill"
# How long after the last run a pass is due (spec/seed-capabilities.md 2.7); `distill` knows by itself what waits.
PASSES = {"heartbeat": timedelta(minutes=2), "consolidate": timedelta(hours=24), "synthesize": timedelta(days=7)}
_LEASE_SECONDS, _STOPPING_SECONDS = 300.0, 1.0
# Writers wait while a file is written anew, about a second for so many bytes.
_WRITTEN_ANEW = 64 << 20


class Maintenance:
    """Runs the steps of passes. A step that fails leaves the others alone; one that has no time left goes on with the
    next run. ``steps`` gives those of each pass, ``hours`` is how often `consolidate` is due. ``distill`` summarizes
    the sessions that wait, all of them or those that are due, and records that itself."""

    def __init__(
        self, store: Store, journal: Journal, steps: Callable[[], Steps],
        distill: Callable[[bool], Flushed] = lambda everything: Flushed(()), *, hours: int = 24,
    ) -> None:  # fmt: skip
        self._store = store
        self._journal = journal
        self._steps = steps
        self._distill = distill
        self._every = PASSES | {"consolidate": timedelta(hours=hours)}
        self._at_work = threading.Lock()  # the lease tells processes apart, not threads
        self._lease = NamedLease(store, journal, "maintain", seconds=_LEASE_SECONDS)
        self._worker: Worker | None = None

    # --- in the background ------------------------------------------------------------------------------

    def start(self, look: Callable[[], object]) -> None:
        """Call ``look`` now and again from now on: for a process that stays."""
        if self._worker is None:
            self._worker = Worker(look)
            self._worker.start()

    def stop(self) -> None:
        """End the thread. What it has not done the next process does."""
        if self._worker is not None:
            self._worker.stop(seconds=_STOPPING_SECONDS)

    def run_due(self, *, until: float | None = None) -> Maintained:
        """Run the passes that are due; nothing is recorded of those that are not."""
        due = self.due()
        return self._run(due, until=until) if due else Maintained(())

    def due(self) -> tuple[str, ...]:
        """Return the passes whose time has come. A last run in the future (a wrong clock) counts as none."""
        now, last = self._journal.moment(), {name: get_meta(self._store, _key(name)) for name in self._every}
        return tuple(name for name, at in last.items() if passed(at, now, seconds=self._every[name].total_seconds()))

    # --- now --------------------------------------------------------------------------------------------

    def run(self, name: str | None = None, *, until: float | None = None) -> Maintained:
        """Run one pass, or without a name those that are due, sessions to distill first. ``busy``: another process is
        at it. Asked for, `distill` distills every session that waits.

        Raises InvalidArgumentError for an unknown pass.
        """
        if name is None or name == DISTILL:
            first = self._distilled(everything=name is not None)
            if name is not None or first.busy:
                return first
            done = self.run_due(until=until)
            return replace(done, passes=(*first.passes, *done.passes))
        if name not in self._every:
            raise InvalidArgumentError("pass", name, expected=f"one of {', '.join((DISTILL, *self._every))}")
        return self._run((name,), until=until)

    def _distilled(self, *, everything: bool) -> Maintained:
        begun = time.monotonic()
        done = self._distill(everything)
        if done.busy or not (everything or done.sessions):
            return Maintained((), busy=done.busy)
        results = [one.result.partition(":")[0].replace("_", " ") for one in done.sessions]
        ms = round((time.monotonic() - begun) * 1000)
        step = StepDone("sessions", {**Counter(results)}, ms)
        return Maintained((PassDone(DISTILL, "failed" if "failed" in results else "done", (step,), ms),))

    def _run(self, names: Sequence[str], *, until: float | None) -> Maintained:
        if not self._at_work.acquire(blocking=False):
            return Maintained((), busy=True)
        try:
            with self._lease.holding() as held:
                if held is None:
                    return Maintained((), busy=True)
                return Maintained(tuple(self._pass(name, until) for name in names if held()))
        finally:
            self._at_work.release()

    def _pass(self, name: str, until: float | None) -> PassDone:
        begun = time.monotonic()
        steps = tuple(self._taken(name, until))
        failed = [step for step in steps if step.error]
        counts = {key: value for step in steps for key, value in step.counts.items() if value}
        done = PassDone(name, "failed" if failed else "done", steps, round((time.monotonic() - begun) * 1000))
        unfinished = until is not None and time.monotonic() >= until
        if unfinished and not counts and not failed:
            return done
        detail = "; ".join(f"{step.name}: {step.error}" for step in failed)[:500]
        with self._store.transaction():
            runs.record(self._store, self._journal, name, done.status, detail=detail, counts=counts, ms=done.ms)
            if not unfinished:  # else it stays due, and goes on where it was
                set_meta(self._store, _key(name), self._journal.now())
        return done

    def _taken(self, name: str, until: float | None) -> Iterator[StepDone]:
        for step, work in self._steps().get(name, ()):
            begun, counts, error = time.monotonic(), {}, ""
            try:
                counts = dict(work(until))
            except EngramError as exc:
                error = exc.message
            except Exception as exc:
                logger.exception("step %s of %s failed", step, name)
                error = type(exc).__name__
            yield StepDone(step, counts, round((time.monotonic() - begun) * 1000), error)


def _key(name: str) -> str:
    return f"maintained:{name}"


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


def steps_of(
    core: Core, entities: Callable[[], Entities], identity: Callable[[], Identity], learning: Callable[[], Learning],
    vault: Callable[[], Vault], documents: Callable[[], Documents],
) -> Steps:  # fmt: skip
    """Return the steps of each pass, by name; what most memories never need is not imported to find that out."""
    store, settings = core.store, core.settings
    prompts = settings.distill == "auto"

    def counts(done: Any) -> dict[str, float]:
        return {name: value for name, value in asdict(done).items() if name != "done"}

    def tend(until: float | None) -> dict[str, float]:
        return vault().tend(until=until) if store.row(VAULTS) else {}

    def read(until: float | None) -> dict[str, float]:
        return learning().read_new(prompts=prompts, until=until) if is_new(store, prompts=prompts) else {}

    def refresh(until: float | None) -> dict[str, float]:
        # A server has another process do it, which gives back the memory that reading takes.
        return {"left": float(documents().refresh())} if until is None and settings.documents else {}

    def renew(until: float | None) -> dict[str, float]:
        from engram_py.upkeep.reindex import renew_terms

        return renew_terms(store, until=until)

    return {
        "heartbeat": [
            ("terms", renew),
            ("vault", tend),
            ("entities", lambda until: counts(entities().count_mentions(until=until))),
            ("said", read),
            ("pages", tend),
            ("documents", refresh),
        ],
        "consolidate": Consolidating(core).steps(),
        "synthesize": [
            ("entities", lambda until: counts(entities().rewrite_summaries(until=until))),
            ("profile", lambda until: identity().rewrite_profile()),
        ],
    }


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
