"""Which projects an account sees, and what it may do there. Every query about rows begins with one of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engram_py.cloud.accounts import EVERY_PROJECT, Caller
from engram_py.cloud.database import Connection, one, rows

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


async def visible(connection: Connection, caller: Caller, asked: Sequence[str] = ()) -> list[Project]:
    """The projects the caller may read, of those ``asked`` for when any are."""
    values = {
        "principal": caller.principal_id,
        "every": EVERY_PROJECT,
        "asked": list(asked) or None,
    }
    return [Project(**row) for row in await rows(connection, _VISIBLE, values)]


async def rights(connection: Connection, caller: Caller, asked: Sequence[str]) -> dict[str, Right]:
    """What the caller may do in the projects ``asked`` for; one it was not granted is not in the answer."""
    values = {"principal": caller.principal_id, "every": EVERY_PROJECT, "asked": list(dict.fromkeys(asked))}
    found = await rows(connection, _RIGHTS, values)
    return {row["name"]: Right(row["writes"], row["paused"], row["paused_reason"]) for row in found}


async def every(connection: Connection, caller: Caller) -> str:
    """What the caller may do in every project, those that are not there yet included; empty when nothing."""
    found = await one(connection, _EVERY, {"principal": caller.principal_id, "every": EVERY_PROJECT})
    return str(found["access"]) if found else ""


async def instance(connection: Connection) -> str:
    """What tells this database from another one, or from an empty one in its place."""
    found = await one(connection, _INSTANCE, {})
    return str(found["value"]) if found else ""
