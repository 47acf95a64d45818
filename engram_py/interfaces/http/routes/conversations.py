"""Routes of conversations that other programs tell of, and of the agents whose sessions are kept."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from engram_py.app import Engram
from engram_py.distill.ingesting import Ingested
from engram_py.interfaces.http.parameters import InProject, Needed
from engram_py.interfaces.http.routing import operation
from engram_py.sessions.agents import AgentLine, agents

_TURNS = "In order: {user, assistant} or {role, content} each, and a timestamp if known."
_DATE = "The day, or time, it took place: dates what is kept."
_FLUSH = (
    "true: answer when it is summarized; false: at once. Left out: true unless a program or an endpoint writes "
    "summaries."
)


@operation("POST", "/memory/ingest", Ingested, errors=(409,))
def ingest(
    app: Engram,
    place: InProject,
    conversation_id: Annotated[Needed, Field(description="Its own name; the same one again replaces it.")],
    turns: Annotated[list[Any], Field(description=_TURNS)],
    agent_id: Annotated[str | None, Field(description="Whose conversation it is.")] = None,
    session_date: Annotated[str | None, Field(description=_DATE)] = None,
    skip_extraction: Annotated[bool | None, Field(description="Keep the turns alone.")] = None,
    flush: Annotated[bool | None, Field(description=_FLUSH)] = None,
    cwd: str | None = None,
) -> object:
    """Keep a whole conversation and summarize it. The same one again adds nothing, a longer one goes on, another one
    of its name takes its place."""
    return app.ingest(
        conversation_id,
        turns,
        agent_id=agent_id,
        session_date=session_date,
        skip_extraction=bool(skip_extraction),
        flush=flush,
        directory=cwd or None,
        **place.where,
    )


@operation("GET", "/agents", [AgentLine])
def list_agents(app: Engram) -> object:
    """The agents of all sessions, the last active first, with what they left."""
    return agents(app.store)


@operation("GET", "/agents/{id}", AgentLine, errors=(404,))
def get_agent(app: Engram, id: str) -> object:
    """One of them."""
    return agents(app.store, id)[0]
