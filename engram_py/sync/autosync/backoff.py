"""How long to wait after failures, and moments that another clock wrote. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from engram_py.times import parse_time

FIRST_SECONDS, LONGEST_SECONDS = 1.0, 300.0
JITTER = 0.25
# Asked for by a server, or by our own counting; a moment further away than this was written by a wrong clock.
MOST_SECONDS = 3_600.0


def delay(failures: int, *, chance: float, retry_after: float | None = None) -> float:
    """Seconds until the next try: 1 s doubled with every failure in a row, at most 5 minutes, a quarter more or less.

    ``chance`` in [0, 1) spreads machines that failed together. What the server asked for is the least.
    """
    base = min(FIRST_SECONDS * 2.0 ** min(failures - 1, 20), LONGEST_SECONDS / (1 + JITTER))
    spread = base * (1 - JITTER + 2 * JITTER * chance)
    return min(max(spread, retry_after or 0.0), MOST_SECONDS)


def remaining(until: str | None, now: datetime, *, most: float) -> float:
    """Seconds from ``now`` to ``until``; 0 when it is past, or further away than anybody here would have set it.

    A clock that was set back would otherwise freeze what waits for it.
    """
    moment = parse_time(until)
    if moment is None:
        return 0.0
    left = (moment - now) / timedelta(seconds=1)
    return left if 0 < left <= most else 0.0


def passed(since: str | None, now: datetime, *, seconds: float) -> bool:
    """Whether ``seconds`` have passed since that moment; a moment of the future counts as long ago."""
    moment = parse_time(since)
    if moment is None:
        return True
    return not 0 <= (now - moment) / timedelta(seconds=1) < seconds
