"""SQL over checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.checkpoints.values import Checkpoint, CheckpointLine, as_content
from engram_py.database.store import Row, Store
from engram_py.observations.table import projects_json

_FROM = """
from checkpoints cross join sessions on sessions.id = checkpoints.session_id
where (:session_id is null or checkpoints.session_id = :session_id)
  and (:projects is null or sessions.project in (select value from json_each(:projects)))
order by checkpoints.id desc
limit :limit
"""
LATEST = f"select checkpoints.*, sessions.project {_FROM}"
LINES = f"""
select checkpoints.id, checkpoints.session_id, sessions.project, length(checkpoints.content) as size,
    checkpoints.saved_at
{_FROM}
"""
TRIM = """
delete from checkpoints
where session_id = :session_id
  and id not in (select id from checkpoints where session_id = :session_id order by id desc limit :kept)
"""


def latest(store: Store, *, session_id: str | None = None, projects: Sequence[str] | None = None) -> Checkpoint | None:
    row = store.row(LATEST, session_id=session_id, projects=projects_json(projects), limit=1)
    return None if row is None else _checkpoint(row)


def lines(
    store: Store, *, session_id: str | None, projects: Sequence[str] | None, limit: int
) -> tuple[CheckpointLine, ...]:
    """The checkpoints of a session, or of projects, the latest first."""
    rows = store.rows(LINES, session_id=session_id, projects=projects_json(projects), limit=limit)
    return tuple(CheckpointLine(*row) for row in rows)


def add(store: Store, session_id: str, content: bytes, now: str, *, kept: int) -> int:
    """Keep a checkpoint, and no more than ``kept`` of its session. Call inside a transaction."""
    row_id = store.insert("checkpoints", {"session_id": session_id, "content": content, "saved_at": now})
    store.execute(TRIM, session_id=session_id, kept=kept)
    return row_id


def _checkpoint(row: Row) -> Checkpoint:
    data = row["content"]
    return Checkpoint(row["id"], row["session_id"], row["project"], len(data), row["saved_at"], *as_content(data))
