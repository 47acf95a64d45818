"""The passes of upkeep: when each is due, one process at a time, each step by itself, each run recorded."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from engram_py.base.database import runs
from engram_py.base.database.mutation_queue import Journal, get_meta, set_meta
from engram_py.base.database.runs import NamedLease
from engram_py.base.database.store import Store
from engram_py.base.dataclass import asdict, replace
from engram_py.base.errors import EngramError, InvalidArgumentError
from engram_py.base.lazy import logger_of
from engram_py.base.times import passed
from engram_py.base.worker import Periodic
from engram_py.memory.projects.projects import Core
from engram_py.upkeep.consolidation import Consolidating
from engram_py.upkeep.distill.table import is_new
from engram_py.upkeep.distill.values import Flushed
from engram_py.upkeep.statistics import VAULTS
from engram_py.upkeep.values import Maintained, PassDone, StepDone

if TYPE_CHECKING:
    from engram_py.memory.identity.identity import Identity
    from engram_py.memory.writing.entities import Entities
    from engram_py.recall.documents.documents import Documents
    from engram_py.sharing.vault.vault import Vault
    from engram_py.upkeep.distill.summarizing import Learning


logger = logger_of(__name__)
# A step is told until when (``time.monotonic``) it may begin more, and tells what it counted.
Step = Callable[[float | None], Mapping[str, float]]
Steps = Mapping[str, Sequence[tuple[str, Step]]]
DISTILL = "distill"
# How long after the last run a pass is due (spec/seed-capabilities.md 2.7); `distill` knows by itself what waits.
PASSES = {"heartbeat": timedelta(minutes=2), "consolidate": timedelta(hours=24), "synthesize": timedelta(days=7)}
_LEASE_SECONDS, _STOPPING_SECONDS = 300.0, 1.0
_FIRST_SECONDS = 3.0  # the first answers come first


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
        self._worker: Periodic | None = None

    # --- in the background ------------------------------------------------------------------------------

    def start(self, look: Callable[[], None]) -> None:
        """Call ``look`` now and again from now on: for a process that stays."""
        if self._worker is None:
            self._worker = Periodic(look, name="engram-upkeep", first=_FIRST_SECONDS)
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
