"""A measurement as a line of the table: ours, the baseline, how they compare, and whether that is within budget."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest

WITHIN, OVER, INFORMATION = "ok", "OVER", "-"
_HEADINGS = ("what", "ours", "baseline", "compared", "budget", "verdict")


@dataclass(frozen=True)
class Line:
    """One row of the table. ``gate``: `--check` fails when it is over budget."""

    what: str
    ours: str
    baseline: str = ""
    compared: str = ""
    budget: str = ""
    verdict: str = INFORMATION
    gate: bool = False
    numbers: Mapping[str, float] = field(default_factory=dict)


def ratio(
    what: str, ours: Sequence[float], baseline: Sequence[float], *, at_most: float | None = None, gate: bool = False
) -> Line:
    """Seconds against seconds, by the median of the ratios of neighbours: what slowed a round slowed both of it."""
    factor = statistics.median(one / other for one, other in zip(ours, baseline, strict=True))
    mine, theirs = statistics.median(ours), statistics.median(baseline)
    numbers = {"ours_s": mine, "baseline_s": theirs, "ratio": factor, **_spread(ours, baseline)}
    return Line(
        what,
        seconds(mine),
        seconds(theirs),
        f"{factor:.2f} x",
        "" if at_most is None else f"<= {at_most:g} x",
        judged(factor, at_most),
        gate,
        numbers,
    )


def above(
    what: str,
    ours: Sequence[float],
    baseline: Sequence[float],
    *,
    at_most: float | None = None,
    unit: Sequence[float] = (),
) -> Line:
    """The 95th percentile of ours less the baseline's median; ``at_most`` times the median of ``unit``."""
    most = None if at_most is None else at_most * statistics.median(unit)
    p50, p95, theirs = percentile(ours, 50), percentile(ours, 95), statistics.median(baseline)
    numbers = {
        "p50_s": p50,
        "p95_s": p95,
        "baseline_s": theirs,
        "p50_above_s": p50 - theirs,
        "p95_above_s": p95 - theirs,
    }
    return Line(
        what,
        f"p50 {seconds(p50)}, p95 {seconds(p95)}",
        seconds(theirs),
        f"p95 +{seconds(p95 - theirs)}",
        "" if most is None else f"<= {at_most:g} x {seconds(statistics.median(unit))}",
        judged(p95 - theirs, most),
        numbers=numbers | _spread(ours, baseline),
    )


def judged(value: float, at_most: float | None) -> str:
    if at_most is None:
        return INFORMATION
    return WITHIN if value <= at_most else OVER


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that ``percent`` of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def seconds(value: float) -> str:
    for unit, size, digits in (("s", 1.0, 2), ("ms", 1e-3, 0 if abs(value) >= 0.1 else 2)):
        if abs(value) >= size:
            return f"{value / size:.{digits}f} {unit}"
    return f"{value * 1e6:.0f} us"


def table(lines: Sequence[Line]) -> str:
    """The lines under their headings, in columns as wide as their widest cell."""
    rows = [_HEADINGS, *((one.what, one.ours, one.baseline, one.compared, one.budget, one.verdict) for one in lines)]
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    rule = tuple("-" * width for width in widths)
    cells = [rows[0], rule, *rows[1:]]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def as_json(lines: Sequence[Line]) -> list[dict[str, object]]:
    return [asdict(line) for line in lines]


def _spread(ours: Sequence[float], baseline: Sequence[float]) -> dict[str, float]:
    return {"runs": len(ours), "ours_min_s": min(ours), "ours_max_s": max(ours), "baseline_min_s": min(baseline)}
