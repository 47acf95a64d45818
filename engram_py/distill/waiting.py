"""Ask by one index whether anything waits to be distilled. Hooks do: nothing else of the room is imported here."""

from __future__ import annotations

from engram_py.database.store import Store

_ANY = "select 1 from sessions where distill_state = 'pending' and project = :project and id <> :without limit 1"
_ONE = "select 1 from sessions where distill_state = 'pending' and id = :id"


def any_waiting(store: Store, project: str, *, without: str) -> bool:
    """Return whether a session of the project has turns to distill, but for one."""
    return store.row(_ANY, project=project, without=without) is not None


def is_waiting(store: Store, session_id: str) -> bool:
    """Return whether a session has turns to distill."""
    return store.row(_ONE, id=session_id) is not None
