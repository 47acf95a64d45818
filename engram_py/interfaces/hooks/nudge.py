"""Remind an agent that stops that nothing of its session is saved: once, and only if files changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram_py.doors import call
from engram_py.times import parse_time

if TYPE_CHECKING:
    from engram_py.app import Engram

GIT_SECONDS = 0.3
_UNTOLD = "select project, directory, started_at from sessions where id = :id and nudged_at is null"
# Wherever it was filed: a server that does not know the agent's session has one of its own.
_SAVED = """
select 1 from observations where project = :project and created_at >= :since and origin <> 'derived' limit 1
"""


def nudge(app: Engram, session_id: str) -> str:
    """The reminder, or "" where it was given, something was saved, or git tells of no change. Raises StoreError."""
    session = app.store.row(_UNTOLD, id=session_id)
    started = parse_time(session["started_at"]) if session is not None else None
    if session is None or started is None:
        return ""
    if app.store.row(_SAVED, project=session["project"], since=session["started_at"]) is not None:
        return ""
    from pathlib import Path

    from engram_py.git.program import Deadline
    from engram_py.git.repository import find_repository
    from engram_py.git.work import work_between

    repository = find_repository(Path(session["directory"] or "/"))
    if repository is None or repository.bare:
        return ""
    work = work_between(repository, started, app.journal.moment(), Deadline(GIT_SECONDS))
    if work is None or work.is_nothing:
        return ""
    with app.store.transaction():
        app.store.update("sessions", {"id": session_id}, {"nudged_at": app.journal.now()})
    return (
        "Files changed in this session and nothing of it is in memory. If a later session would miss a decision, a "
        f"cause or a gotcha, keep it with {call('save')}, and what was done and is left with mem_session_summary. "
        "If not, stop; this is said once."
    )
