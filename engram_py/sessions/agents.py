"""List the agents whose sessions are kept, and count what they left."""

from __future__ import annotations

from engram_py.database.store import Store
from engram_py.dataclass import dataclass
from engram_py.sessions.values import AgentNotFoundError

_AGENTS = """
with kept as (
    select
        session_id,
        sum(type = 'session_summary') as episodes,
        sum(type <> 'session_summary') as memories,
        sum(about is not null) as facts
    from observations where deleted_at is null and lifecycle = 'active' group by session_id
),
said as (select session_id, count(*) as turns from turns group by session_id)
select
    agent, count(*), sum(coalesce(facts, 0)), sum(coalesce(episodes, 0)), sum(coalesce(memories, 0)),
    sum(coalesce(turns, 0)), max(updated_at)
from sessions
left join kept on kept.session_id = sessions.id
left join said on said.session_id = sessions.id
where :agent is null or agent = :agent
group by agent order by max(updated_at) desc, agent
"""


@dataclass(frozen=True, slots=True)
class AgentLine:
    """An agent and what its sessions left: facts about entities, episodes (summaries of sessions), memories (all else
    that was kept, facts included), and the turns of its conversations that are still there."""

    id: str
    sessions: int
    facts: int
    episodes: int
    memories: int
    turns: int
    last_active_at: str


def agents(store: Store, agent_id: str | None = None) -> tuple[AgentLine, ...]:
    """Return every agent, the last active first, or one. Raises AgentNotFoundError."""
    found = tuple(AgentLine(*row) for row in store.tuples(_AGENTS, agent=agent_id))
    if agent_id is not None and not found:
        raise AgentNotFoundError(agent_id)
    return found


def last_active(store: Store) -> dict[str, tuple[int, str]]:
    """Return how many sessions each agent had, and when it was last active; the last active first."""
    sql = "select agent, count(*), max(updated_at) from sessions group by agent order by max(updated_at) desc"
    return {agent or "": (count, at) for agent, count, at in store.tuples(sql)}
