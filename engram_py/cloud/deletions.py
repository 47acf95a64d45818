"""The consequences of a deletion: older texts of a destroyed or withdrawn observation go too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engram_py.cloud.database import Connection, rows
from engram_py.cloud.validation import Incoming
from engram_py.sync.merge import version_owner
from engram_py.sync.mutation import OWN_BLOCK

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
    return {(one.project, one.entity, one.entity_key) for one in mutations if destroys(one.op, one.payload)}


async def destroyed(connection: Connection, asked: Iterable[RowKey]) -> set[RowKey]:
    """Return which of these rows were destroyed before."""
    keys = sorted(asked)
    found = await rows(connection, _DELETED, key_columns(keys)) if keys else []
    return {
        (row["project"], row["entity"], row["entity_key"])
        for row in found
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
