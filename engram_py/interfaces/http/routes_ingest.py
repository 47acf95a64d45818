"""Conversations that other programs tell of, and the agents whose sessions are kept."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from engram_py.app import Engram
from engram_py.distill.ingesting import Ingested
from engram_py.interfaces.http.request_project import CwdQuery, ProjectBody
from engram_py.interfaces.http.response_models import shown
from engram_py.interfaces.http.routing import Needed, Path, Query, operation
from engram_py.sessions.agents import AgentLine, agents


class IngestBody(ProjectBody):
    conversation_id: Needed = Field(description="Its own name; the same one again replaces it.")
    turns: list[Any] = Field(
        description="In order: {user, assistant} or {role, content} each, and a timestamp if known."
    )
    agent_id: str | None = Field(default=None, description="Whose conversation it is.")
    session_date: str | None = Field(default=None, description="The day, or time, it took place: dates what is kept.")
    skip_extraction: bool | None = Field(default=None, description="Keep the turns alone.")
    flush: bool | None = Field(
        default=None,
        description="true: answer when it is summarized; false: at once. Left out: true unless a program or an "
        "endpoint writes summaries.",
    )


class AgentPath(Path):
    id: str


IngestedOut = shown(
    Ingested,
    "session_id project agent_id turns_ingested distillation episode_id warnings",
    "`distillation`: distilled, pending, no_signals, skipped:WHY, failed:WHY or dead_letter:N.",
    name="Ingested",
)
AgentOut = shown(
    AgentLine,
    "id sessions facts episodes memories turns last_active_at",
    "`memories` are all but the episodes, `facts` those of them about an entity.",
    name="AgentOut",
)


@operation("POST", "/memory/ingest", IngestedOut, errors=(409,))
def ingest(app: Engram, query: CwdQuery, body: IngestBody) -> object:
    """Keep a whole conversation and summarize it. The same one again adds nothing, a longer one goes on, another one
    of its name takes its place."""
    return app.ingest(
        body.conversation_id,
        body.turns,
        agent_id=body.agent_id,
        session_date=body.session_date,
        skip_extraction=bool(body.skip_extraction),
        flush=body.flush,
        project=body.project,
        directory=query.cwd or None,
    )


@operation("GET", "/agents", [AgentOut])
def list_agents(app: Engram, query: Query) -> object:
    """The agents of all sessions, the last active first, with what they left."""
    return agents(app.store)


@operation("GET", "/agents/{id}", AgentOut, errors=(404,))
def get_agent(app: Engram, path: AgentPath) -> object:
    """One of them."""
    return agents(app.store, path.id)[0]
