"""When to sync: backoff after failures, and whether a hook should start a sync."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from engram_py.database.store import Store
from engram_py.sync.autosync import table
from engram_py.sync.autosync.login import current_login, token_fingerprint
from engram_py.sync.autosync.settings import TARGET, CloudSettings
from engram_py.sync.errors import CloudFailedError
from engram_py.times import parse_time, to_text

FIRST_SECONDS, LONGEST_SECONDS = 1.0, 300.0
JITTER = 0.25
# The longest backoff; a later time was written by a wrong clock.
MOST_SECONDS = 3_600.0


def delay(failures: int, *, chance: float, retry_after: float | None = None) -> float:
    """Return the seconds until the next try: 1 s doubled with each failure, at most 5 minutes, ± 25 %.

    ``chance`` in [0, 1) spreads machines that failed together. What the server asked for is the least.
    """
    base = min(FIRST_SECONDS * 2.0 ** min(failures - 1, 20), LONGEST_SECONDS / (1 + JITTER))
    spread = base * (1 - JITTER + 2 * JITTER * chance)
    return min(max(spread, retry_after or 0.0), MOST_SECONDS)


def remaining(until: str | None, now: datetime, *, most: float) -> float:
    """Return the seconds from ``now`` to ``until``; 0 when it is past or more than ``most`` away.

    A clock that was set back would otherwise freeze what waits for it.
    """
    moment = parse_time(until)
    if moment is None:
        return 0.0
    left = (moment - now) / timedelta(seconds=1)
    return left if 0 < left <= most else 0.0


def passed(since: str | None, now: datetime, *, seconds: float) -> bool:
    """Return whether ``seconds`` have passed since then; a time in the future counts as long ago."""
    moment = parse_time(since)
    if moment is None:
        return True
    return not 0 <= (now - moment) / timedelta(seconds=1) < seconds


@contextmanager
def stopped_after(seconds: float) -> Iterator[threading.Event]:
    """Yield an event that is set when the time is over."""
    stopped = threading.Event()
    timer = threading.Timer(seconds, stopped.set)
    timer.daemon = True
    timer.start()
    try:
        yield stopped
    finally:
        timer.cancel()


# A server process asks every 30 to 35 seconds, and notices a hook's writes in between: while it does, nothing is due.
QUIET_SECONDS = 45.0


def is_due(store: Store, settings: CloudSettings, now: datetime, *, last: bool) -> bool:
    """Return whether a hook should start a process that syncs: nobody else does, and no backoff runs.

    ``last``, the end of a session: the agent's server ends too, so what waits is sent whoever synced just now.
    """
    if not settings.autosync:
        return False
    try:
        login = current_login(store, settings)
    except CloudFailedError:  # `engram cloud status` says which
        return False
    if login is None or not table.has_projects(store, login.server):
        return False
    row = table.state(store, TARGET)
    if row is None:
        return True
    if row["refused_token"] and (not login.given or row["refused_token"] == token_fingerprint(login.given)):
        return False  # until the next login
    waits = (row["push_backoff_until"], row["pull_backoff_until"])
    if all(remaining(until, now, most=MOST_SECONDS) for until in waits):
        return False
    if passed(row["last_attempt_at"], now, seconds=QUIET_SECONDS):
        return True
    return last and table.anything_waits(store, login.server)


def begin(store: Store, now: datetime) -> None:
    """Record an attempt, so that other hooks do not start one too. Raises StoreError."""
    with store.transaction():
        table.set_state(store, TARGET, last_attempt_at=to_text(now))
