"""Answer the start, resumption and compaction of a session with the context that its agent is given."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from engram_py.dataclass import replace
from engram_py.distill.table import any_waiting
from engram_py.interfaces.hooks.handlers import GIT_SHARE, reaches_model, rendered, shown
from engram_py.observations.values import Observation
from engram_py.projects.values import AmbiguousProjectError
from engram_py.sessions.sessions import ancestors
from engram_py.sessions.values import SessionLine, SessionNotFoundError

if TYPE_CHECKING:
    from engram_py.context.values import Context, Item
    from engram_py.interfaces.hooks.handlers import Call

_INDEXING_SECONDS = 0.8
_KNOWS = "select 1 from observations where project = :project and deleted_at is null limit 1"
_NEWS_SHARE = 0.15  # of the time that is left, for what others committed, where something is known already
RECOVERY = """\
The conversation was compacted. Before going on, in this order:
1. mem_session_summary: keep what the summary above says (goal, discoveries, what was done, next steps, files).
2. mem_context, if earlier decisions of the project matter for what comes next.
3. mem_search, for anything the summary lost.
4. Only then go on with the work."""


def session_start(call: Call) -> str:
    """Open the session, and say what it begins with.

    A database that somebody else writes to can be read all the same; a folder without a project has no memory.
    """
    app, session_id = call.app, call.request.session_id
    said: list[str] = []
    # What is known is ready before anything foreign is read: should that take too long, it is given.
    known = call.attempt(lambda: _ready(call)) and bool(call.ready)
    call.attempt(lambda: said.extend(_arrived(call, GIT_SHARE if not known else _NEWS_SHARE)))
    call.attempt(lambda: _begin(call))
    call.attempt(lambda: _index_documents(call))
    if not reaches_model(call):
        return ""
    call.attempt(lambda: _summarize_left(call))
    if call.request.source == "compact":
        return f"{_own_memory(call)}\n\n{RECOVERY}".strip()
    if not app.projects.for_read(session_id=session_id).project:
        return ""
    context = app.contexts.assemble(session_id=session_id, unasked=True)
    if call.request.source == "resume" and (since := app.citations.last_given(session_id, "session", "compact")):
        context = _new_since(context, since, session_id)
        if not any(section.items for section in context.sections):
            return "\n".join(said)
    return "\n".join([*said, shown(call, context, "session")])


def _ready(call: Call) -> None:
    """Assemble what the project knows, if it knows anything and has a folder that others write to."""
    app, session_id = call.app, call.request.session_id
    if call.request.source in ("compact", "resume") or not reaches_model(call) or not app.has_shared_folder():
        return
    project = app.projects.for_read(session_id=session_id, head=False).project
    if project and app.store.row(_KNOWS, project=project):
        context = app.contexts.assemble(session_id=session_id, unasked=True)
        call.ready = rendered(call, context) if any(section.items for section in context.sections) else ""


def _arrived(call: Call, share: float) -> list[str]:
    """Read what others committed to the repository since, and say if it goes by another name now.

    There is this share of the time for it; a process of its own reads the rest.
    """
    with suppress(AmbiguousProjectError):  # a folder without a project has nothing to read
        done = call.app.read_shared(until=call.until(share))
        if done is not None and done.read is not None and done.read.more:
            from engram_py.interfaces.background import read_folder

            with suppress(OSError):
                read_folder(call.app.settings.data_dir, call.request.directory)
        if done is not None and done.adopted is not None:
            from engram_py.interfaces.wording.sync import adopted

            return adopted(done)
    return []


def _index_documents(call: Call) -> None:
    """Index the commits that are new; of a repository that is new as much as there is time for, the rest is done by a
    process of its own."""
    app = call.app
    if app.settings.documents and call.allowed.records:
        until = min(call.until(), time.monotonic() + _INDEXING_SECONDS)
        if app.documents.catch_up(until=until):
            from engram_py.interfaces.background import update_documents

            with suppress(OSError):
                update_documents(app.settings.data_dir, call.request.directory, wait=False)


def _begin(call: Call) -> None:
    app, session_id = call.app, call.request.session_id
    with app.store.transaction():
        app.sessions.start(session_id, directory=str(call.request.directory))
        app.sessions.keep_hosts(session_id, ancestors())
        if call.request.source != "resume":  # a resumed conversation still has what it was given
            app.citations.new_window(session_id)


def _summarize_left(call: Call) -> None:
    """Summarize what an earlier session of the project left, if a process died before it did: this one reads it. What
    a model writes takes too long for that."""
    app, until = call.app, call.until()
    if app.settings.distill == "auto":
        project = app.projects.for_read(session_id=call.request.session_id, head=False).project
        if project and any_waiting(app.store, project, without=call.request.session_id):
            app.distilling.run(project=project, until=until, models=False)


def _new_since(context: Context, since: str, session_id: str) -> Context:
    """Return the work of other sessions after ``since``: the resumed conversation has the rest."""

    def is_new(item: Item) -> bool:
        if isinstance(item, SessionLine):
            return item.id != session_id and item.last_activity_at > since
        return isinstance(item, Observation) and item.session_id != session_id and item.updated_at > since

    sections = [
        replace(section, items=tuple(item for item in section.items if is_new(item))) for section in context.sections
    ]
    return replace(context, sections=tuple(sections))


def _own_memory(call: Call) -> str:
    with suppress(SessionNotFoundError):
        own = call.app.session_memory.own(call.request.session_id)
        if any(section.items for section in own.sections):
            return shown(call, own, "compact")
    return ""
