"""Conversations that other programs tell of, as turns of a session; and the agents whose sessions are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engram_py.capture.host_formats import typed, without_memory_blocks
from engram_py.database.store import Store
from engram_py.dataclass import dataclass
from engram_py.errors import InvalidArgumentError
from engram_py.reasons import Reason, Told, reason
from engram_py.sessions.table import TOLD
from engram_py.sessions.transcript_formats import TURN_LIMIT_CHARS, digest, role_of, text_of
from engram_py.sessions.transcripts import MOST_TURNS, kept_text
from engram_py.sessions.values import AgentNotFoundError, Role, Turn
from engram_py.times import parse_time, to_text

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


_SHAPES = "an object with user and assistant, or with role and content"
_MOST_NAMED = 5
_ROLE_CHARS = 40


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns that are redacted and cut, and from how many given ones they come; ``notes`` say what is missing."""

    turns: tuple[Turn, ...]
    given: int
    notes: tuple[Told, ...] = ()


def conversation_of(given: Sequence[object], *, said_at: str | None) -> Conversation:
    """Return the turns of ``[{user, assistant} or {role, content}, …]``; each may have a ``timestamp`` of its own.

    What a system or a tool said, and what nobody said, is left out. Raises InvalidArgumentError.
    """
    if not given:
        raise InvalidArgumentError("turns", [], expected=f"a list of at least one: {_SHAPES}")
    if len(given) > MOST_TURNS:
        raise InvalidArgumentError("turns", f"{len(given):,} turns", expected=f"at most {MOST_TURNS:,} turns")
    turns: list[Turn] = []
    strangers: Counter[str] = Counter()
    whole = cut = redacted = 0
    for number, entry in enumerate(given):
        before = len(turns)
        at = _time(entry, f"turns.{number}") or said_at
        for role, text in _spoken(entry, f"turns.{number}", strangers):
            own = typed(text) if role == "user" else without_memory_blocks(text).strip()
            if not own:
                continue
            kept, hidden = kept_text(own)
            redacted, cut = redacted + hidden, cut + (len(own) > TURN_LIMIT_CHARS)
            position = len(turns)
            key = TOLD + digest(str(position), role, at or "", kept)
            turns.append(Turn(role, kept, key, position, said_at=at))
        whole += len(turns) > before
    if len(turns) > MOST_TURNS:
        raise InvalidArgumentError("turns", f"{len(turns):,} messages", expected=f"at most {MOST_TURNS:,} messages")
    return Conversation(tuple(turns), whole, tuple(_notes(strangers, cut, redacted)))


def _spoken(entry: object, name: str, strangers: Counter[str]) -> Iterator[tuple[Role, str]]:
    """Yield who said what in one turn. A role that is nobody's is counted."""
    if not isinstance(entry, Mapping) or not entry.keys() & {"role", "user", "assistant"}:
        raise InvalidArgumentError(name, entry, expected=_SHAPES)
    if "role" not in entry:
        yield "user", _text(entry.get("user"), f"{name}.user")
        yield "assistant", _text(entry.get("assistant"), f"{name}.assistant")
        return
    given = entry["role"]
    if not isinstance(given, str):
        raise InvalidArgumentError(f"{name}.role", given, expected="user or assistant")
    role, text = role_of(given), _text(entry.get("content"), f"{name}.content")
    if role is None:
        strangers[" ".join(given.split())[:_ROLE_CHARS]] += 1
    else:
        yield role, text


def _text(content: object, name: str) -> str:
    if content is not None and not isinstance(content, str | list):
        raise InvalidArgumentError(name, content, expected="text, or a list of parts with text")
    return text_of(content)


def _time(entry: object, name: str) -> str | None:
    given: Any = entry.get("timestamp") if isinstance(entry, Mapping) else None
    if given is None:
        return None
    moment = parse_time(given) if isinstance(given, str) else None
    if moment is None:
        raise InvalidArgumentError(f"{name}.timestamp", given, expected="a time such as 2026-03-14T09:30:00Z")
    return to_text(moment)


def _notes(strangers: Counter[str], cut: int, redacted: int) -> Iterator[Reason]:
    if strangers:
        roles = tuple(name for name, _ in strangers.most_common(_MOST_NAMED))
        yield reason("strange_roles", count=strangers.total(), roles=roles)
    if cut:
        yield reason("messages_cut", count=cut, limit=TURN_LIMIT_CHARS)
    if redacted:
        yield reason("not_stored", count=redacted)
