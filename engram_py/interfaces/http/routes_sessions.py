"""Sessions and user prompts."""

from __future__ import annotations

import os
from typing import ClassVar

from pydantic import Field

from engram_py.app import Engram
from engram_py.errors import EmptyFieldError, EmptyQueryError
from engram_py.interfaces.http.errors import SessionConflictError, SessionScopeError
from engram_py.interfaces.http.request_project import CwdQuery, ProjectQuery, selected
from engram_py.interfaces.http.response_models import PromptOut, SessionOut, SessionSummary
from engram_py.interfaces.http.response_notes import Notes, held
from engram_py.interfaces.http.routing import Answer, Body, Id, Most, Path, operation
from engram_py.projects.names import normalize_project
from engram_py.sessions.errors import SessionNotFoundError
from engram_py.sessions.prompts import PROMPTS_MOST
from engram_py.sessions.sessions import SESSIONS_MOST

OWNED = "project_owned"


class SessionPath(Path):
    id: str


class PromptPath(Path):
    id: Id


class ListQuery(ProjectQuery):
    limit: Most = Field(default=None, description="Most results; what is no number above 0 means the default.")


class PromptQuery(ListQuery):
    NEEDS = ("q",)

    q: str = Field(default="", description="Words that every prompt found must hold.")


class EndBody(Body):
    summary: str | None = None


class RuntimeBody(Body):
    NEEDS: ClassVar[tuple[str, ...]] = ("id", "project", "directory")

    id: str | None = None
    project: str | None = None
    directory: str | None = None
    ownership_mode: str | None = None


class RuntimeEndBody(RuntimeBody):
    summary: str | None = None


class SessionBody(RuntimeBody):
    NEEDS = ("id",)

    resume: bool | None = Field(default=None, description="Engram's plugins send it; an ended session opens anyway.")


class PromptBody(Body):
    NEEDS = ("content",)

    session_id: str | None = None
    content: str | None = None
    project: str | None = None


class FlushBody(Body):
    session_id: str | None = Field(default=None, description="Only this session; tried again if it failed.")


class FlushedSession(Answer):
    session_id: str
    project: str
    result: str
    turns: int
    id: int | None
    source: str


class FlushDone(Answer):
    sessions: list[FlushedSession]
    busy: bool


class SessionDone(Answer):
    id: str
    status: str
    warnings: list[str] | None = None


class PromptSavedOut(Answer):
    id: int
    status: str
    outcome: str
    sync_id: str
    project: str
    warnings: list[str]


class PromptDeleted(Answer):
    id: int
    status: str


@operation("POST", "/sessions", status=201, errors=(409,))
def create_session(app: Engram, query: CwdQuery, body: SessionBody) -> SessionDone:
    """Start a session, or go on with it: an ended one is opened again."""
    session_id = needed("id", body.id)
    mode = body.ownership_mode or "shared"
    if mode == OWNED and body.project:
        _refuse_other_owner(app, session_id, body.project)
    state = app.sessions.start(
        session_id, directory=body.directory or None, project=body.project or None, ownership_mode=mode
    )
    return SessionDone(id=state.session.id, status="created", warnings=list(state.warnings) or None)


@operation("POST", "/sessions/{id}/end")
def end_session(app: Engram, path: SessionPath, body: EndBody) -> SessionDone:
    """End a session. One that was never started is ended already, which `warnings` says."""
    try:
        state = app.sessions.end(path.id, summary=body.summary)
    except SessionNotFoundError as exc:
        return SessionDone(id=path.id, status="completed", warnings=[f"{exc.message}; nothing was written"])
    return SessionDone(id=state.session.id, status="completed", warnings=list(state.warnings) or None)


@operation("POST", "/flush", errors=(404,))
def flush_sessions(app: Engram, body: FlushBody) -> FlushDone:
    """Summarize sessions that left no summary, now. `busy`: another process does so just now."""
    return FlushDone.of(app.distilling.flush(body.session_id or None))


@operation("GET", "/sessions/recent", errors=(404, 409))
def recent_sessions(app: Engram, query: ListQuery, notes: Notes) -> list[SessionSummary]:
    """The sessions that were active last, 5 unless `limit` says otherwise."""
    where, limit = selected(app, query), held(query.limit, 5, SESSIONS_MOST, notes)
    rows = app.sessions.recent(where.named, all_projects=where.all_projects, limit=limit)
    return [SessionSummary.line(row) for row in rows]


@operation("GET", "/sessions/{id}", errors=(404,))
def get_session(app: Engram, path: SessionPath) -> SessionOut:
    """One session."""
    return SessionOut.of(app.sessions.get(path.id))


@operation("DELETE", "/sessions/{id}", errors=(404, 409))
def delete_session(app: Engram, path: SessionPath) -> SessionDone:
    """Delete a session and its prompts; one that still holds observations is refused."""
    app.sessions.delete(path.id)
    return SessionDone(id=path.id, status="deleted")


@operation("POST", "/runtime-sessions/end", errors=(404, 409))
def end_runtime_session(app: Engram, body: RuntimeEndBody) -> SessionDone:
    """End a session of an agent that names the project and the directory it was started in."""
    state = app.sessions.end(_runtime_session(app, body), summary=body.summary)
    return SessionDone(id=state.session.id, status="ended", warnings=list(state.warnings) or None)


@operation("POST", "/runtime-sessions/resolve", errors=(404, 409))
def resolve_runtime_session(app: Engram, body: RuntimeBody) -> SessionDone:
    """Say which session an agent's own is kept as; one that has ended opens again with the next save."""
    return SessionDone(id=_runtime_session(app, body), status="resolved")


@operation("POST", "/prompts", status=201, errors=(409,))
def save_prompt(app: Engram, query: CwdQuery, body: PromptBody) -> PromptSavedOut:
    """Keep what a user asked for; the same words in the same session are kept once."""
    saved = app.prompts.save(needed("content", body.content), project=body.project or None, session_id=body.session_id)
    return PromptSavedOut.of(saved, status="saved")


@operation("GET", "/prompts/recent", errors=(404, 409))
def recent_prompts(app: Engram, query: ListQuery, notes: Notes) -> list[PromptOut]:
    """The latest prompts, 20 unless `limit` says otherwise."""
    where, limit = selected(app, query), held(query.limit, 20, PROMPTS_MOST, notes)
    rows = app.prompts.recent(where.named, all_projects=where.all_projects, limit=limit)
    return [PromptOut.of(row) for row in rows]


@operation("GET", "/prompts/search", errors=(404, 409))
def search_prompts(app: Engram, query: PromptQuery, notes: Notes) -> list[PromptOut]:
    """The prompts that hold every word of `q`, best first, 10 unless `limit` says otherwise."""
    if not query.q.strip():
        raise EmptyQueryError(query.q)
    where, limit = selected(app, query), held(query.limit, 10, PROMPTS_MOST, notes)
    rows = app.prompts.recent(where.named, query=query.q, all_projects=where.all_projects, limit=limit)
    return [PromptOut.of(row) for row in rows]


@operation("DELETE", "/prompts/{id}", errors=(404,))
def delete_prompt(app: Engram, path: PromptPath) -> PromptDeleted:
    """Delete a prompt for good."""
    return PromptDeleted(id=app.prompts.delete(path.id).id, status="deleted")


def needed(name: str, value: str | None) -> str:
    """A text that must be there. Raises EmptyFieldError."""
    if value is None or not value.strip():
        raise EmptyFieldError(name)
    return value


def _runtime_session(app: Engram, body: RuntimeBody) -> str:
    """The session that was started in the project and the directory that ``body`` names.

    Raises SessionNotFoundError, and SessionScopeError where it was started elsewhere.
    """
    wanted = needed("id", body.id), needed("project", body.project), needed("directory", body.directory)
    session_id, project, directory = wanted
    held = app.sessions.get(session_id)
    if held.project != normalize_project(project):
        raise SessionScopeError(session_id, "project", held.project, project)
    if held.directory and os.path.normpath(held.directory) != os.path.normpath(directory):
        raise SessionScopeError(session_id, "directory", held.directory, directory)
    return held.id


def _refuse_other_owner(app: Engram, session_id: str, project: str) -> None:
    try:
        held = app.sessions.get(session_id)
    except SessionNotFoundError:
        return
    wanted = normalize_project(project)
    if held.project and held.project != wanted:
        raise SessionConflictError(session_id, held.project, wanted)
