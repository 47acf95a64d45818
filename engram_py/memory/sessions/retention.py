"""How long the raw messages of conversations are kept."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from engram_py.base.database.store import Store, waiting
from engram_py.base.errors import StoreError
from engram_py.base.times import Clock, to_text
from engram_py.memory.sessions import table

_NEVER = "9999-12-31T23:59:59.999Z"


def oldest_kept(clock: Clock, days: int) -> str:
    """The moment before which nothing is kept; with 0 days nothing at all."""
    return to_text(clock() - timedelta(days=days)) if days else _NEVER


def prune_turns(store: Store, before: str) -> int:
    """Delete the turns read before a moment and return their number. Writes nothing if there are none."""
    if not table.any_before(store, before):
        return 0
    with store.transaction():
        return table.prune(store, before=before)


def prune_after_first_write(store: Store, before: Callable[[], str]) -> None:
    """Prune once, after the first write of this process, without waiting: for servers whose agents have no hooks."""
    done = False

    def look() -> None:
        nonlocal done
        if done:
            return
        done = True
        try:
            with waiting(store, 0.0):
                prune_turns(store, before())
        except StoreError:  # the file is busy; try after the next write
            done = False

    store.after_write.append(look)


def turns_kept(store: Store) -> tuple[int, str]:
    """Return how many raw messages there are, and when the oldest was read; empty where there is none."""
    [(count, oldest)] = store.tuples("select count(*), coalesce(min(read_at), '') from turns")
    return int(count), str(oldest)
