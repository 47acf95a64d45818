"""Holds measured recall against the committed last result and against the targets, and prints it as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

COMMITTED = Path(__file__).resolve().parent / "recall.json"
TOLERANCE = 0.01
Sets = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Target:
    """``at_least`` of a figure, or ``at_most``."""

    name: str
    figure: str
    value: float
    at_most: bool = False

    def missed_by(self, value: float) -> bool:
        return value > self.value if self.at_most else value < self.value

    def __str__(self) -> str:
        return f"{'<=' if self.at_most else '>='} {self.value:g}"


TARGETS = (
    Target("adr", "recall@5", 0.83),
    Target("faq", "recall@5", 0.84),
    Target("nl2bash", "recall@5", 0.63),
    Target("curl", "recall@5", 0.28),
    Target("locomo-turns", "recall@5", 0.66),
    Target("locomo-sessions", "recall@5", 0.89),
    Target("xquad", "recall@5", 0.96),
    Target("cosqa", "recall@5", 0.47),
    Target("dpdk", "recall@5", 0.27),
    Target("foreign-locomo-turns", "answered", 0.20, at_most=True),
    Target("foreign-locomo-turns", "kept", 0.96),
    Target("foreign-locomo-sessions", "answered", 0.20, at_most=True),
    Target("foreign-locomo-sessions", "kept", 0.96),
)
# What may not fall; of the others a change is no fault by itself.
HELD = ("recall@1", "recall@5", "recall@10", "hit@5", "mrr@10", "ndcg@10", "kept")
HELD_DOWN = ("answered",)
_RANKED = ("recall@1", "recall@5", "recall@10", "hit@5", "mrr@10", "ndcg@10", "empty", "p50_ms", "p95_ms")
_FOREIGN = ("answered", "kept")


def read_committed(file: Path) -> dict[str, dict[str, float]]:
    """The figures of the last result, none where there is no file."""
    if not file.exists():
        return {}
    sets: dict[str, dict[str, float]] = json.loads(file.read_text(encoding="utf-8"))["sets"]
    return sets


def judge(measured: Sets, committed: Sets) -> list[str]:
    """A sentence for each figure that fell by more than the tolerance or misses its target."""
    said = []
    for name, values in measured.items():
        before = committed.get(name, {})
        for figure in (*HELD, *HELD_DOWN):
            if figure not in values or figure not in before:
                continue
            lost = before[figure] - values[figure]
            if (-lost if figure in HELD_DOWN else lost) > TOLERANCE:
                said.append(f"{name}: {figure} went from {before[figure]:.3f} to {values[figure]:.3f}")
    for target in TARGETS:
        value = measured.get(target.name, {}).get(target.figure)
        if value is not None and target.missed_by(value):
            said.append(f"{target.name}: {target.figure} is {value:.3f}, the target {target}")
    return said


def lines_of(measured: Sets, committed: Sets) -> list[str]:
    """The tables: ranked sets, foreign questions, and what the sets are made of."""
    ranked = {name: values for name, values in measured.items() if "recall@5" in values}
    foreign = {name: values for name, values in measured.items() if "answered" in values}
    lines = _table(ranked, committed, _RANKED, "recall@5")
    lines += [""] * bool(ranked and foreign) + _table(foreign, committed, _FOREIGN, "answered")
    for name, values in ranked.items():
        parts = {key.split(" of ")[1]: value for key, value in values.items() if " of " in key}
        if parts:
            lines += ["", f"{name}, recall@5: " + ", ".join(f"{part} {value:.3f}" for part, value in parts.items())]
        if "adversarial recall@5" in values:
            count, share, empty = (values[f"adversarial {it}"] for it in ("questions", "recall@5", "empty"))
            lines.append(f"  apart: {count:.0f} adversarial questions, recall@5 {share:.3f}, empty {empty:.3f}")
        if "foreign answered" in values:
            lines.append(f"  {name}: questions that no memory answers were answered {values['foreign answered']:.3f}")
        if values["refused"]:
            lines.append(f"  {values['refused']:.0f} questions were refused with an error")
    return lines


def _table(sets: Sets, committed: Sets, columns: Sequence[str], main: str) -> list[str]:
    if not sets:
        return []
    rows = [["set", "asked", *columns, f"{main} before", "target", ""]]
    for name, values in sets.items():
        targets = [target for target in TARGETS if target.name == name and target.figure in values]
        missed = any(target.missed_by(values[target.figure]) for target in targets)
        before = committed.get(name, {}).get(main)
        rows.append(
            [
                name,
                f"{values['questions']:.0f}",
                *(f"{values[column]:.2f}" if column.endswith("ms") else f"{values[column]:.3f}" for column in columns),
                "-" if before is None else f"{before:.3f} ({values[main] - before:+.3f})",
                ", ".join(str(target) for target in targets),
                "MISSED" if missed else "ok" if targets else "",
            ]
        )
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
