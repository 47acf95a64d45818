"""Wait for other processes for a shorter time than usual."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engram_py.database.store import Store


@contextmanager
def waiting(store: Store, seconds: float) -> Iterator[None]:
    """Limit every wait for another process to ``seconds``; other threads wait outside meanwhile."""
    with store.connection() as connection:
        lock_timeout = store.lock_timeout
        timeout = int(connection.execute("pragma busy_timeout").fetchone()[0])
        store.hurry(seconds)
        try:
            yield
        finally:
            store.lock_timeout = lock_timeout
            connection.execute(f"pragma busy_timeout = {timeout}")


@contextmanager
def at_once(store: Store) -> Iterator[None]:
    """A ``store.transaction()`` that does not wait: StoreBusyError while another process writes."""
    with waiting(store, 0), store.transaction():
        yield
