"""The mutation queue: every change of a row is stamped with a clock and queued for sync (``Journal``); with tombstones,
changes kept for undo, the meta table, and counts of rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

from engram_py.base.clock import is_ahead, new_device_id, next_stamp, parse_stamp
from engram_py.base.database.store import Store
from engram_py.base.times import Calendar, Clock, to_text

_CLOCK, _DEVICE, _BEFORE_LEAPS = "clock", "device_id", "clock_before_leaps"
_MOST_LEAPS = 16
_MOST_CHANGES = 1_000


class Journal:
    """Stamps rows with a clock that never runs backwards, and queues their mutations. Use it inside transactions."""

    def __init__(self, store: Store, clock: Clock, zone: tzinfo | None = UTC) -> None:
        self._store = store
        self._clock = clock
        self.zone = zone  # of the user's days; None is the system's
        self._change = (0, 0)  # the transaction, and the change that its rows belong to

    def moment(self) -> datetime:
        return self._clock()

    def now(self) -> str:
        return to_text(self._clock())

    @property
    def calendar(self) -> Calendar:
        """The user's days, as seen from now."""
        return Calendar(self._clock(), self.zone)

    def stamp(self) -> str:
        """Return the clock of a change: later than every change this database has seen.

        But for those of a wall clock that was wrong: a date more than a day ahead is no time to go on from. Then it is
        later than what was seen before the clock leapt there.
        """
        milliseconds = int(self._clock().timestamp() * 1000)
        sql = "select key, value from meta where key in (:clock, :device, :leaps)"
        known = dict(self._store.tuples(sql, clock=_CLOCK, device=_DEVICE, leaps=_BEFORE_LEAPS))
        device = known.get(_DEVICE) or self.device()
        last, leaps = known.get(_CLOCK) or "", (known.get(_BEFORE_LEAPS) or "").split()
        if last and is_ahead(last, now_milliseconds=milliseconds):
            leaps = [before for before in leaps if not is_ahead(before, now_milliseconds=milliseconds)]
            last = max(leaps, default="")
        stamp = next_stamp(last, now_milliseconds=milliseconds, device=device)
        if last and is_ahead(stamp, now_milliseconds=parse_stamp(last).milliseconds):
            set_meta(self._store, _BEFORE_LEAPS, " ".join([*leaps, last][-_MOST_LEAPS:]))
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
            for table in ("tombstones", "sync_private"):
                sql = f"delete from {table} where entity = :entity and entity_key = :key"
                self._store.execute(sql, entity=entity, key=key)
        self._enqueue(entity, key, "upsert", project, clock)

    def removed(self, entity: str, key: str, *, project: str, clock: str, session_id: str | None = None) -> None:
        """Leave a tombstone for a hard delete and queue it."""
        stone = {"entity": entity, "entity_key": key, "project": project, "session_id": session_id, "clock": clock}
        add_tombstone(self._store, stone | {"deleted_at": self.now()})
        self._enqueue(entity, key, "delete", project, clock)

    def keep_change(
        self, entity: str, key: str, before: Mapping[str, Any], after: Mapping[str, Any], ends: Sequence[int | None]
    ) -> None:
        """Keep the columns of a row before and after a change somebody made, so that it can be taken back; ``ends`` are
        the observations it is of. It stays on this machine."""
        import json

        begun, change_id = self._change
        if begun != self._store.begun or not self._store.row("select 1 from changes where id = :id", id=change_id):
            change_id = self._store.insert("changes", {"made_at": self.now()})
            self._store.execute("delete from changes where id <= :id", id=change_id - _MOST_CHANGES)
            self._change = (self._store.begun, change_id)
        values = {"change_id": change_id, "entity": entity, "entity_key": key}
        values |= dict(zip(("observation_id", "other_id"), ends, strict=False))
        self._store.insert("changed", values | {"before": json.dumps(before), "after": json.dumps(after)})

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


def set_meta(store: Store, key: str, value: str) -> None:
    sql = "insert into meta (key, value) values (:key, :value) on conflict (key) do update set value = :value"
    store.execute(sql, key=key, value=value)


def enqueue(store: Store, **mutation: str) -> None:
    """Queue a mutation: ``entity``, ``entity_key``, ``op``, ``project``, ``clock`` and ``occurred_at``."""
    # `or replace` deletes the row of an earlier change of the same thing and takes a new seq: the queue holds
    # each thing once, and a reader's cursor still passes over it again.
    store.insert("sync_mutations", mutation, replace=True)


def add_tombstone(store: Store, stone: Mapping[str, str | None], *, final: bool = True) -> None:
    """Keep a tombstone: ``entity``, ``entity_key``, ``project``, ``session_id``, ``deleted_at`` and ``clock``."""
    store.insert("tombstones", {**stone, "final": int(final)}, replace=True)


def queue_size(store: Store, *, cap: int = -1) -> int:
    """Return how many changes are queued, counted no further than ``cap``."""
    return int(store.value("select count(*) from (select 1 from sync_mutations limit :cap)", cap=cap))


_OF = "kind = :kind and (:projects is null or project in (select value from json_each(:projects)))"
_NUMBER = f"select coalesce(sum(number), 0) from counts where {_OF}"
_TYPES = f"""
select type, sum(number) as number from counts where {_OF} and number > 0 group by type order by number desc, type
"""

# As the migration fills the table.
_COUNTED = """
select iif(deleted_at is null, 'observation', 'deleted') as kind, project, iif(deleted_at is null, type, '') as type,
    count(*) as number
from observations group by 1, 2, 3
union all select 'session', project, '', count(*) from sessions group by project
union all select 'prompt', project, '', count(*) from user_prompts group by project
union all select 'relation', project, '', count(*) from memory_relations group by project
union all select 'version', '', '', count(*) from observation_versions
"""
_WRONG = f"""
select kind, project, type from (
    select kind, project, type, number from counts where number <> 0
    union all select kind, project, type, number from ({_COUNTED}) where number <> 0
)
group by kind, project, type, number having count(*) = 1
order by kind, project, type
"""


def count_rows(store: Store, kind: str, projects: Sequence[str] | None = None) -> int:
    """Return how many rows of a kind the projects have: observation (a live one), deleted, session, prompt, relation or
    version. It takes the same time however many there are."""
    return int(store.value(_NUMBER, kind=kind, projects=projects))


def count_types(store: Store, projects: Sequence[str] | None = None) -> dict[str, int]:
    """Return how many live observations there are of each type, the most first."""
    return dict(store.tuples(_TYPES, kind="observation", projects=projects))


def wrong_counts(store: Store) -> list[str]:
    """Return the kinds and projects whose number is not what counting every row gives."""
    return list(dict.fromkeys(f"{kind} {project}".strip() for kind, project, _ in store.tuples(_WRONG)))


def count_again(store: Store) -> None:
    """Count every row. Call inside a transaction."""
    store.execute("delete from counts")
    store.execute(f"insert into counts (kind, project, type, number) {_COUNTED}")
