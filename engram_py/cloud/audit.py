"""The audit log: one line for each request that read or changed something, without any text of the rows."""

from __future__ import annotations

import json
from collections.abc import Sequence

from engram_py.cloud.database import Connection
from engram_py.dataclass import asdict, dataclass

MOST_LINES = 1_000

_RECORD = """
insert into cloud_audit_log (actor, action, project, target, outcome, reason_code, entries)
select %(actor)s, line.*
from jsonb_to_recordset(%(lines)s::jsonb)
    as line (action text, project text, target text, outcome text, reason_code text, entries integer)
"""
# The newest lines before one of them (0: of all).
NEWEST = """
select id, occurred_at, actor, action, project, target, outcome, reason_code, entries
from cloud_audit_log
where (%(user)s = '' or actor = %(user)s)
  and (%(project)s = '' or project = %(project)s)
  and (%(before)s = 0 or id < %(before)s)
order by id desc
limit %(limit)s
"""
_PRUNE = "delete from cloud_audit_log where occurred_at < now() - make_interval(days => %(days)s)"


@dataclass(frozen=True, slots=True)
class Line:
    action: str
    project: str = ""
    target: str = ""
    outcome: str = "done"
    reason_code: str = ""
    entries: int = 0


async def record(connection: Connection, actor: str, lines: Sequence[Line]) -> None:
    if lines:
        values = {"actor": actor, "lines": json.dumps([asdict(line) for line in lines])}
        await connection.execute(_RECORD.encode(), values)


async def prune(connection: Connection, *, days: int) -> None:
    """Delete lines older than ``days``."""
    await connection.execute(_PRUNE.encode(), {"days": days})
