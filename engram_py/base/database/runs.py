"""Runs of upkeep: one process at a time, by a lease, and each recorded."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Literal

from engram_py.base.database.mutation_queue import Journal, get_meta, set_meta
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import StoreError
from engram_py.base.times import parse_time, to_text

LEASE_SECONDS = 60.0


class NamedLease:
    """The lease of one name. A process that dies gives it up at once, one that hangs after ``seconds``."""

    def __init__(self, store: Store, journal: Journal, name: str, *, seconds: float = LEASE_SECONDS) -> None:
        self._store = store
        self._journal = journal
        self._key = f"lease:{name}"
        self._seconds = seconds
        self._owner = f"{os.getpid()}-{os.urandom(4).hex()}"

    @contextmanager
    def holding(self) -> Iterator[Callable[[], bool] | None]:
        """Yield a function that renews the lease and says whether it is still held, or None while another holds it."""
        if not self._take():
            yield None
            return
        try:
            yield self._take
        finally:
            self.release()

    def release(self) -> None:
        """Give the lease up at once, if this process holds it."""
        with contextlib.suppress(StoreError), self._store.transaction():
            if (get_meta(self._store, self._key) or "").startswith(f"{self._owner} "):
                self._store.execute("delete from meta where key = :key", key=self._key)

    def holder(self) -> str:
        """Return the process that holds the lease and may still run, this one included; '' when there is none."""
        owner, _, until = (get_meta(self._store, self._key) or "").partition(" ")
        end = parse_time(until)
        # One that ends later than any can was written by a wrong clock.
        left = (end - self._journal.moment()) / timedelta(seconds=1) if end is not None else 0.0
        return owner if 0 < left <= self._seconds + 1 and lives(owner) else ""

    def _take(self) -> bool:
        with self._store.transaction():
            if self.holder() not in ("", self._owner):
                return False
            end = self._journal.moment() + timedelta(seconds=self._seconds)
            set_meta(self._store, self._key, f"{self._owner} {to_text(end)}")
        return True


def lives(owner: str) -> bool:
    """Return whether the process of ``owner``, ``PID-…``, may still run."""
    pid = owner.partition("-")[0]
    if os.name != "posix" or not pid.isdecimal() or len(pid) > 9:
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


KEPT_DAYS = 30

Status = Literal["done", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a pass; ``tokens`` is what a model said it took."""

    id: int
    name: str
    status: Status
    detail: str
    counts: dict[str, float]
    ms: int
    tokens: int
    at: str


@dataclass(frozen=True, slots=True)
class PassStats:
    """Statistics of a pass: how many runs are known, which share did not fail, and how long one took on average."""

    name: str
    runs: int
    success: float
    mean_ms: int


def record(
    store: Store,
    journal: Journal,
    name: str,
    status: Status,
    *,
    detail: str = "",
    counts: Mapping[str, float] | None = None,
    ms: int = 0,
    tokens: int = 0,
) -> None:
    """Keep a run, and drop those older than 30 days. Call inside a transaction."""
    values = {"pass": name, "status": status, "detail": detail, "counts": json.dumps(counts or {})}
    store.insert("runs", values | {"ms": ms, "tokens": tokens, "at": journal.now()})
    before = to_text(journal.moment() - timedelta(days=KEPT_DAYS))
    store.execute("delete from runs where at < :before", before=before)


def latest(store: Store, *, name: str | None = None, limit: int = 20) -> tuple[Run, ...]:
    """Return the latest runs, newest first; ``name``: those of one pass."""
    sql = """
    select id, pass, status, detail, counts, ms, tokens, at from runs
    where :name is null or pass = :name order by id desc limit :limit
    """
    return tuple(
        Run(row[0], row[1], row[2], row[3], json.loads(row[4]), *row[5:])
        for row in store.tuples(sql, name=name, limit=limit)
    )


def spent_since(store: Store, moment: str) -> tuple[int, int, float]:
    """Return in how many runs a model said what it took since then, the tokens, and the dollars."""
    sql = """
    select count(*), coalesce(sum(tokens), 0), coalesce(sum(counts ->> 'cost_usd'), 0.0) from runs
    where at >= :moment and (tokens > 0 or counts ->> 'cost_usd' > 0)
    """
    [found] = store.tuples(sql, moment=moment)
    return int(found[0]), int(found[1]), float(found[2])


def fared(store: Store) -> tuple[PassStats, ...]:
    """Return each pass of the last 30 days, by name."""
    sql = "select pass, count(*), avg(status <> 'failed'), avg(ms) from runs group by pass order by pass"
    return tuple(PassStats(name, count, success, round(ms)) for name, count, success, ms in store.tuples(sql))
