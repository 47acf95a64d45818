"""Rows of projects that the caller may not write to: a copy under the caller's own project would take them over.

Every machine holds a row once, whatever its project. Pushed under another project with a later clock, it would move
there on the machines of those who read both, with the text of the pusher or, deleted, with none.
"""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.cloud.accounts import EVERY_PROJECT, Caller
from engram_py.cloud.database import Connection, rows
from engram_py.cloud.validation import Incoming, Rejected
from engram_py.sync.merge import version_owner

# Kinds with random keys: to be told that one is taken, somebody has to know it. The keys of sessions are chosen, and an
# answer about them would tell what others work on.
_OWNED = frozenset({"observation", "version", "prompt", "relation"})
_REASON = (
    "a row with this key is in a project that this account may not write to; save it anew to have a row of its own"
)

# A row that its project holds too has moved there before, with the consent of who may write to both.
_ANOTHERS = """
with found as (
    select
        asked.place,
        exists (
            select 1 from cloud_mutations as kept
            where kept.project = asked.project
                and kept.entity = asked.entity and kept.entity_key = asked.entity_key
        ) as here,
        exists (
            select 1 from cloud_mutations as kept
            where kept.entity_key = asked.entity_key and kept.entity = asked.entity
                and kept.project <> asked.project
                and not exists (
                    select 1 from cloud_project_grants as grants
                    where grants.principal_id = %(principal)s and grants.access = 'write'
                        and grants.project in (kept.project, %(every)s)
                )
        ) as elsewhere
    from unnest(%(places)s::integer[], %(projects)s::text[], %(entities)s::text[], %(keys)s::text[])
        as asked (place, project, entity, entity_key)
)
select place from found group by place having bool_or(elsewhere) and not bool_or(here) order by place
"""


async def own_rows(
    connection: Connection, caller: Caller, given: Sequence[Incoming]
) -> tuple[list[Incoming], list[Rejected]]:
    """The rows that are no other project's, and the refusals of those that are. Asked under the lock of all pushes."""
    asked = [(row, entity, key) for row in given for entity, key in _names(row)]
    values = {
        "principal": caller.principal_id,
        "every": EVERY_PROJECT,
        "places": [row.index for row, _, _ in asked],
        "projects": [row.mutation.project for row, _, _ in asked],
        "entities": [entity for _, entity, _ in asked],
        "keys": [key for _, _, key in asked],
    }
    strange = {row["place"] for row in await rows(connection, _ANOTHERS, values)} if asked else set()
    refused = [
        Rejected(row.index, row.mutation.entity, row.mutation.entity_key, "not_yours", _REASON)
        for row in given
        if row.index in strange
    ]
    return [row for row in given if row.index not in strange], refused


def _names(row: Incoming) -> list[tuple[str, str]]:
    """The row, and of an older text also the observation it belongs to."""
    entity, key = row.mutation.entity, row.mutation.entity_key
    if entity not in _OWNED:
        return []
    owner = [("observation", version_owner(key)[0])] if entity == "version" else []
    return [(entity, key), *owner]
