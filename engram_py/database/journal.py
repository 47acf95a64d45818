"""Time and change: what every write asks for its timestamps, and tells what it changed."""

from __future__ import annotations

import os
from datetime import datetime

from engram_py.clock import just_after, new_device_id, next_stamp
from engram_py.database import journal_table as journal
from engram_py.database.journal_table import NATURAL
from engram_py.database.store import Store
from engram_py.times import Clock, to_text

_CLOCK, _DEVICE = "clock", "device_id"


class Journal:
    """Stamps rows with a clock that never runs backwards and queues their mutations. Used inside transactions."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def moment(self) -> datetime:
        return self._clock()

    def now(self) -> str:
        return to_text(self._clock())

    def stamp(self) -> str:
        """The clock of a change: later than every change this database has seen."""
        milliseconds = int(self._clock().timestamp() * 1000)
        known = journal.get_metas(self._store, _CLOCK, _DEVICE)
        device = known.get(_DEVICE) or self.device()
        stamp = next_stamp(known.get(_CLOCK) or "", now_milliseconds=milliseconds, device=device)
        journal.set_meta(self._store, _CLOCK, stamp)
        return stamp

    def device(self) -> str:
        """The name of this database among those it may sync with, made on the first write."""
        device = journal.get_meta(self._store, _DEVICE)
        if device is None:
            device = new_device_id()
            journal.set_meta(self._store, _DEVICE, device)
        return device

    def changed(self, entity: str, key: str, *, project: str, clock: str) -> None:
        """Queue "this row is as the table has it now"."""
        if entity in NATURAL:  # made again under a name that was deleted
            journal.unbury(self._store, entity, key)
        self._enqueue(entity, key, "upsert", project, self._outrun(entity, key, clock))

    def removed(self, entity: str, key: str, *, project: str, clock: str, session_id: str | None = None) -> None:
        """Leave a tombstone for a hard delete and queue it."""
        clock = self._outrun(entity, key, clock)
        journal.bury(
            self._store,
            entity=entity,
            entity_key=key,
            project=project,
            session_id=session_id,
            deleted_at=self.now(),
            clock=clock,
        )
        self._enqueue(entity, key, "delete", project, clock)

    def _outrun(self, entity: str, key: str, clock: str) -> str:
        """The clock of a change to a row that another machine dated far ahead: later yet, or it would be lost there."""
        ahead = journal.ahead_of(self._store, entity, key)
        if ahead is None or ahead < clock:
            return clock
        later = just_after(ahead, device=self.device())
        journal.outrun(self._store, entity, key, later, ahead=ahead)
        return later

    def _enqueue(self, entity: str, key: str, op: str, project: str, clock: str) -> None:
        journal.enqueue(
            self._store, entity=entity, entity_key=key, op=op, project=project, clock=clock, occurred_at=self.now()
        )


def new_sync_id(prefix: str) -> str:
    """``obs-`` and the like with 16 hex digits: the identity of a row on every machine."""
    return f"{prefix}-{os.urandom(8).hex()}"
