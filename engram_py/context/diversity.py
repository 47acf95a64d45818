"""Maximal marginal relevance: different things before the same thing again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

LAMBDA = 0.85
# Two texts that share this much of their words say the same: the bar at which a fact counts as a repetition of
# another (spec/seed-capabilities.md M14).
NEAR = 0.70


def mmr(
    items: Sequence[tuple[T, float]],
    similarity: Callable[[T, T], float],
    *,
    lam: float = LAMBDA,
    limit: int | None = None,
    near: float = NEAR,
) -> list[T]:
    """At most ``limit`` of the items, each given with its relevance: the relevant first, the same thing again last.

    Chosen one by one for the largest ``lam * relevance - (1 - lam) * (most similar to one chosen before)``, with
    relevance scaled to 0..1 over the items (Carbonell and Goldstein 1998, "The use of MMR"; 0.85 is Osaurus' value,
    spec/seed-capabilities.md O42). That alone lets six copies of the best line fill a section when the rest is far
    behind, so an item at least ``near`` to a chosen one waits until nothing different is left. Equal marks keep the
    order of the items. ``similarity`` is asked about ``len(items) * limit`` times.
    """
    limit = len(items) if limit is None else limit
    marks = _scaled([relevance for _, relevance in items])
    closest = [0.0] * len(items)
    remaining = list(range(len(items)))
    chosen: list[T] = []
    while remaining and len(chosen) < limit:
        best = max(remaining, key=lambda at: (closest[at] < near, lam * marks[at] - (1 - lam) * closest[at], -at))
        remaining.remove(best)
        chosen.append(items[best][0])
        for at in remaining:
            closest[at] = max(closest[at], similarity(items[at][0], items[best][0]))
    return chosen


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]
