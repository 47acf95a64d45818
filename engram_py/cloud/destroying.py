"""What a final deletion takes along: the older texts of the observation it destroys, here and still to come."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.cloud.database import Connection, rows
from engram_py.cloud.incoming import Incoming
from engram_py.sync.merge import version_owner
from engram_py.sync.wire import is_final

_OBSERVATION, _VERSION = "observation", "version"

# A final deletion ranks above every clock (`sync.wire.rank`).
_DESTROYED = """
select kept.project, kept.entity_key
from unnest(%(projects)s::text[], %(keys)s::text[]) as asked (project, entity_key)
join cloud_mutations as kept
    on kept.project = asked.project and kept.entity = 'observation' and kept.entity_key = asked.entity_key
where kept.op = 'delete' and kept.clock like '~%%'
"""

# A version is named after its observation: ``KEY/DIGEST``.
_ERASE_VERSIONS = """
delete from cloud_mutations as kept
using unnest(%(projects)s::text[], %(keys)s::text[]) as gone (project, entity_key)
where kept.project = gone.project and kept.entity = 'version'
    and kept.entity_key >= gone.entity_key || '/' and kept.entity_key < gone.entity_key || '0'
"""


async def survivors(connection: Connection, pushed: Sequence[Incoming]) -> list[Incoming]:
    """The rows of a push without the older texts of observations that were destroyed before, or are in this push."""
    owners = {
        (row.mutation.project, version_owner(row.mutation.entity_key)[0])
        for row in pushed
        if row.mutation.entity == _VERSION
    }
    if not owners:
        return list(pushed)
    gone = set(_destroyed_by(pushed))
    for row in await rows(connection, _DESTROYED, _values(sorted(owners))):
        gone.add((row["project"], row["entity_key"]))
    return [row for row in pushed if not (row.mutation.entity == _VERSION and _owner(row) in gone)]


async def erase_versions(connection: Connection, kept: Sequence[Incoming]) -> None:
    """Remove the older texts of what was destroyed just now."""
    gone = _destroyed_by(kept)
    if gone:
        await connection.execute(_ERASE_VERSIONS.encode(), _values(gone))


def _destroyed_by(given: Sequence[Incoming]) -> list[tuple[str, str]]:
    mutations = [row.mutation for row in given if row.mutation.entity == _OBSERVATION and is_final(row.mutation)]
    return [(mutation.project, mutation.entity_key) for mutation in mutations]


def _owner(row: Incoming) -> tuple[str, str]:
    return row.mutation.project, version_owner(row.mutation.entity_key)[0]


def _values(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    return {"projects": [pair[0] for pair in pairs], "keys": [pair[1] for pair in pairs]}
