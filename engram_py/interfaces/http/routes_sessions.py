"""Routes of sessions: their prompts, whole conversations, their agents and checkpoints."""

from __future__ import annotations

import base64
import binascii
import os
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from engram_py.app import Engram
from engram_py.base.errors import InvalidArgumentError
from engram_py.interfaces.http.answers import Answer, Notes, SessionOut, SessionSummary, in_words, limited, shown
from engram_py.interfaces.http.errors import HttpError, SessionScopeError
from engram_py.interfaces.http.parameters import (
    Id,
    InProject,
    InSession,
    Listed,
    Most,
    Needed,
    Searched,
    app_in,
    selected,
)
from engram_py.interfaces.http.routes_projects import CurrentOut, current_project
from engram_py.interfaces.http.routing import route
from engram_py.interfaces.operations import SAVE_PROMPT
from engram_py.memory.projects.values import normalize_project
from engram_py.memory.sessions.checkpoints import AgentLine, agents
from engram_py.memory.sessions.sessions import SESSIONS_MOST
from engram_py.memory.sessions.values import (
    PROMPTS_MOST,
    Checkpoint,
    CheckpointLine,
    Prompt,
    PromptSaved,
    SessionNotFoundError,
)
from engram_py.upkeep.distill.ingesting import Ingested
from engram_py.upkeep.distill.values import Distilled, Flushed

OWNED = "project_owned"
# How a prompt begins that a program wrote.
OF_PROGRAMS = ("<task-notification>", "<agent-message")

_RESUME = "Without effect, for Engram's plugins: an ended session opens anyway."
_ISOLATED = "true: a session of its project alone, without a directory; with one it is refused."
_AGAIN = "Only this session, also if it failed before."
_EVERY_WORD = "Words that each prompt must contain."


class RuntimeSession(BaseModel):
    """An agent's session, its project and the directory it was started in."""

    id: Needed
    project: Needed
    directory: Needed
    ownership_mode: str | None = None


class SessionDone(Answer):
    id: str
    status: str
    warnings: list[str] | None = None


class PromptDeleted(Answer):
    id: int
    status: str


FlushedSession = shown(Distilled, "session_id project result turns id source")
FlushDone = shown(Flushed, "sessions busy", sessions=[FlushedSession], name="FlushDone")
PromptSavedOut = shown(PromptSaved, "id status outcome sync_id project warnings", status=str)


@route("POST", "/sessions", SessionDone, status=201, errors=(409,))
def create_session(
    app: Engram,
    id: Needed,
    project: str | None = None,
    directory: str | None = None,
    ownership_mode: str | None = None,
    resume: Annotated[bool | None, Field(description=_RESUME)] = None,
    isolated: Annotated[bool | None, Field(description=_ISOLATED)] = None,
) -> object:
    """Start a session, or continue it; an ended one opens again."""
    mode = ownership_mode or "shared"
    if isolated:
        _refuse_shared(app, id, directory)
    if mode == OWNED and project:
        _refuse_other_owner(app, id, project)
    state = app.sessions.start(
        id, directory=directory or None, project=project or None, ownership_mode=mode, isolated=bool(isolated)
    )
    app.sessions.keep_hosts(state.session.id, ())
    return SessionDone(id=state.session.id, status="created", warnings=in_words(state.warnings) or None)


@route("POST", "/sessions/{id}/end", SessionDone)
def end_session(app: Engram, id: str, summary: str | None = None) -> object:
    """End a session. One that was never started counts as ended; `warnings` says so."""
    try:
        state = app.sessions.end(id, summary=summary)
    except SessionNotFoundError as exc:
        return SessionDone(id=id, status="completed", warnings=[f"{exc.message}; nothing was written"])
    return SessionDone(id=state.session.id, status="completed", warnings=in_words(state.warnings) or None)


@route("POST", "/flush", FlushDone, errors=(404,))
def flush_sessions(app: Engram, session_id: Annotated[str | None, Field(description=_AGAIN)] = None) -> object:
    """Summarize sessions that left no summary, now. `busy`: another process does so now."""
    return app.distilling.flush(session_id or None)


@route("GET", "/sessions/recent", [SessionSummary], errors=(404, 409))
def recent_sessions(app: Engram, listed: Listed, notes: Notes) -> object:
    """The sessions that were active last, 5 unless `limit` says otherwise."""
    where, limit = selected(app, listed), limited(listed.limit, 5, SESSIONS_MOST, notes)
    rows = app.sessions.recent(**where.asked, limit=limit)
    return [
        SessionSummary.of(
            row, observation_count=row.observations, last_activity_at=row.last_activity_at or row.started_at
        )
        for row in rows
    ]


@route("GET", "/sessions/{id}", SessionOut, errors=(404,))
def get_session(app: Engram, id: str) -> object:
    """One session."""
    return app.sessions.get(id)


@route("DELETE", "/sessions/{id}", SessionDone, errors=(404, 409))
def delete_session(app: Engram, id: str) -> object:
    """Delete a session and its prompts; one with observations is refused."""
    app.sessions.delete(id)
    return SessionDone(id=id, status="deleted")


@route("POST", "/runtime-sessions/end", SessionDone, errors=(404, 409))
def end_runtime_session(app: Engram, runtime: RuntimeSession, summary: str | None = None) -> object:
    """End an agent's session; the body names its project and the directory it was started in."""
    state = app.sessions.end(_runtime_session(app, runtime), summary=summary)
    return SessionDone(id=state.session.id, status="ended", warnings=in_words(state.warnings) or None)


@route("POST", "/runtime-sessions/resolve", SessionDone, errors=(404, 409))
def resolve_runtime_session(app: Engram, runtime: RuntimeSession) -> object:
    """Return the id under which an agent's session is stored; an ended one opens again with the next save."""
    return SessionDone(id=_runtime_session(app, runtime), status="resolved")


@route("POST", "/prompts", PromptSavedOut, status=201, errors=(409,), of=SAVE_PROMPT)
def save_prompt(app: Engram, place: InSession, **given: Any) -> object:
    """Keep what a user asked for; the same words in the same session are kept once."""
    return PromptSavedOut.of(SAVE_PROMPT(app, given | place.where), status="saved")


class CaptureAsked(BaseModel):
    """What Engram's plugin for Claude Code asks before it keeps a prompt, whole and nothing else."""

    model_config = ConfigDict(extra="forbid")

    source: Literal["claude-code"]
    cwd: Needed
    content: str


class CaptureDecision(Answer):
    decision: Literal["skip", "capture"]


class Captured(CurrentOut):
    decision: Literal["capture"] = "capture"


@route("POST", "/prompts/capture-decision", CaptureDecision | Captured)
def decide_capture(app: Engram, asked: CaptureAsked) -> object:
    """Whether a prompt is the user's, and its project. Nothing is stored."""
    there = app_in(app, asked.cwd.strip())
    if not asked.content.strip() or asked.content.lstrip().startswith(OF_PROGRAMS):
        return CaptureDecision(decision="skip")
    return Captured.of(current_project(there, asked.cwd.strip()))


@route("GET", "/prompts/recent", [Prompt], errors=(404, 409))
def recent_prompts(app: Engram, listed: Listed, notes: Notes) -> object:
    """The latest prompts, 20 unless `limit` says otherwise."""
    where, limit = selected(app, listed), limited(listed.limit, 20, PROMPTS_MOST, notes)
    return app.prompts.recent(**where.asked, limit=limit)


@route("GET", "/prompts/search", [Prompt], errors=(404, 409))
def search_prompts(
    app: Engram, q: Annotated[Searched, Field(description=_EVERY_WORD)], listed: Listed, notes: Notes
) -> object:
    """The prompts that contain every word of `q`, best first, 10 unless `limit` says otherwise."""
    where, limit = selected(app, listed), limited(listed.limit, 10, PROMPTS_MOST, notes)
    return app.searches.prompts(q, **where.asked, limit=limit)


@route("DELETE", "/prompts/{id}", PromptDeleted, errors=(404,))
def delete_prompt(app: Engram, id: Id) -> object:
    """Delete a prompt for good."""
    return PromptDeleted(id=app.prompts.delete(id).id, status="deleted")


def _runtime_session(app: Engram, runtime: RuntimeSession) -> str:
    """Return the session that was started in the project and the directory that ``runtime`` names.

    Raises SessionNotFoundError, and SessionScopeError where it was started elsewhere.
    """
    held = app.sessions.get(runtime.id)
    if held.project != normalize_project(runtime.project):
        raise SessionScopeError(runtime.id, "project", held.project, runtime.project)
    if held.directory and os.path.normpath(held.directory) != os.path.normpath(runtime.directory):
        raise SessionScopeError(runtime.id, "directory", held.directory, runtime.directory)
    return held.id


def _refuse_shared(app: Engram, session_id: str, directory: str | None) -> None:
    """Raises HttpError (session_isolation_conflict) where the session belongs to a directory, or is to."""
    try:
        held = app.sessions.get(session_id)
    except SessionNotFoundError:
        held = None
    if (directory or "").strip() or (held is not None and (held.directory or held.ownership_mode != OWNED)):
        raise HttpError(
            f"session {session_id[:80]!r} has a directory, or is shared by projects",
            hint="start an isolated session with a new id, ownership_mode project_owned and no directory",
            code="session_isolation_conflict",
            status=409,
        )


def _refuse_other_owner(app: Engram, session_id: str, project: str) -> None:
    try:
        held = app.sessions.get(session_id)
    except SessionNotFoundError:
        return
    wanted = normalize_project(project)
    if held.project and held.project != wanted:
        raise HttpError(
            f"session {session_id[:80]!r} belongs to {held.project}, not to {wanted}",
            hint="use another session id, or the ownership_mode shared",
            code="session_project_conflict",
            status=409,
            facts={"session_id": session_id[:80], "owner_project": held.project, "requested_project": wanted},
        )


# --- conversations and agents ---------------------------------------------------------------------------------

_TURNS = "In order: {user, assistant} or {role, content} each, and a timestamp if known."
_DATE = "The day or time it took place; its memories get that date."
_FLUSH = (
    "true: answer when it is summarized; false: at once. Left out: true unless a program or an endpoint writes "
    "summaries."
)


@route("POST", "/memory/ingest", Ingested, errors=(409,))
def ingest(
    app: Engram,
    place: InProject,
    conversation_id: Annotated[Needed, Field(description="Its unique name.")],
    turns: Annotated[list[Any], Field(description=_TURNS)],
    agent_id: Annotated[str | None, Field(description="Its agent.")] = None,
    session_date: Annotated[str | None, Field(description=_DATE)] = None,
    skip_extraction: Annotated[bool | None, Field(description="Store only the turns.")] = None,
    flush: Annotated[bool | None, Field(description=_FLUSH)] = None,
    cwd: str | None = None,
) -> object:
    """Keep a whole conversation and summarize it. Sent again: the same adds nothing, a longer one
    continues it, another one replaces it."""
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


@route("GET", "/agents", [AgentLine])
def list_agents(app: Engram) -> object:
    """The agents of all sessions, the last active first, with counts of their sessions, facts and memories."""
    return agents(app.store)


@route("GET", "/agents/{id}", AgentLine, errors=(404,))
def get_agent(app: Engram, id: str) -> object:
    """One agent."""
    return agents(app.store, id)[0]


# --- checkpoints ----------------------------------------------------------------------------------------------

_LINE = "id session_id project size saved_at"
CheckpointOut = shown(
    Checkpoint, f"{_LINE} content content_base64", content=str | None, content_base64=str | None
)  # its bytes as base64 where they are no text


@route("POST", "/checkpoints", CheckpointLine, status=201, errors=(409,))
def save_checkpoint(
    app: Engram,
    place: InSession,
    content: Annotated[str | None, Field(description="Its text.")] = None,
    content_base64: Annotated[str | None, Field(description="Its bytes, if they are no text.")] = None,
) -> object:
    """Keep `content` or `content_base64` as the latest checkpoint of a session, at most a mebibyte."""
    return app.checkpoints.save(_bytes(content, content_base64), **place.where)


@route("GET", "/checkpoints", [shown(CheckpointLine, _LINE, name="CheckpointListedOut")], errors=(409,))
def list_checkpoints(
    app: Engram,
    place: InSession,
    limit: Annotated[Most, Field(description="Most checkpoints; default 20.")] = None,
) -> object:
    """The checkpoints of a session or a project, the latest first."""
    return app.checkpoints.listed(limit=limit or 20, **place.where).items


@route("GET", "/checkpoints/{session_id}", CheckpointOut, errors=(404,))
def load_checkpoint(app: Engram, session_id: str) -> object:
    """The latest checkpoint of a session."""
    found = app.checkpoints.load(session_id=session_id)
    text = found.encoding == "utf-8"
    return CheckpointOut.of(
        found, content=found.content if text else None, content_base64=None if text else found.content
    )


def _bytes(content: str | None, content_base64: str | None) -> bytes:
    if content_base64 is None:
        return (content or "").encode()
    if content is not None:
        said = "content and content_base64 do not go together"
        raise InvalidArgumentError("content_base64", said=said, step="give one of them")
    try:
        return base64.b64decode(content_base64, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise InvalidArgumentError("content_base64", content_base64, expected="base64") from exc
