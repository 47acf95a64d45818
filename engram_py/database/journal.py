"""The journal of changes: clock stamps, the mutation queue, tombstones, the meta table."""

from __future__ import annotations

import os
from datetime import datetime

from engram_py.clock import just_after, new_device_id, next_stamp
from engram_py.database.store import Store
from engram_py.times import Clock, to_text

_CLOCK, _DEVICE = "clock", "device_id"


class Journal:
    """Stamps rows with a clock that never runs backwards, and queues their mutations. Use it inside transactions."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def moment(self) -> datetime:
        return self._clock()

    def now(self) -> str:
        return to_text(self._clock())

    def stamp(self) -> str:
        """Return the clock of a change: later than every change this database has seen."""
        milliseconds = int(self._clock().timestamp() * 1000)
        known = get_metas(self._store, _CLOCK, _DEVICE)
        device = known.get(_DEVICE) or self.device()
        stamp = next_stamp(known.get(_CLOCK) or "", now_milliseconds=milliseconds, device=device)
        set_meta(self._store, _CLOCK, stamp)
        return stamp

    def device(self) -> str:
        """Return the name of this database among those it may sync with, made on the first write."""
        device = get_meta(self._store, _DEVICE)
        if device is None:
            device = new_device_id()
            set_meta(self._store, _DEVICE, device)
        return device

    def changed(self, entity: str, key: str, *, project: str, clock: str) -> None:
        """Queue the present state of a row."""
        if entity in NATURAL:  # made again under a name that was deleted
            remove_tombstone(self._store, entity, key)
        self._enqueue(entity, key, "upsert", project, self._later_than_ahead(entity, key, clock))

    def removed(self, entity: str, key: str, *, project: str, clock: str, session_id: str | None = None) -> None:
        """Leave a tombstone for a hard delete and queue it."""
        clock = self._later_than_ahead(entity, key, clock)
        add_tombstone(
            self._store,
            entity=entity,
            entity_key=key,
            project=project,
            session_id=session_id,
            deleted_at=self.now(),
            clock=clock,
        )
        self._enqueue(entity, key, "delete", project, clock)

    def _later_than_ahead(self, entity: str, key: str, clock: str) -> str:
        """Return the clock of a change to a row that another machine dated far ahead: later yet, or it would be lost
        there."""
        ahead = ahead_of(self._store, entity, key)
        if ahead is None or ahead < clock:
            return clock
        later = just_after(ahead, device=self.device())
        advance_ahead(self._store, entity, key, later, ahead=ahead)
        return later

    def _enqueue(self, entity: str, key: str, op: str, project: str, clock: str) -> None:
        enqueue(self._store, entity=entity, entity_key=key, op=op, project=project, clock=clock, occurred_at=self.now())


def new_sync_id(prefix: str) -> str:
    """Return ``obs-`` and the like with 16 hex digits: the identity of a row on every machine."""
    return f"{prefix}-{os.urandom(8).hex()}"


# Where each kind lives, and the column that is the same on every machine.
TABLES = {
    "session": ("sessions", "id"),
    "observation": ("observations", "sync_id"),
    "prompt": ("user_prompts", "sync_id"),
    "relation": ("memory_relations", "sync_id"),
    "project": ("projects", "name"),
    "alias": ("project_aliases", "alias"),
}
# Kinds whose keys people choose: one that was deleted can be made again under its name.
NATURAL = frozenset({"session", "project", "alias"})


def get_meta(store: Store, key: str) -> str | None:
    value: str | None = store.value("select value from meta where key = :key", key=key)
    return value


def get_metas(store: Store, one: str, other: str) -> dict[str, str]:
    """Return two values by their keys; the clock and the device are read with every change."""
    return dict(store.tuples("select key, value from meta where key in (:one, :other)", one=one, other=other))


def set_meta(store: Store, key: str, value: str) -> None:
    store.execute(
        "insert into meta (key, value) values (:key, :value) on conflict (key) do update set value = :value",
        key=key,
        value=value,
    )


def enqueue(store: Store, *, entity: str, entity_key: str, op: str, project: str, clock: str, occurred_at: str) -> None:
    # `or replace` deletes the row of an earlier change of the same thing and takes a new seq: the queue holds
    # each thing once, and a reader's cursor still passes over it again.
    store.insert(
        "sync_mutations",
        {
            "entity": entity,
            "entity_key": entity_key,
            "op": op,
            "project": project,
            "clock": clock,
            "occurred_at": occurred_at,
        },
        replace=True,
    )


def add_tombstone(
    store: Store,
    *,
    entity: str,
    entity_key: str,
    project: str,
    session_id: str | None,
    deleted_at: str,
    clock: str,
    final: bool = True,
) -> None:
    store.insert(
        "tombstones",
        {
            "entity": entity,
            "entity_key": entity_key,
            "project": project,
            "session_id": session_id,
            "deleted_at": deleted_at,
            "clock": clock,
            "final": int(final),
        },
        replace=True,
    )


def remove_tombstone(store: Store, entity: str, key: str) -> None:
    store.execute("delete from tombstones where entity = :entity and entity_key = :key", entity=entity, key=key)
    store.execute("delete from sync_private where entity = :entity and entity_key = :key", entity=entity, key=key)


def ahead_of(store: Store, entity: str, key: str) -> str | None:
    """Return the clock of a row that is dated too far ahead for this machine's clock to follow."""
    sql = "select clock from sync_ahead where entity = :entity and entity_key = :key"
    found: str | None = store.value(sql, entity=entity, key=key)
    return found


def advance_ahead(store: Store, entity: str, key: str, clock: str, *, ahead: str) -> None:
    """Store the later clock of such a row, also where it was made personal."""
    table, column = TABLES[entity]
    store.update(table, {column: key}, {"clock": clock})
    if entity == "observation":
        sql = "update sync_withdrawn set clock = :clock where sync_id = :key and clock <= :ahead"
        store.execute(sql, clock=clock, key=key, ahead=ahead)
    store.insert("sync_ahead", {"entity": entity, "entity_key": key, "clock": clock}, replace=True)


def queue_size(store: Store) -> int:
    return int(store.value("select count(*) from sync_mutations"))
