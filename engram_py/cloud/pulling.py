"""Pull: return rows after a cursor, of the projects an account may read, in the order they became visible."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from psycopg.rows import DictRow

from engram_py.cloud import audit
from engram_py.cloud.access import instance, readable, scope
from engram_py.cloud.accounts import Caller
from engram_py.cloud.database import Connection, rows
from engram_py.dataclass import dataclass

MOST_ROWS = 1_000
# A page holds at least one row and then stops about here, however large the rows are.
PAGE_BYTES = 4 * 1024 * 1024
_SNAPSHOT = "set transaction isolation level repeatable read, read only"

# First the places, from the index alone, then the rows. That the grant is there is asked in the query that finds them:
# no mistake elsewhere can give them away.
_PAGE = """
with picked as (
    select found.project, found.seq
    from unnest(%(projects)s::text[]) as asked (name)
    cross join lateral (
        select project, seq
        from cloud_mutations
        where project = asked.name
          and seq > %(since)s
          and exists (
              select 1 from cloud_project_grants
              where principal_id = %(principal)s and project in (asked.name, %(every)s)
          )
        order by seq
        limit %(limit)s
    ) as found
    order by found.seq
    limit %(limit)s
),
measured as (
    select
        kept.*,
        sum(kept.payload_bytes) over (order by kept.seq) - kept.payload_bytes as bytes_before
    from picked
    join cloud_mutations as kept on kept.project = picked.project and kept.seq = picked.seq
)
select seq, project, entity, entity_key, op, payload, occurred_at
from measured
where bytes_before < %(bytes)s
order by seq
"""


@dataclass(frozen=True, slots=True)
class Page:
    """Rows as JSON text, and how many of each project. ``latest_seq`` is the next cursor."""

    entries: tuple[str, ...]
    counts: Counter[str]
    has_more: bool
    latest_seq: int
    instance: str


async def pull(
    connection: Connection, caller: Caller, *, since: int, limit: int = MOST_ROWS, asked: Sequence[str] = ()
) -> Page:
    """Return the next rows. Raises PolicyForbiddenError when the caller may read none of the projects it asked for."""
    async with connection.transaction():
        await connection.execute(_SNAPSHOT)  # both queries see one moment: no row is between cursor and page
        projects = await readable(connection, caller, asked)
        newer = [project.name for project in projects if project.latest_seq > since]
        values = scope(caller, projects=newer, since=since, limit=min(limit, MOST_ROWS), bytes=PAGE_BYTES)
        found = await rows(connection, _PAGE, values) if newer else []
        source = await instance(connection)
    latest = max((project.latest_seq for project in projects), default=0)
    counts = Counter(str(row["project"]) for row in found)
    has_more = bool(found) and found[-1]["seq"] < latest
    cursor = found[-1]["seq"] if has_more else latest
    return Page(tuple(_entry(row) for row in found), counts, has_more, cursor, source)


async def record(connection: Connection, caller: Caller, counts: Counter[str]) -> None:
    """Log how many rows of each project were read; nothing for an empty poll."""
    lines = [audit.Line("pull", name, entries=count) for name, count in sorted(counts.items())]
    await audit.record(connection, caller.name, lines)


def _entry(row: DictRow) -> str:
    """Return the JSON of a row; its payload is JSON already, as it came."""
    head = {name: row[name] for name in ("seq", "project", "entity", "entity_key", "op", "occurred_at")}
    return json.dumps(head, ensure_ascii=False, separators=(",", ":"))[:-1] + f',"payload":{row["payload"]}}}'
