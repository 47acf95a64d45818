"""The audit log: one line for each request that read or changed something, without any text of the rows."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.cloud.database import Connection
from engram_py.dataclass import dataclass

_RECORD = """
insert into cloud_audit_log (actor, action, project, target, outcome, reason_code, entries)
select %(actor)s, line.action, line.project, line.target, line.outcome, line.reason_code, line.entries
from unnest(
    %(actions)s::text[], %(projects)s::text[], %(targets)s::text[],
    %(outcomes)s::text[], %(reasons)s::text[], %(entries)s::integer[]
) as line (action, project, target, outcome, reason_code, entries)
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
    if not lines:
        return
    values = {
        "actor": actor,
        "actions": [line.action for line in lines],
        "projects": [line.project for line in lines],
        "targets": [line.target for line in lines],
        "outcomes": [line.outcome for line in lines],
        "reasons": [line.reason_code for line in lines],
        "entries": [line.entries for line in lines],
    }
    await connection.execute(_RECORD.encode(), values)


async def prune(connection: Connection, *, days: int) -> None:
    """Delete lines older than ``days``."""
    await connection.execute(_PRUNE.encode(), {"days": days})
