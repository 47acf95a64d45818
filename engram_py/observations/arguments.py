"""Small arguments, checked: numbers held within what makes sense and said so, scopes by name."""

from __future__ import annotations

from engram_py.errors import InvalidArgumentError
from engram_py.observations.values import SCOPES, Scope


def clamp(name: str, value: int, low: int, high: int) -> tuple[int, tuple[str, ...]]:
    """``value`` held between ``low`` and ``high``, and the sentence that says it was moved."""
    held = max(low, min(high, value))
    return held, () if held == value else (f"{name} {value} is outside {low}..{high}; used {held}",)


def clean_scope(scope: str | None) -> Scope | None:
    if scope is None or not scope.strip():
        return None
    for known in SCOPES:
        if scope.strip().lower() == known:
            return known
    raise InvalidArgumentError("scope", scope, expected=f"one of {', '.join(SCOPES)}")
