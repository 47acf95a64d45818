"""SQL over checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.checkpoints.values import Checkpoint, CheckpointLine, as_content
from engram_py.database.store import Row, Store

_CHECKPOINTS = """
select {columns}
from checkpoints cross join sessions on sessions.id = checkpoints.session_id
where {where}
order by checkpoints.id desc
limit :limit
"""
_WHOLE = "checkpoints.*, sessions.project"
_LINE = """checkpoints.id, checkpoints.session_id, sessions.project, length(checkpoints.content) as size,
    checkpoints.saved_at"""
_OF_SESSION = "checkpoints.session_id = :session_id"
_IN_PROJECTS = "(:projects is null or sessions.project in (select value from json_each(:projects)))"
TRIM = """
delete from checkpoints
where session_id = :session_id
  and id not in (select id from checkpoints where session_id = :session_id order by id desc limit :kept)
"""


def of_session(store: Store, session_id: str) -> Checkpoint | None:
    """Return the latest checkpoint of a session."""
    sql = _CHECKPOINTS.format(columns=_WHOLE, where=_OF_SESSION)
    return _checkpoint(store.row(sql, session_id=session_id, limit=1))


def in_projects(store: Store, projects: Sequence[str] | None) -> Checkpoint | None:
    """Return the latest checkpoint of these projects, None being all."""
    sql = _CHECKPOINTS.format(columns=_WHOLE, where=_IN_PROJECTS)
    return _checkpoint(store.row(sql, projects=projects, limit=1))


def lines_of_session(store: Store, session_id: str, *, limit: int) -> tuple[CheckpointLine, ...]:
    sql = _CHECKPOINTS.format(columns=_LINE, where=_OF_SESSION)
    return tuple(CheckpointLine(*row) for row in store.rows(sql, session_id=session_id, limit=limit))


def lines_in_projects(store: Store, projects: Sequence[str] | None, *, limit: int) -> tuple[CheckpointLine, ...]:
    sql = _CHECKPOINTS.format(columns=_LINE, where=_IN_PROJECTS)
    return tuple(CheckpointLine(*row) for row in store.rows(sql, projects=projects, limit=limit))


def add(store: Store, session_id: str, content: bytes, now: str, *, kept: int) -> int:
    """Keep a checkpoint, and no more than ``kept`` of its session. Call inside a transaction."""
    row_id = store.insert("checkpoints", {"session_id": session_id, "content": content, "saved_at": now})
    store.execute(TRIM, session_id=session_id, kept=kept)
    return row_id


def _checkpoint(row: Row | None) -> Checkpoint | None:
    if row is None:
        return None
    data = row["content"]
    return Checkpoint(row["id"], row["session_id"], row["project"], len(data), row["saved_at"], *as_content(data))
