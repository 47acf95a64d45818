"""Whether a hook should have its changes sent by a process of their own: a hook is over before a server answers.

Asked at the end of every session and answer, so it costs a query where nobody logged in, and imports next to nothing.
"""

from __future__ import annotations

from datetime import datetime

from engram_py.database.store import Store
from engram_py.sync.autosync import table, tokens
from engram_py.sync.autosync.backoff import MOST_SECONDS, passed, remaining
from engram_py.sync.autosync.problems import Problem
from engram_py.sync.autosync.settings import TARGET, CloudSettings
from engram_py.sync.autosync.standing import standing
from engram_py.times import to_text

# A server process asks every 30 to 35 seconds, and notices a hook's writes in between: while it does, nothing is due.
QUIET_SECONDS = 45.0


def is_due(store: Store, settings: CloudSettings, now: datetime, *, last: bool) -> bool:
    """Whether nobody else on this machine syncs, and it may be tried now.

    ``last``, the end of a session: the agent's server ends too, so what waits is sent whoever synced just now.
    """
    if not settings.autosync:
        return False
    try:
        found = standing(store, settings)
    except Problem:  # `engram cloud status` says which
        return False
    if found is None or not table.has_projects(store, found.server):
        return False
    row = table.state(store, TARGET)
    if row is None:
        return True
    if row["refused_token"] and (not found.given or row["refused_token"] == tokens.mark(found.given)):
        return False  # until the next login
    waits = (row["push_backoff_until"], row["pull_backoff_until"])
    if all(remaining(until, now, most=MOST_SECONDS) for until in waits):
        return False
    if passed(row["last_attempt_at"], now, seconds=QUIET_SECONDS):
        return True
    return last and table.anything_waits(store, found.server, TARGET)


def begin(store: Store, now: datetime) -> None:
    """Others need not go as well. Raises StoreError."""
    with store.transaction():
        table.set_state(store, TARGET, last_attempt_at=to_text(now))
