"""Apply one mutation: compare it with the local row and write the winner."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from engram_py.database.journal import NATURAL, TABLES
from engram_py.database.store import Row
from engram_py.sync.mutation import KINDS, Mutation
from engram_py.sync.replica import table
from engram_py.sync.replica.apply_observations import apply_observation, apply_version, remove_observation
from engram_py.sync.replica.batch import Batch
from engram_py.sync.replica.outgoing import portable_directory
from engram_py.sync.replica.parse import (
    Read,
    UnreadableError,
    deletion_time,
    read_name,
    read_observation,
    read_prompt,
    read_relation,
    read_session,
    read_version,
    redacted,
)

_READERS: dict[str, Callable[[Mutation], Any]] = {
    "observation": read_observation,
    "version": read_version,
    "session": read_session,
    "prompt": read_prompt,
    "relation": read_relation,
}
_CARRIED_LIMIT_BYTES = 1_000_000
# A row whose columns of these are as they were is still of whom it was.
_SPOKEN = {
    "session": ("summary", "directory"),
    "prompt": ("content",),
    "relation": ("relation", "reason", "judgment_status", "superseded_at"),
}

# Dependencies first, deletions last.
_ORDER = {kind: place for place, kind in enumerate(KINDS)}


def apply_order(mutation: Mutation) -> int:
    """Return the position of a mutation in a batch: dependencies first, deletions in reverse order."""
    place = _ORDER.get(mutation.entity, len(KINDS))
    return place if mutation.op == "upsert" else 100 - place


def read(mutation: Mutation) -> Any:
    """Parse and redact a mutation. This takes longer than writing it, and needs no lock.

    Raises UnreadableError: it is no row of its kind.
    """
    reader = _READERS.get(mutation.entity) if mutation.op == "upsert" else None
    return None if reader is None else reader(mutation)


def apply_mutation(batch: Batch, mutation: Mutation, parsed: Any) -> bool | None:
    """Apply a mutation that ``read`` parsed: True when it changed something, False when not, None when it is deferred.

    Raises UnreadableError: it is no row of its kind.
    """
    if mutation.op == "delete":
        return remove_observation(batch, mutation) if mutation.entity == "observation" else _remove(batch, mutation)
    match mutation.entity:
        case "observation":
            return apply_observation(batch, mutation, parsed)
        case "version":
            return apply_version(batch, mutation, parsed)
        case "session" | "prompt" | "relation":
            return _apply_row(batch, mutation, parsed)
        case "project" | "alias":
            return _apply_name(batch, mutation)
    return _store_unknown(batch, mutation)


def _apply_row(batch: Batch, mutation: Mutation, read: Read) -> bool | None:
    entity, key = mutation.entity, mutation.entity_key
    if batch.is_buried(mutation) or (entity not in NATURAL and batch.tombstone(entity, key) is not None):
        return False
    if entity == "relation" and (missing := _missing_end(batch, read)):
        batch.defer(redacted(mutation, read), waits_for=missing, reason="one of its ends is not here")
        return None
    here = batch.row(entity, key)
    if here is not None and not _replaces(batch, mutation, read, here):
        return False
    project = batch.project(read.project)
    if entity == "prompt":
        batch.session(read.columns["session_id"], project)
    name, column = TABLES[entity]
    values = {**read.columns, **read.derived, "project": project, "clock": mutation.clock}
    if here is None or any(here[name] != values[name] for name in _SPOKEN[entity]):
        values["arrival"] = batch.arrival(mutation)
    if here is None:
        batch.store.insert(name, {column: key, **values, **batch.new_id(name, read.number)})
    else:
        batch.store.update(name, {column: key}, values)
    batch.record(mutation, project=project, given=read.project)
    if entity == "relation":
        batch.linked |= {row[end] for row in (values, here) if row for end in ("source_id", "target_id")}
    return True


def _replaces(batch: Batch, mutation: Mutation, read: Read, here: Row) -> bool:
    """Return whether the arrived row replaces the local one. A verdict always replaces a question."""
    if mutation.entity == "relation":
        # What is personal here was told to nobody, who all have the other.
        if _is_personal(batch, here) and not _is_personal(batch, read.columns):
            return True
        asked, answered = here["judgment_status"] == "pending", read.columns["judgment_status"] != "pending"
        if asked == answered:
            return bool(asked)
    mine = {**{name: here[name] for name in read.columns}, "given": here["given_project"]}
    if mutation.entity == "session":
        mine["directory"] = portable_directory(mine["directory"])
    return batch.outranks(mutation, {**read.columns, "given": read.project}, here["clock"], mine)


def _is_personal(batch: Batch, relation: Row | dict[str, Any]) -> bool:
    said_of = json.dumps([relation["source_id"], relation["target_id"], relation["evidence"]])
    sql = "select 1 from observations where scope = 'personal' and sync_id in (select value from json_each(:ids))"
    return batch.store.row(sql, ids=said_of) is not None


def _missing_end(batch: Batch, read: Read) -> str | None:
    for end in (read.columns["source_id"], read.columns["target_id"]):
        known = end.startswith("entity:") or batch.store.row("select 1 from observations where sync_id = :k", k=end)
        if not known and batch.tombstone("observation", end) is None:
            return str(end)
    return None


def _apply_name(batch: Batch, mutation: Mutation) -> bool:
    """Apply a project or an alias."""
    columns, is_alias = read_name(mutation), mutation.entity == "alias"
    name, column = ("sync_aliases", "alias") if is_alias else TABLES["project"]
    key, project = columns[column], columns["project" if is_alias else "name"]
    if is_alias and key == project:
        raise UnreadableError("payload.project: an alias of itself")
    if not is_alias and (batch.names.canonical(key) != key or batch.is_buried(mutation)):
        return False
    here = batch.store.row(f"select * from {name} where {column} = :key", key=key)
    if here is not None and not batch.outranks(mutation, columns, here["clock"], {one: here[one] for one in columns}):
        return False
    values = columns | {"clock": mutation.clock}
    if here is None:
        batch.store.insert(name, values)
    else:  # replacing a project's row would take the repositories that are this project with it
        batch.store.update(name, {column: key}, values)
    batch.record(mutation, project=project)
    batch.aliased |= is_alias
    return True


def _store_unknown(batch: Batch, mutation: Mutation) -> bool:
    """Keep a row of a kind that only newer programs know, to pass it on."""
    text = json.dumps(mutation.payload)
    if len(text) > _CARRIED_LIMIT_BYTES:
        raise UnreadableError(f"payload: longer than {_CARRIED_LIMIT_BYTES:,} bytes")
    key: dict[str, Any] = {"entity": mutation.entity, "entity_key": mutation.entity_key}
    if batch.is_buried(mutation):
        return False
    here = batch.store.row("select * from sync_carried where entity = :entity and entity_key = :entity_key", **key)
    if here is not None:
        mine = {"payload": json.loads(here["payload"]), "project": here["project"]}
        given = {"payload": mutation.payload, "project": mutation.project}
        if not batch.outranks(mutation, given, here["clock"], mine):
            return False
    values = {"project": mutation.project, "payload": text, "clock": mutation.clock}
    row = {**key, **values, "occurred_at": mutation.occurred_at}
    batch.store.insert("sync_carried", row, replace=True)
    batch.record(mutation, project=mutation.project)
    return True


def _remove(batch: Batch, mutation: Mutation) -> bool:
    """Delete a row that is not an observation."""
    entity, key = mutation.entity, mutation.entity_key
    if batch.is_buried(mutation):
        return False
    if entity in NATURAL or entity not in TABLES:
        name, column = TABLES.get(entity, ("sync_carried", "entity_key"))
        here = batch.store.row(f"select clock from {name} where {column} = :key", key=key)
        if here is not None and here["clock"] != table.MADE_UP and not batch.is_later(mutation, here["clock"]):
            return False
    _drop(batch, entity, key)
    batch.add_tombstone(mutation, deleted_at=deletion_time(mutation), final=True)
    batch.record(mutation, project=batch.names.canonical(mutation.project))
    return True


def _drop(batch: Batch, entity: str, key: str) -> None:
    if entity == "session":
        _drop_session(batch, key)
    elif entity == "project":
        _drop_project(batch, key)
    elif entity == "alias":
        batch.store.execute("delete from sync_aliases where alias = :key", key=key)
        batch.aliased = True
    elif entity in TABLES:
        name, column = TABLES[entity]
        batch.store.execute(f"delete from {name} where {column} = :key", key=key)
    else:
        sql = "delete from sync_carried where entity = :entity and entity_key = :key"
        batch.store.execute(sql, entity=entity, key=key)


def _drop_session(batch: Batch, key: str) -> None:
    """Delete a session; while rows here belong to it, a stand-in takes its place."""
    sql = """
    select min(project) from (
        select project from observations where session_id = :key
        union all select project from user_prompts where session_id = :key
    )
    """
    project = batch.store.value(sql, key=key)
    if project is None:
        batch.store.execute("delete from sessions where id = :key", key=key)
        return
    blank = {"summary": None, "ended_at": None, "agent": "", "ownership_mode": "shared"}
    batch.store.update("sessions", {"id": key}, blank | {"project": project, "clock": table.MADE_UP})


def _drop_project(batch: Batch, key: str) -> None:
    """Delete a project; while rows here have it, its name stays until an alias says where they belong."""
    used = " union all ".join(
        f"select 1 from {name} where project = :key"
        for name in ("observations", "sessions", "user_prompts", "project_identities", "project_aliases")
    )
    if batch.store.row(f"{used} limit 1", key=key) is None:
        batch.store.execute("delete from projects where name = :key", key=key)
    else:
        batch.store.update("projects", {"name": key}, {"clock": table.MADE_UP})
