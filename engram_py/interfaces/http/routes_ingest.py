"""Conversations that other programs tell of, and the agents whose sessions are kept."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from engram_py.app import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.http.request_project import CwdQuery
from engram_py.interfaces.http.routes_sessions import needed
from engram_py.interfaces.http.routing import Answer, Body, Path, Query, Time, operation
from engram_py.sessions.agents import agents


class IngestBody(Body):
    NEEDS: ClassVar[tuple[str, ...]] = ("conversation_id", "turns")

    conversation_id: str | None = Field(default=None, description="Its own name; the same one again replaces it.")
    turns: list[Any] | None = Field(
        default=None, description="In order: {user, assistant} or {role, content} each, and a timestamp if known."
    )
    agent_id: str | None = Field(default=None, description="Whose conversation it is.")
    session_date: str | None = Field(default=None, description="The day, or time, it took place: dates what is kept.")
    skip_extraction: bool | None = Field(default=None, description="Keep the turns alone.")
    flush: bool | None = Field(
        default=None,
        description="true: answer when it is summarized; false: at once. Left out: true unless a program or an "
        "endpoint writes summaries.",
    )
    project: str | None = None


class Ingested(Answer):
    """`distillation`: distilled, pending, no_signals, skipped:WHY, failed:WHY or dead_letter:N."""

    session_id: str
    project: str
    agent_id: str
    turns_ingested: int
    distillation: str
    episode_id: int | None
    warnings: list[str]


class AgentOut(Answer):
    """`memories` are all but the episodes, `facts` those of them about an entity."""

    id: str
    sessions: int
    facts: int
    episodes: int
    memories: int
    turns: int
    last_active_at: Time


class AgentPath(Path):
    id: str


@operation("POST", "/memory/ingest", errors=(409,))
def ingest(app: Engram, query: CwdQuery, body: IngestBody) -> Ingested:
    """Keep a whole conversation and summarize it. The same one again adds nothing, a longer one goes on, another one
    of its name takes its place."""
    if body.turns is None:
        raise InvalidArgumentError("turns", None, expected="a list")
    done = app.ingest(
        needed("conversation_id", body.conversation_id),
        body.turns,
        agent_id=body.agent_id,
        session_date=body.session_date,
        skip_extraction=bool(body.skip_extraction),
        flush=body.flush,
        project=body.project or None,
        directory=query.cwd or None,
    )
    return Ingested.of(done)


@operation("GET", "/agents")
def list_agents(app: Engram, query: Query) -> list[AgentOut]:
    """The agents of all sessions, the last active first, with what they left."""
    return [AgentOut.of(one) for one in agents(app.store)]


@operation("GET", "/agents/{id}", errors=(404,))
def get_agent(app: Engram, path: AgentPath) -> AgentOut:
    """One of them."""
    return AgentOut.of(agents(app.store, path.id)[0])
