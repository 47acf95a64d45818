"""Factors of a row's relevance: newer, pinned, used and salient rows rise gently, overdue ones sink."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from engram_py.dataclass import dataclass
from engram_py.ledger.citations import citation_factor
from engram_py.observations.values import Observation
from engram_py.settings import DEFAULTS
from engram_py.times import parse_time

# Each factor is small beside a word more or less, so that they settle near ties. Engram's own are of this size
# (.10 pinned, .06 recency, .04 repetition: spec/engram-behaviour.md 1.12).
RECENCY = 0.06
PINNED = 0.10
SALIENCE = 0.06
USE = 0.04
_USED_OFTEN = 4.0
_MIDDLE = 0.5

OVERDUE, EXPIRED = 0.9, 0.7
ELSEWHERE = 0.8


@dataclass(frozen=True, slots=True)
class Signals:
    """Whether a row is on another branch, and in how many sessions it was shown unasked and cited."""

    elsewhere: bool = False
    injected: int = 0
    cited: int = 0


def recency(row: Observation, now: datetime, half_life_days: int = DEFAULTS["recency_half_life_days"]) -> float:
    """Return ``0.5 ** (age / half-life)`` since the last change; 1 of a pinned row and of times to come."""
    changed = parse_time(row.updated_at)
    if row.pinned or changed is None:
        return 1.0
    days = max(0.0, (now - changed) / timedelta(days=1))
    return float(0.5 ** (days / half_life_days))


def factors(row: Observation, now: datetime, signals: Signals, fresh: float) -> Mapping[str, float]:
    """Return the factors of the relevance of a row by name, without those that change nothing; ``fresh`` is its
    ``recency``.

    ``recency``: 1 + .06 r; ``pinned``: 1.10; ``salience``: 1 + .06 (2 s - 1), s in 0..1 with .5 in the middle;
    ``use``: 1 + .04 n / (n + 4) after n times shown; ``cited``: see ledger/citations.py.
    ``expired`` .7, ``overdue`` .9, ``branch`` .8.
    """
    found = {"recency": 1 + RECENCY * fresh}
    if row.pinned:
        found["pinned"] = 1 + PINNED
    if row.salience != _MIDDLE:
        found["salience"] = 1 + SALIENCE * (2 * min(1.0, max(0.0, row.salience)) - 1)
    if row.access_count:
        found["use"] = 1 + USE * row.access_count / (row.access_count + _USED_OFTEN)
    if signals.injected or signals.cited:
        found["cited"] = citation_factor(signals.injected, signals.cited)
    if _past(row.expires_at, now):
        found["expired"] = EXPIRED
    if _past(row.review_after, now):
        found["overdue"] = OVERDUE
    if signals.elsewhere:
        found["branch"] = ELSEWHERE
    return {name: rounded for name, value in found.items() if (rounded := round(value, 4)) != 1}


def _past(text: str | None, now: datetime) -> bool:
    moment = parse_time(text)
    return moment is not None and moment <= now
