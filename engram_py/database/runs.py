"""The runs of upkeep on this machine: what each did, how long it took and what it cost. Never synced."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.dataclass import dataclass
from engram_py.times import to_text

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
    """How a pass fared: how many runs are known, which share did not fail, and how long one took on average."""

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
