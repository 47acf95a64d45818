"""Check numbers, scopes and dates that callers pass."""

from __future__ import annotations

from datetime import datetime

from engram_py.errors import InvalidArgumentError
from engram_py.observations.values import SCOPES, Scope
from engram_py.times import span_of, to_text


def clamp(name: str, value: int, low: int, high: int) -> tuple[int, tuple[str, ...]]:
    """``value`` limited to ``low``..``high``, and a warning when it was changed."""
    held = max(low, min(high, value))
    return held, () if held == value else (f"{name} {value} is outside {low}..{high}; used {held}",)


def clean_scope(scope: str | None) -> Scope | None:
    if scope is None or not scope.strip():
        return None
    for known in SCOPES:
        if scope.strip().lower() == known:
            return known
    raise InvalidArgumentError("scope", scope, expected=f"one of {', '.join(SCOPES)}")


def end_of(name: str, text: str, now: datetime, *, never: bool = True) -> str | None:
    """Return the first moment after a day or a month that was given, or a time as it is; None for ``never``."""
    if never and text.strip().lower() == "never":
        return None
    # "7d" means a week ago, so it cannot be an expiry date.
    span = None if never and "-" not in text else span_of(text, now)
    if span is None:
        other = "or never" if never else "or 7d, a week ago"
        raise InvalidArgumentError(name, text, expected=f"a date such as 2026-03-14, a time, {other}")
    return to_text(span[1])
