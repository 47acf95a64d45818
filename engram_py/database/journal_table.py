"""SQL of the change journal: the clock's high mark, the mutation queue, the tombstones, the meta table."""

from __future__ import annotations

from engram_py.database.store import Store

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
    """Two values at once, by their keys: the clock and the device are read with every change."""
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


def bury(
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


def unbury(store: Store, entity: str, key: str) -> None:
    store.execute("delete from tombstones where entity = :entity and entity_key = :key", entity=entity, key=key)
    store.execute("delete from sync_private where entity = :entity and entity_key = :key", entity=entity, key=key)


def ahead_of(store: Store, entity: str, key: str) -> str | None:
    """The clock of a row that is dated so far ahead that this machine's clock did not follow it."""
    sql = "select clock from sync_ahead where entity = :entity and entity_key = :key"
    found: str | None = store.value(sql, entity=entity, key=key)
    return found


def outrun(store: Store, entity: str, key: str, clock: str, *, ahead: str) -> None:
    """Date such a row anew, and that it was made personal, where that is what happened to it."""
    table, column = TABLES[entity]
    store.update(table, {column: key}, {"clock": clock})
    if entity == "observation":
        sql = "update sync_withdrawn set clock = :clock where sync_id = :key and clock <= :ahead"
        store.execute(sql, clock=clock, key=key, ahead=ahead)
    store.insert("sync_ahead", {"entity": entity, "entity_key": key, "clock": clock}, replace=True)


def queue_size(store: Store) -> int:
    return int(store.value("select count(*) from sync_mutations"))
