"""Apply one mutation: compare it with the local row and write the winner. Observations and their older texts come
first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from engram_py.base.clock import consequence, just_after
from engram_py.base.database.mutation_queue import NATURAL, TABLES
from engram_py.base.database.store import Row
from engram_py.base.dataclass import replace
from engram_py.memory.anchors import table as anchor_table
from engram_py.memory.observations.values import chosen_lifecycle
from engram_py.memory.writing.save import expire
from engram_py.sharing.sync.mutation import KINDS, OWN_BLOCK, SPOKEN, Mutation, fingerprint, is_final, version_key
from engram_py.sharing.sync.replica import table
from engram_py.sharing.sync.replica.batch import Batch
from engram_py.sharing.sync.replica.outgoing import portable_directory
from engram_py.sharing.sync.replica.parse import (
    ParsedRow,
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


def apply_observation(batch: Batch, mutation: Mutation, read: ParsedRow) -> bool:
    """Apply an observation that is new or later; return whether anything changed. The text that loses is kept.

    Engram writes personal rows into its folder, and an export has them. They are kept as personal: never sent on,
    never shown unasked.

    Raises UnreadableError: a personal row that came any other way.
    """
    key, personal = mutation.entity_key, read.columns["scope"] == "personal"
    if personal and not batch.is_import and not (read.keeps and batch.source.startswith("git:")):
        raise UnreadableError("payload.scope: a personal row of another machine does not belong here")
    tombstone = batch.tombstone("observation", key)
    if tombstone is not None and (tombstone["final"] or batch.is_buried(mutation)):
        return False
    here = batch.row("observation", key)
    if here is not None and here["scope"] == "personal" and not personal:
        _keep_version(batch, here["id"], key, read.columns, mutation.clock, live=here, of=batch.arrival(mutation))
        return _withdraw_again(batch, mutation, here)
    project = batch.project(read.project)
    if here is None:
        _insert(batch, mutation, read, project)
        return True
    # A row of Engram keeps our columns, which Engram does not have.
    columns = read.columns | {name: _column(here, name) for name in read.keeps}
    mine = _columns_here(batch, here, columns)
    offered = {**columns, "given": read.project, "files": _anchor_key(read.anchors)}
    if not batch.outranks(mutation, offered, here["clock"], mine):
        if offered == mine and mutation.clock == here["clock"] and here["arrival"] and batch.is_own(mutation):
            batch.store.update("observations", {"id": here["id"]}, {"arrival": None})  # its person signed it since
            return True
        arrival = batch.arrival(mutation)
        own = None in (arrival, here["arrival"])
        return _keep_version(batch, here["id"], key, read.columns, mutation.clock, live=here, of=arrival, own=own)
    if not batch.is_ahead(here["clock"]):
        own = here["arrival"] is None or batch.is_own(mutation)
        _keep_version(batch, here["id"], key, mine, here["clock"], live=columns, of=here["arrival"], own=own)
    if read.keeps:
        # Joined with what Engram does not know, it is a state of its own, which others have to hear of.
        outcome = fingerprint({**columns, "given": read.project, "files": mine["files"]})
        mutation = replace(mutation, clock=consequence(mutation.clock, outcome))
    _overwrite(batch, mutation, read, columns, here, project)
    if read.keeps:
        batch.queue("observation", key, "upsert", project=project, clock=mutation.clock)
    return True


def _insert(batch: Batch, mutation: Mutation, read: ParsedRow, project: str) -> None:
    batch.session(read.columns["session_id"], project)
    values: dict[str, Any] = {"sync_id": mutation.entity_key, "project": project, "clock": mutation.clock}
    values["arrival"] = batch.arrival(mutation)
    number = batch.new_id("observations", read.number)
    row_id = batch.store.insert("observations", {**read.columns, **read.derived, **values, **number})
    if read.anchors:
        anchor_table.replace(batch.store, row_id, read.anchors)
    _settled(batch, mutation, read, project)


def _overwrite(
    batch: Batch, mutation: Mutation, read: ParsedRow, columns: dict[str, Any], here: Row, project: str
) -> None:
    batch.session(columns["session_id"], project)
    changed = {name: value for name, value in (columns | read.derived).items() if here[name] != value}
    # A row that says what it said is still its person's; a signature says more.
    if changed.keys() & set(SPOKEN["observation"]) or batch.is_own(mutation):
        changed["arrival"] = batch.arrival(mutation)
    # As it is: whether it shows is worked out when all of the batch is here.
    changed |= {"clock": mutation.clock, "deleted_at": columns["deleted_at"], "folded_into": None}
    batch.leave(here)
    if project != here["project"]:
        changed["project"] = project
    batch.store.update("observations", {"id": here["id"]}, changed)
    if not read.keeps:
        anchor_table.replace(batch.store, here["id"], read.anchors)
    _settled(batch, mutation, read, project)


def _settled(batch: Batch, mutation: Mutation, read: ParsedRow, project: str) -> None:
    batch.record(mutation, project=project, given=read.project)
    batch.arrived.add(mutation.entity_key)
    batch.linked.add(mutation.entity_key)
    batch.touch({**read.columns, "project": project})


def _columns_here(batch: Batch, here: Row, columns: dict[str, Any]) -> dict[str, Any]:
    files = anchor_table.exported_of(batch.store, [here["id"]]).get(here["id"], [])
    mine = {name: _column(here, name) for name in columns}
    return {**mine, "given": here["given_project"], "files": _anchor_key(files)}


def _column(here: Row, name: str) -> Any:
    return chosen_lifecycle(here[name]) if name == "lifecycle" else here[name]


def _anchor_key(anchors: Any) -> str:
    names = ("path", "start_line", "end_line", "digest", "recorded_at")
    return json.dumps([[one[name] for name in names] for one in anchors])


def _keep_version(
    batch: Batch, row_id: int, sync_id: str, lost: Any, clock: str, *, live: Any, of: int | None, own: bool = False
) -> bool:
    """Keep the text that lost as an older version, if it differs from the present one and those that are kept.

    ``of`` is where it came from. ``own``: one of the two is the user's, who chooses where neither knew of the other.
    """
    text = lost["title"], lost["content"]
    if text == (live["title"], live["content"]) or table.has_version(batch.store, row_id, *text):
        return False
    # Whoever knows a text revises it: of two with one number neither was written over the other.
    untaken = own and lost["revision_count"] >= live["revision_count"]
    return batch.add_version(row_id, sync_id, (lost["updated_at"], *text), clock=clock, arrival=of, untaken=untaken)


def apply_version(batch: Batch, mutation: Mutation, read: tuple[str, str, dict[str, str]]) -> bool | None:
    """Add an older text; None when its observation is not here yet."""
    owner, digest, text = read
    # A text that was redacted here is another text, by another name, of which the source does not know.
    key = version_key(owner, digest)
    source = batch.source if key == mutation.entity_key else ""
    row = batch.store.row("select * from observations where sync_id = :key", key=owner)
    if row is None:
        if batch.tombstone("observation", owner) is not None:
            return False
        kept = redacted(mutation, read)
        batch.defer(kept, waits_for=owner, reason="its observation is not here", source=source)
        return None
    if row["scope"] == "personal" and not batch.is_import:
        return False
    arrival = batch.arrival(mutation)
    added = table.add_version(batch.store, row["id"], digest=digest, clock=mutation.clock, arrival=arrival, **text)
    if added:
        batch.renumbered.add(row["id"])
        batch.touch(row)
        batch.queue("version", key, "upsert", project=row["project"], clock=mutation.clock, source=source)
        batch.advance_clock(mutation.clock)
    return added


def remove_observation(batch: Batch, mutation: Mutation) -> bool | None:
    """Delete an observation for good, withdraw it, or hide it; None when it is not here yet to hide."""
    block = mutation.payload.get(OWN_BLOCK) or {}
    here = batch.row("observation", mutation.entity_key)
    withdrawn = block.get("withdrawn") is True
    old = batch.tombstone("observation", mutation.entity_key)
    if not withdrawn and not is_final(mutation):
        if here is not None:
            return _hide(batch, mutation, here)
        if (old is not None and (old["final"] or batch.is_buried(mutation))) or batch.refused(mutation):
            return False
        # Nothing else of it is of use, and nobody has read the rest.
        mutation = replace(mutation, payload={"deleted_at": deletion_time(mutation)})
        batch.defer(mutation, waits_for=mutation.entity_key, reason="its observation is not here")
        return None
    if old is not None and (old["final"] or withdrawn) and batch.is_buried(mutation):
        return False
    if withdrawn:
        if here is not None and (here["scope"] == "personal" or not batch.is_later(mutation, here["clock"])):
            return False
        if old is not None and old["final"]:
            return False
    if here is not None:
        _destroy(batch, here)
    batch.add_tombstone(mutation, deleted_at=deletion_time(mutation), final=not withdrawn)
    batch.record(mutation, project=batch.names.canonical(mutation.project))
    batch.arrived.add(mutation.entity_key)
    return True


def _hide(batch: Batch, mutation: Mutation, here: Row) -> bool:
    if here["scope"] == "personal" or here["deleted_at"] or not batch.is_later(mutation, here["clock"]):
        return False
    clock = consequence(mutation.clock, here["clock"])
    values = {"deleted_at": deletion_time(mutation), "folded_into": None, "clock": clock}
    batch.leave(here)
    batch.store.update("observations", {"id": here["id"]}, values)
    batch.queue("observation", mutation.entity_key, "upsert", project=here["project"], clock=clock)
    batch.advance_clock(clock)
    batch.linked.add(mutation.entity_key)
    return True


def _destroy(batch: Batch, here: Row) -> None:
    expire(batch.store, here["sync_id"])
    batch.store.execute("delete from observations where id = :id", id=here["id"])
    # Others told us of it: that it is gone is no secret, even where it was made personal here.
    sql = "delete from sync_private where entity = 'observation' and entity_key = :key"
    batch.store.execute(sql, key=here["sync_id"])
    batch.destroyed = True
    batch.leave(here)
    batch.linked.add(here["sync_id"])


def forget_observation(batch: Batch, key: str) -> None:
    """Take an observation away as if it had never been here."""
    here = batch.row("observation", key)
    if here is not None:
        _destroy(batch, here)


def _withdraw_again(batch: Batch, mutation: Mutation, here: Row) -> bool:
    """Withdraw a row again that was changed elsewhere after it was made personal here."""
    taken = table.withdrawn(batch.store, [here["sync_id"]]).get(here["sync_id"])
    if taken is not None and not batch.is_later(mutation, taken["clock"]):
        return False
    clock = just_after(mutation.clock, device=batch.journal.device())
    batch.stand_above(mutation)
    row = {"sync_id": here["sync_id"], "project": here["project"], "clock": clock}
    batch.store.insert("sync_withdrawn", row, replace=True)
    batch.queue("observation", here["sync_id"], "upsert", project=here["project"], clock=clock)
    batch.advance_clock(clock)  # sharing it again has to come after that
    return True


_READERS: dict[str, Callable[[Mutation], Any]] = {
    "observation": read_observation,
    "version": read_version,
    "session": read_session,
    "prompt": read_prompt,
    "relation": read_relation,
}
_CARRIED_LIMIT_BYTES = 1_000_000

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


def _apply_row(batch: Batch, mutation: Mutation, read: ParsedRow) -> bool | None:
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
    if here is None or batch.is_own(mutation) or any(here[name] != values[name] for name in SPOKEN[entity]):
        values["arrival"] = batch.arrival(mutation)
    if here is None:
        batch.store.insert(name, {column: key, **values, **batch.new_id(name, read.number)})
    else:
        batch.store.update(name, {column: key}, values)
    batch.record(mutation, project=project, given=read.project)
    if entity == "relation":
        batch.linked |= {row[end] for row in (values, here) if row for end in ("source_id", "target_id")}
    return True


def _replaces(batch: Batch, mutation: Mutation, read: ParsedRow, here: Row) -> bool:
    """Return whether the arrived row replaces the local one. A verdict always replaces a question."""
    if mutation.entity == "relation":
        # What is personal here was told to nobody, who all have the other.
        if _is_personal(batch, here) and not _is_personal(batch, read.columns):
            return True
        asked, answered = here["judgment_status"] == "pending", read.columns["judgment_status"] != "pending"
        mended = batch.is_import and here["judgment_status"] == "orphaned"  # its ends are here now
        if asked == answered and not mended:
            return bool(asked)
    mine = {**{name: here[name] for name in read.columns}, "given": here["given_project"]}
    if mutation.entity == "session":
        mine["directory"] = portable_directory(mine["directory"])
    return batch.outranks(mutation, {**read.columns, "given": read.project}, here["clock"], mine)


def _is_personal(batch: Batch, relation: Row | dict[str, Any]) -> bool:
    said_of = [relation[name] for name in ("source_id", "target_id", "evidence")]
    sql = "select 1 from observations where scope = 'personal' and sync_id in (select value from json_each(:ids))"
    return batch.store.row(sql, ids=said_of) is not None


def _missing_end(batch: Batch, read: ParsedRow) -> str | None:
    if read.columns["judgment_status"] == "orphaned":
        return None  # it says itself that it has none
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
