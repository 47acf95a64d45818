"""Which observations are never given to an agent unasked: what somebody else wrote that reads like an order."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from engram_py.capture.orders import reads_like_an_order
from engram_py.database.store import Store
from engram_py.observations import table
from engram_py.observations.values import Observation

BROUGHT = ("import", "derived")


def quarantined(store: Store, rows: Sequence[Observation], *, foreign: Collection[int] | None = None) -> set[int]:
    """Return the ids of imported, derived or received rows that read like an order.

    ``foreign`` are the ids of received rows, where the caller knows them.
    """
    foreign = table.made_elsewhere(store, [row.id for row in rows]) if foreign is None else foreign
    brought = [row for row in rows if row.origin in BROUGHT or row.id in foreign]
    return {row.id for row in brought if reads_like_an_order(row.title, row.content)}
