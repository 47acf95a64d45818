"""The passes of upkeep: when each is due, one process at a time, each step by itself, each run recorded."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta

from engram_py.database import runs
from engram_py.database.journal import Journal, get_meta, set_meta
from engram_py.database.lease import NamedLease
from engram_py.database.store import Store
from engram_py.errors import EngramError, InvalidArgumentError
from engram_py.lazy import logger_of
from engram_py.times import parse_time
from engram_py.upkeep.values import Maintained, PassDone, StepDone
from engram_py.upkeep.worker import Worker

logger = logger_of(__name__)

# A step is told until when (``time.monotonic``) it may begin more, and tells what it counted.
Step = Callable[[float | None], Mapping[str, float]]

Steps = Mapping[str, Sequence[tuple[str, Step]]]

# How long after the last run a pass is due (spec/seed-capabilities.md 2.7); `distill` knows by itself what waits.
PASSES: dict[str, timedelta] = {
    "heartbeat": timedelta(minutes=2),
    "consolidate": timedelta(hours=24),
    "synthesize": timedelta(days=7),
}
_LEASE_SECONDS = 300.0
_STOPPING_SECONDS = 1.0


class Maintenance:
    """Runs the steps of passes. A step that fails leaves the others alone; one that has no time left goes on with the
    next run. ``steps`` gives those of each pass, ``hours`` is how often `consolidate` is due."""

    def __init__(self, store: Store, journal: Journal, steps: Callable[[], Steps], *, hours: int = 24) -> None:
        self._store = store
        self._journal = journal
        self._steps = steps
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
        now = self._journal.moment()
        found = []
        for name, every in self._every.items():
            last = parse_time(get_meta(self._store, _key(name)))
            if last is None or last > now or now - last >= every:
                found.append(name)
        return tuple(found)

    # --- now --------------------------------------------------------------------------------------------

    def run(self, name: str | None = None, *, until: float | None = None) -> Maintained:
        """Run one pass, or without a name those that are due. ``busy``: another process is at it.

        Raises InvalidArgumentError for an unknown pass.
        """
        if name is None:
            return self.run_due(until=until)
        if name not in self._every:
            raise InvalidArgumentError("pass", name, expected=f"one of {', '.join(self._every)}")
        return self._run((name,), until=until)

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
        failed = [one for one in steps if one.error]
        counts = {key: value for one in steps for key, value in one.counts.items() if value}
        done = PassDone(name, "failed" if failed else "done", steps, round((time.monotonic() - begun) * 1000))
        unfinished = until is not None and time.monotonic() >= until
        if unfinished and not counts and not failed:
            return done
        detail = "; ".join(f"{one.name}: {one.error}" for one in failed)[:500]
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
