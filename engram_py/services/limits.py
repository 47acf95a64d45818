"""Numbers somebody asked for, held within what makes sense, and said so."""

from __future__ import annotations


def clamp(name: str, value: int, low: int, high: int) -> tuple[int, tuple[str, ...]]:
    """``value`` held between ``low`` and ``high``, and the sentence that says it was moved."""
    held = max(low, min(high, value))
    return held, () if held == value else (f"{name} {value} is outside {low}..{high}; used {held}",)
