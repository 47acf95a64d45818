"""The doctor's findings, and the results of rebuilds and passes."""

from __future__ import annotations

from typing import Any, Literal

from engram_py.base.database.runs import PassStats, Run
from engram_py.base.database.store import Row
from engram_py.base.dataclass import dataclass, field
from engram_py.base.reasons import Told

CheckResult = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. ``safe_next_step`` is the next step; ``fixable``: ``engram doctor --fix`` does it."""

    check_id: str
    result: CheckResult
    message: str
    evidence: dict[str, Any] = field(default_factory=dict)
    safe_next_step: str | None = None
    fixable: bool = False
    fixed: bool = False


_SHOWN = 20


def check_of(name: str, rows: list[Row], fine: str, wrong: str, *, step: str, result: CheckResult = "warning") -> Check:
    """Return the finding that rows are: ``fine`` without any, else how many are ``wrong``, the first twenty named."""
    if not rows:
        return Check(name, "ok", fine)
    return Check(name, result, f"{len(rows)} found: {wrong}", evidence_of(rows), step)


def evidence_of(rows: list[Row]) -> dict[str, object]:
    return {"found": [dict(row) for row in rows[:_SHOWN]]}


@dataclass(frozen=True, slots=True)
class Report:
    """All checks; ``status`` is the worst of them. ``backup`` was made before a repair."""

    status: CheckResult
    path: str
    checks: tuple[Check, ...]
    backup: str | None = None

    @property
    def summary(self) -> dict[str, int]:
        results = [check.result for check in self.checks]
        return {
            "total": len(results),
            "ok": results.count("ok"),
            "warnings": results.count("warning"),
            "errors": results.count("error"),
        }


@dataclass(frozen=True, slots=True)
class Encryption:
    """Whether the memory is encrypted now, ``on`` or ``off``, where its key is, and how many files beside it were
    changed. ``recovery`` is the key as it is written down, where it is new; ``readable`` are files that everybody can
    still read."""

    path: str
    encryption: Literal["on", "off"]
    key: str
    files: int = 0
    recovery: str = ""
    readable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reindexed:
    """The result of a rebuild. ``rewritten`` rows had terms of another version; ``resumed``: it continued an earlier
    run; ``mended``: the index in use was damaged."""

    observations: int
    prompts: int
    rewritten: int
    resumed: bool = False
    mended: bool = False


@dataclass(frozen=True, slots=True)
class StepDone:
    """The result of a step of a pass; ``error`` is why it failed, empty where it did not."""

    name: str
    counts: dict[str, float]
    ms: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class PassDone:
    name: str
    status: Literal["done", "failed"]
    steps: tuple[StepDone, ...]
    ms: int


@dataclass(frozen=True, slots=True)
class Maintained:
    """The result of upkeep; ``busy``: nothing, because another process is at it."""

    passes: tuple[PassDone, ...]
    busy: bool = False
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class Runs:
    """The latest runs of passes, newest first, and for each pass how it fared in the last 30 days.
    ``facts_since_synthesis`` were added since summaries were last written."""

    runs: tuple[Run, ...]
    passes: tuple[PassStats, ...]
    facts_since_synthesis: int
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class Hot:
    """A memory that is used much: how often, when last, and its tier (hot, warm or cold)."""

    id: int
    title: str
    kind: str
    access_count: int
    last_accessed_at: str | None
    tier: str


@dataclass(frozen=True, slots=True)
class HotReport:
    """The memories and the entities that were shown most, and how often all were."""

    observations: tuple[Hot, ...]
    entities: tuple[Hot, ...]
    total: int
    warnings: tuple[Told, ...] = ()
