"""SQL over what one session saved and was asked."""

from __future__ import annotations

from engram_py.database.store import Store
from engram_py.observations.table import COLUMNS
from engram_py.observations.values import Observation
from engram_py.sessions.table import PROMPT
from engram_py.sessions.values import Prompt

_LIVE = "deleted_at is null and lifecycle = 'active' and origin <> 'import' and type <> 'session_summary'"

# An agent's MCP server does not know the agent's session and opens one of its own (`mcp-…`): what such a server saved
# in the project since the session began is taken for the session's. Two selects, so that each has its index.
SAVED = f"""
select {COLUMNS}
from observations
where {_LIVE} and id in (
    select id from observations where session_id = :session_id
    union
    select id from (
        select id, session_id from observations
        where project = :project and updated_at >= :since and deleted_at is null
        order by updated_at desc, id desc
        limit 200
    )
    where session_id >= 'mcp-' and session_id < 'mcp.'
)
order by updated_at desc, id desc
limit :limit
"""

PROMPTS = f"{PROMPT} where session_id = :session_id order by id desc limit :limit"


def saved(store: Store, session_id: str, *, project: str, since: str, limit: int) -> list[Observation]:
    """The observations of a session that began at ``since``, latest change first."""
    rows = store.rows(SAVED, session_id=session_id, project=project, since=since, limit=limit)
    return [Observation.from_row(row) for row in rows]


def prompts(store: Store, session_id: str, *, limit: int) -> list[Prompt]:
    """What the user asked for in a session, the latest first."""
    return [Prompt(*row) for row in store.rows(PROMPTS, session_id=session_id, limit=limit)]
