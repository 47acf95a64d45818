"""The rights of an account: the projects it sees, what it may do there, and which rows it may replace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engram_py.cloud.accounts import EVERY_PROJECT, Caller
from engram_py.cloud.database import Connection, one, rows
from engram_py.cloud.deletions import key_columns
from engram_py.cloud.errors import PolicyForbiddenError
from engram_py.cloud.validation import Incoming, Rejected
from engram_py.dataclass import dataclass
from engram_py.sync.merge import version_owner

# The projects that are named in a grant, and under a grant of `*` all there are. For a project that is named and
# that `*` covers too, the further right counts.
_VISIBLE = """
with named as (
    select project as name from cloud_project_grants where principal_id = %(principal)s and project <> %(every)s
    union
    select name from cloud_projects
    where exists (
        select 1 from cloud_project_grants where principal_id = %(principal)s and project = %(every)s
    )
)
select
    named.name,
    (
        select case when bool_or(grants.access = 'write') then 'write' else 'read' end
        from cloud_project_grants as grants
        where grants.principal_id = %(principal)s and grants.project in (named.name, %(every)s)
    ) as access,
    coalesce(projects.latest_seq, 0) as latest_seq,
    projects.paused_at is not null as paused,
    coalesce(projects.paused_reason, '') as paused_reason
from named
left join cloud_projects as projects on projects.name = named.name
where %(asked)s::text[] is null or named.name = any(%(asked)s)
order by named.name
"""

# What may be done in projects that need not be there yet.
_RIGHTS = """
select
    asked.name,
    bool_or(grants.access = 'write') as writes,
    bool_or(projects.paused_at is not null) as paused,
    max(coalesce(projects.paused_reason, '')) as paused_reason
from unnest(%(asked)s::text[]) as asked (name)
join cloud_project_grants as grants
    on grants.principal_id = %(principal)s and grants.project in (asked.name, %(every)s)
left join cloud_projects as projects on projects.name = asked.name
group by asked.name
order by asked.name
"""

_EVERY = "select access from cloud_project_grants where principal_id = %(principal)s and project = %(every)s"
_INSTANCE = "select value from cloud_facts where name = 'instance'"


@dataclass(frozen=True, slots=True)
class Project:
    """A project as one account sees it."""

    name: str
    access: str
    latest_seq: int
    paused: bool
    paused_reason: str


@dataclass(frozen=True, slots=True)
class Right:
    writes: bool
    paused: bool
    paused_reason: str


def scope(caller: Caller, **values: Any) -> dict[str, Any]:
    """Return the values of a query that asks for grants of the caller."""
    return {"principal": caller.principal_id, "every": EVERY_PROJECT, **values}


async def visible(connection: Connection, caller: Caller, asked: Sequence[str] = ()) -> list[Project]:
    """Return the projects that the caller may read, restricted to ``asked`` unless that is empty."""
    found = await rows(connection, _VISIBLE, scope(caller, asked=list(asked) or None))
    return [Project(**row) for row in found]


async def readable(connection: Connection, caller: Caller, asked: Sequence[str]) -> list[Project]:
    """Return what ``visible`` does. Raises PolicyForbiddenError when the caller may read none of those it asked for."""
    projects = await visible(connection, caller, asked)
    if asked and not projects:
        raise PolicyForbiddenError(f"read {', '.join(sorted(set(asked))[:5])}")
    return projects


async def rights(connection: Connection, caller: Caller, asked: Sequence[str]) -> dict[str, Right]:
    """Return the caller's rights in the projects ``asked`` for; projects without a grant are missing."""
    found = await rows(connection, _RIGHTS, scope(caller, asked=list(dict.fromkeys(asked))))
    return {row["name"]: Right(row["writes"], row["paused"], row["paused_reason"]) for row in found}


async def every(connection: Connection, caller: Caller) -> str:
    """Return the caller's access to all projects, also future ones; '' when there is none."""
    found = await one(connection, _EVERY, scope(caller))
    return str(found["access"]) if found else ""


async def instance(connection: Connection) -> str:
    """Return the id of this database, which changes when another takes its place."""
    found = await one(connection, _INSTANCE, {})
    return str(found["value"]) if found else ""


# Kinds with random keys: to be told that one is taken, somebody has to know it. The keys of sessions are chosen, and an
# answer about them would tell what others work on.
_OWNED = frozenset({"observation", "version", "prompt", "relation"})
_REASON = (
    "a row with this key is in a project that this account may not write to; save it anew to have a row of its own"
)

# A row that its project holds too has moved there before, with the consent of who may write to both.
_FOREIGN = """
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


async def split_own_rows(
    connection: Connection, caller: Caller, given: Sequence[Incoming]
) -> tuple[list[Incoming], list[Rejected]]:
    """Split pushed rows into those the caller may replace and refusals. Call under the lock of all pushes.

    Every machine holds a row once, whatever its project: pushed under another project with a later clock, a row would
    move there on the machines of those who read both.
    """
    asked = [(row, entity, key) for row in given for entity, key in _names(row)]
    columns = key_columns([(row.mutation.project, entity, key) for row, entity, key in asked])
    values = scope(caller, places=[row.index for row, _, _ in asked], **columns)
    strange = {row["place"] for row in await rows(connection, _FOREIGN, values)} if asked else set()
    refused = [
        Rejected(row.index, row.mutation.entity, row.mutation.entity_key, "not_yours", _REASON)
        for row in given
        if row.index in strange
    ]
    return [row for row in given if row.index not in strange], refused


def _names(row: Incoming) -> list[tuple[str, str]]:
    """Return the row's (entity, key), and for an older text also its observation's."""
    entity, key = row.mutation.entity, row.mutation.entity_key
    if entity not in _OWNED:
        return []
    owner = [("observation", version_owner(key)[0])] if entity == "version" else []
    return [(entity, key), *owner]
