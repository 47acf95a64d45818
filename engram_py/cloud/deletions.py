"""The consequences of a deletion: older texts of a destroyed or withdrawn observation go too, and its rows in chunks.

A chunk of Engram is stored as the rows that were accepted, until somebody destroys them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from engram_py.cloud.database import Connection, rows
from engram_py.cloud.validation import Incoming
from engram_py.sharing.sync.mutation import KEY_LIMIT_CHARS, OWN_BLOCK, version_owner

RowKey = tuple[str, str, str]  # project, entity, key

_OBSERVATION, _VERSION = "observation", "version"

_DELETED = """
select kept.project, kept.entity, kept.entity_key, kept.payload
from unnest(%(projects)s::text[], %(entities)s::text[], %(keys)s::text[]) as asked (project, entity, entity_key)
join cloud_mutations as kept
    on kept.project = asked.project and kept.entity = asked.entity and kept.entity_key = asked.entity_key
where kept.op = 'delete'
"""

# A version is named after its observation: ``KEY/DIGEST``.
_ERASE_VERSIONS = """
delete from cloud_mutations as kept
using unnest(%(projects)s::text[], %(keys)s::text[]) as gone (project, entity_key)
where kept.project = gone.project and kept.entity = 'version'
    and kept.entity_key >= gone.entity_key || '/' and kept.entity_key < gone.entity_key || '0'
"""


def key_columns(keys: Sequence[RowKey]) -> dict[str, list[str]]:
    """Return keys of rows as the columns that a query unnests."""
    return {name: [key[place] for key in keys] for place, name in enumerate(("projects", "entities", "keys"))}


def destroys(op: str, payload: Mapping[str, Any]) -> bool:
    """Return whether nobody may read the row's text any more: a deletion for good, or one because the row became
    personal.

    The other kind is Engram's soft deletion, which hides a row; ours says so in an upsert.
    """
    return op == "delete" and (payload.get(OWN_BLOCK) is not None or payload.get("hard_delete") is True)


def destroyed_by(given: Iterable[Incoming]) -> set[RowKey]:
    """Return the rows that are destroyed by what was pushed."""
    mutations = [row.mutation for row in given]
    return {
        (mutation.project, mutation.entity, mutation.entity_key)
        for mutation in mutations
        if destroys(mutation.op, mutation.payload)
    }


async def destroyed(connection: Connection, asked: Iterable[RowKey]) -> set[RowKey]:
    """Return which of these rows were destroyed before."""
    keys = sorted(asked)
    listed = await rows(connection, _DELETED, key_columns(keys)) if keys else []
    return {
        (row["project"], row["entity"], row["entity_key"])
        for row in listed
        if destroys("delete", json.loads(row["payload"]))
    }


async def remaining_rows(connection: Connection, winners: Mapping[RowKey, Incoming]) -> list[Incoming]:
    """Return the rows of a push without older texts of observations that the push leaves destroyed.

    One that is shared again in the same push gets its older texts back.
    """
    owners = {_owner(row) for row in winners.values() if row.mutation.entity == _VERSION}
    gone = destroyed_by(winners[key] for key in owners if key in winners)
    gone |= await destroyed(connection, (key for key in owners if key not in winners))
    return [row for row in winners.values() if not (row.mutation.entity == _VERSION and _owner(row) in gone)]


async def erase_versions(connection: Connection, gone: Iterable[RowKey]) -> None:
    """Remove the older texts of what was destroyed just now."""
    owners: Sequence[RowKey] = sorted(key for key in gone if key[1] == _OBSERVATION)
    if owners:
        await connection.execute(_ERASE_VERSIONS.encode(), key_columns(owners))


def _owner(row: Incoming) -> RowKey:
    return row.mutation.project, _OBSERVATION, version_owner(row.mutation.entity_key)[0]


# --- chunks -----------------------------------------------------------------------------------------------------

# The lists of a chunk, in the order in which its rows are counted, and where their rows have their keys.
KINDS = (
    ("sessions", "session", "id"),
    ("observations", "observation", "sync_id"),
    ("prompts", "prompt", "sync_id"),
)
LISTS = (*(name for name, _, _ in KINDS), "mutations")

_HOLDING = """
select chunk_id, payload
from cloud_chunks
where project = %(project)s and (row_keys is null or row_keys && %(keys)s::text[])
order by chunk_id
"""
_REPLACE = """
update cloud_chunks
set payload = %(payload)s, row_keys = %(row_keys)s, sessions = %(sessions)s, memories = %(memories)s,
    prompts = %(prompts)s
where project = %(project)s and chunk_id = %(chunk)s
"""


def accepted_lists(data: dict[str, Any], project: str, refused: Set[int]) -> dict[str, Any]:
    """Return the lists of a chunk without refused rows and rows of other projects."""
    kept, place = {}, 0
    for name in LISTS:
        listed = data.get(name) or []
        staying = [row for index, row in enumerate(listed, place) if index not in refused and isinstance(row, dict)]
        if name == "mutations":
            staying = [row for row in staying if row.get("project", project) == project]
        place += len(listed)
        if name in data:
            kept[name] = None if data[name] is None else staying
    return kept


def without_rows(data: dict[str, Any], gone: Set[tuple[str, str]]) -> dict[str, Any]:
    """Return the lists of a chunk without the texts of destroyed rows, given as (entity, key)."""
    kept = dict(data)
    for name, entity, key in KINDS:
        if data.get(name):
            kept[name] = [row for row in data[name] if (entity, str(row.get(key))) not in gone]
    if data.get("mutations"):
        kept["mutations"] = [row for row in data["mutations"] if row.get("op") == "delete" or not _names(row) & gone]
    return kept


def row_keys(data: dict[str, Any]) -> set[tuple[str, str]]:
    """Return (entity, key) of every row in a chunk, and of the observations whose older texts are in it."""
    return {name for row in _rows(data) for name in row}


def columns_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that describe a chunk."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return {
        "payload": gzip.compress(text.encode(), mtime=0),
        "row_keys": sorted({key for _, key in row_keys(data) if len(key) <= KEY_LIMIT_CHARS}),
        "sessions": len(data.get("sessions") or []),
        "memories": len(data.get("observations") or []),
        "prompts": len(data.get("prompts") or []),
    }


async def remove_rows(connection: Connection, gone: Iterable[RowKey]) -> None:
    """Remove rows that were destroyed from the chunks that hold them. The chunks keep their names."""
    by_project: dict[str, set[tuple[str, str]]] = {}
    for project, entity, key in sorted(gone):
        by_project.setdefault(project, set()).add((entity, key))
    for project, names in by_project.items():
        values = {"project": project, "keys": sorted(key for _, key in names)}
        for row in await rows(connection, _HOLDING, values):
            data = accepted_lists(json.loads(gzip.decompress(bytes(row["payload"]))), project, frozenset())
            replaced = columns_of(without_rows(data, names)) | {"project": project, "chunk": row["chunk_id"]}
            await connection.execute(_REPLACE.encode(), replaced)


def _rows(data: dict[str, Any]) -> Iterator[set[tuple[str, str]]]:
    for name, entity, key in KINDS:
        yield from ({(entity, row[key])} for row in data.get(name) or [] if isinstance(row.get(key), str))
    yield from (_names(row) for row in data.get("mutations") or [])


def _names(row: dict[str, Any]) -> set[tuple[str, str]]:
    entity, key = row.get("entity"), row.get("entity_key")
    if not isinstance(entity, str) or not isinstance(key, str):
        return set()
    return {(entity, key), ("observation", version_owner(key)[0])} if entity == "version" else {(entity, key)}
