"""What the user set about searching. Every process reads it, so this module imports nothing."""

from __future__ import annotations

HALF_LIFE_DAYS = 30  # DESIGN.md, Rank; Osaurus and Martian use the same (spec/seed-capabilities.md 2.11)
_LEAST, _MOST = 1, 365


def half_life(said: str) -> tuple[int, tuple[str, ...]]:
    """The days after which recency is half of what it was, and a sentence where something else was set."""
    given = said.strip()
    if given.isascii() and given.isdecimal() and _LEAST <= int(given[:5]) <= _MOST:
        return int(given), ()
    why = f"recency_half_life_days {given[:20]!r} was ignored: it is a number from {_LEAST} to {_MOST}"
    return HALF_LIFE_DAYS, (why,) if given else ()
