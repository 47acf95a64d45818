"""Sessions and user prompts."""

from __future__ import annotations

import os

from pydantic import Field

from engram_py.app import Engram
from engram_py.distill.values import Distilled, Flushed
from engram_py.interfaces.http.errors import SessionConflictError, SessionScopeError
from engram_py.interfaces.http.request_project import CwdQuery, PlaceBody, ProjectQuery, selected
from engram_py.interfaces.http.response_models import PromptOut, SessionOut, SessionSummary, shown
from engram_py.interfaces.http.response_notes import Notes, held
from engram_py.interfaces.http.routing import Answer, Body, Id, Most, Needed, Path, operation
from engram_py.projects.names import normalize_project
from engram_py.sessions.errors import SessionNotFoundError
from engram_py.sessions.prompts import PROMPTS_MOST
from engram_py.sessions.sessions import SESSIONS_MOST
from engram_py.sessions.values import PromptSaved

OWNED = "project_owned"


class SessionPath(Path):
    id: str


class PromptPath(Path):
    id: Id


class ListQuery(ProjectQuery):
    limit: Most = Field(default=None, description="Most results; what is no number above 0 means the default.")


class PromptQuery(ListQuery):
    SEARCHES = True

    q: Needed = Field(description="Words that every prompt found must hold.")


class EndBody(Body):
    summary: str | None = None


class SessionBody(Body):
    id: Needed
    project: str | None = None
    directory: str | None = None
    ownership_mode: str | None = None
    resume: bool | None = Field(default=None, description="Engram's plugins send it; an ended session opens anyway.")


class RuntimeBody(Body):
    id: Needed
    project: Needed
    directory: Needed
    ownership_mode: str | None = None


class RuntimeEndBody(RuntimeBody):
    summary: str | None = None


class PromptBody(PlaceBody):
    content: Needed


class FlushBody(Body):
    session_id: str | None = Field(default=None, description="Only this session; tried again if it failed.")


class SessionDone(Answer):
    id: str
    status: str
    warnings: list[str] | None = None


class PromptDeleted(Answer):
    id: int
    status: str


FlushedSession = shown(Distilled, "session_id project result turns id source", name="FlushedSession")
FlushDone = shown(Flushed, "sessions busy", sessions=[FlushedSession], name="FlushDone")
PromptSavedOut = shown(PromptSaved, "id status outcome sync_id project warnings", status=str)


@operation("POST", "/sessions", SessionDone, status=201, errors=(409,))
def create_session(app: Engram, query: CwdQuery, body: SessionBody) -> object:
    """Start a session, or go on with it: an ended one is opened again."""
    mode = body.ownership_mode or "shared"
    if mode == OWNED and body.project:
        _refuse_other_owner(app, body.id, body.project)
    state = app.sessions.start(
        body.id, directory=body.directory or None, project=body.project or None, ownership_mode=mode
    )
    return SessionDone(id=state.session.id, status="created", warnings=list(state.warnings) or None)


@operation("POST", "/sessions/{id}/end", SessionDone)
def end_session(app: Engram, path: SessionPath, body: EndBody) -> object:
    """End a session. One that was never started is ended already, which `warnings` says."""
    try:
        state = app.sessions.end(path.id, summary=body.summary)
    except SessionNotFoundError as exc:
        return SessionDone(id=path.id, status="completed", warnings=[f"{exc.message}; nothing was written"])
    return SessionDone(id=state.session.id, status="completed", warnings=list(state.warnings) or None)


@operation("POST", "/flush", FlushDone, errors=(404,))
def flush_sessions(app: Engram, body: FlushBody) -> object:
    """Summarize sessions that left no summary, now. `busy`: another process does so just now."""
    return app.distilling.flush(body.session_id or None)


@operation("GET", "/sessions/recent", [SessionSummary], errors=(404, 409))
def recent_sessions(app: Engram, query: ListQuery, notes: Notes) -> object:
    """The sessions that were active last, 5 unless `limit` says otherwise."""
    where, limit = selected(app, query), held(query.limit, 5, SESSIONS_MOST, notes)
    rows = app.sessions.recent(where.named, all_projects=where.all_projects, limit=limit)
    return [SessionSummary.line(row) for row in rows]


@operation("GET", "/sessions/{id}", SessionOut, errors=(404,))
def get_session(app: Engram, path: SessionPath) -> object:
    """One session."""
    return app.sessions.get(path.id)


@operation("DELETE", "/sessions/{id}", SessionDone, errors=(404, 409))
def delete_session(app: Engram, path: SessionPath) -> object:
    """Delete a session and its prompts; one that still holds observations is refused."""
    app.sessions.delete(path.id)
    return SessionDone(id=path.id, status="deleted")


@operation("POST", "/runtime-sessions/end", SessionDone, errors=(404, 409))
def end_runtime_session(app: Engram, body: RuntimeEndBody) -> object:
    """End a session of an agent that names the project and the directory it was started in."""
    state = app.sessions.end(_runtime_session(app, body), summary=body.summary)
    return SessionDone(id=state.session.id, status="ended", warnings=list(state.warnings) or None)


@operation("POST", "/runtime-sessions/resolve", SessionDone, errors=(404, 409))
def resolve_runtime_session(app: Engram, body: RuntimeBody) -> object:
    """Say which session an agent's own is kept as; one that has ended opens again with the next save."""
    return SessionDone(id=_runtime_session(app, body), status="resolved")


@operation("POST", "/prompts", PromptSavedOut, status=201, errors=(409,))
def save_prompt(app: Engram, query: CwdQuery, body: PromptBody) -> object:
    """Keep what a user asked for; the same words in the same session are kept once."""
    return PromptSavedOut.of(app.prompts.save(body.content, **body.where), status="saved")


@operation("GET", "/prompts/recent", [PromptOut], errors=(404, 409))
def recent_prompts(app: Engram, query: ListQuery, notes: Notes) -> object:
    """The latest prompts, 20 unless `limit` says otherwise."""
    where, limit = selected(app, query), held(query.limit, 20, PROMPTS_MOST, notes)
    return app.prompts.recent(where.named, all_projects=where.all_projects, limit=limit)


@operation("GET", "/prompts/search", [PromptOut], errors=(404, 409))
def search_prompts(app: Engram, query: PromptQuery, notes: Notes) -> object:
    """The prompts that hold every word of `q`, best first, 10 unless `limit` says otherwise."""
    where, limit = selected(app, query), held(query.limit, 10, PROMPTS_MOST, notes)
    return app.prompts.recent(where.named, query=query.q, all_projects=where.all_projects, limit=limit)


@operation("DELETE", "/prompts/{id}", PromptDeleted, errors=(404,))
def delete_prompt(app: Engram, path: PromptPath) -> object:
    """Delete a prompt for good."""
    return PromptDeleted(id=app.prompts.delete(path.id).id, status="deleted")


def _runtime_session(app: Engram, body: RuntimeBody) -> str:
    """The session that was started in the project and the directory that ``body`` names.

    Raises SessionNotFoundError, and SessionScopeError where it was started elsewhere.
    """
    held = app.sessions.get(body.id)
    if held.project != normalize_project(body.project):
        raise SessionScopeError(body.id, "project", held.project, body.project)
    if held.directory and os.path.normpath(held.directory) != os.path.normpath(body.directory):
        raise SessionScopeError(body.id, "directory", held.directory, body.directory)
    return held.id


def _refuse_other_owner(app: Engram, session_id: str, project: str) -> None:
    try:
        held = app.sessions.get(session_id)
    except SessionNotFoundError:
        return
    wanted = normalize_project(project)
    if held.project and held.project != wanted:
        raise SessionConflictError(session_id, held.project, wanted)
