"""The start, resumption and compaction of a session, with the context that its agent is given; and what an agent
leaves: learnings from its messages and transcript, the session's end, and a reminder to save.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal

from engram_py.base.dataclass import replace
from engram_py.base.errors import EngramError, InvalidInputError, StoreError
from engram_py.base.times import parse_time, to_text
from engram_py.interfaces.hooks.call import GIT_SHARE, reaches_model, rendered, shown
from engram_py.memory.observations.values import Observation
from engram_py.memory.projects.values import AmbiguousProjectError
from engram_py.memory.sessions.sessions import ancestors
from engram_py.memory.sessions.values import (
    SessionLine,
    SessionNotFoundError,
    TranscriptMissingError,
    TranscriptRefusedError,
    TranscriptUnheardError,
)
from engram_py.upkeep.distill.table import any_waiting

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.guidance.context.values import Context, Item
    from engram_py.interfaces.hooks.call import Call

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
    compacted = _compacted(call)
    # What is known is ready before anything foreign is read: should that take too long, it is given.
    known = call.attempt(lambda: _ready(call)) and bool(call.ready)
    call.attempt(lambda: said.extend(_arrived(call, GIT_SHARE if not known else _NEWS_SHARE)))
    call.attempt(lambda: _begin(call))
    call.attempt(lambda: _index_documents(call))
    if not reaches_model(call):
        return ""
    call.attempt(lambda: _summarize_left(call))
    if compacted == "here":
        return f"{_own_memory(call)}\n\n{RECOVERY}".strip()
    if not app.projects.for_read(session_id=session_id).project:
        return RECOVERY if compacted else ""
    context = app.contexts.assemble(session_id=session_id, unasked=True)
    if call.request.source == "resume" and (since := app.citations.last_given(session_id, "session", "compact")):
        context = _new_since(context, since, session_id)
        if not any(section.items for section in context.sections):
            return "\n".join(said)
    known, steps = any(section.items for section in context.sections), RECOVERY if compacted else ""
    text = shown(call, context, "session", beside="\n".join([*said, "", steps])) if known or not compacted else ""
    return "\n\n".join(filter(None, ["\n".join([*said, text]), steps]))


def _compacted(call: Call) -> Literal["", "here", "elsewhere"]:
    """Return whether the session's own conversation was compacted, or that of one which goes on under this new id.

    Of the latter nothing is stored under this id, and nobody gave it the project's memories.
    """
    if call.request.source != "compact":
        return ""
    with suppress(SessionNotFoundError):
        call.app.sessions.get(call.request.session_id)
        return "here"
    return "elsewhere"


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
        if done is not None and done.more:
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
            return shown(call, own, "compact", beside=RECOVERY)
    return ""


# --- what an agent leaves ---

GIT_SECONDS = 0.3
_LEARNING_SHARE = 0.1  # of the time that is left, for each message: the rest of a long list waits for the next hooks
_UNTOLD = """
select project, directory, started_at from sessions where id = :id and (nudged_at is null or nudged_at < :before)
"""
# Wherever it was filed: a server that does not know the agent's session has one of its own.
_SAVED = """
select 1 from observations
where project = :project and updated_at >= :since and deleted_at is null
  and created_at >= :since and origin <> 'derived'
limit 1
"""


def look_back(call: Call) -> None:
    """Read what was said since, keep what was learned, and end what is over."""
    app, request = call.app, call.request
    done = True
    if call.allowed.records:
        done = call.attempt(lambda: _learn(call, request.last_message))
        done = call.attempt(lambda: _read_transcript(call)) and done
    if call.event == "session-end":
        done = call.attempt(lambda: app.sessions.end(request.session_id)) and done
    call.settled = done


def _read_transcript(call: Call) -> None:
    """Buffer what is new in the transcript, and learn from it."""
    app, request = call.app, call.request
    project = app.sessions.get(request.session_id).project
    of_subagent = call.event == "subagent-stop" and bool(request.subagent_transcript)
    path = request.subagent_transcript if of_subagent else request.transcript
    try:
        if not path:
            raise TranscriptMissingError
        found = app.transcripts.read(
            path,
            session_id=request.session_id,
            project=project,
            agent=request.subagent if of_subagent else "",
            until=call.until(),
            learn=partial(_learn, call),
        )
        call.unread = found.more and not of_subagent
        if found.unheard and not of_subagent:
            call.note(TranscriptUnheardError())
        elif found.unreadable:
            message = f"{path}: lines that are no JSON: {found.unreadable}"
            call.note(InvalidInputError(message, hint="the other lines are read", code="transcript_damaged"))
    except TranscriptRefusedError as exc:
        if path:
            call.note(exc)
        app.transcripts.add_message(request.last_message, session_id=request.session_id, project=project)


def _learn(call: Call, text: str) -> None:
    """Keep the learnings that a message lists. Raises StoreError: what was not kept is not read either."""
    from engram_py.base.capture.passive import parse_learnings

    try:
        if parse_learnings(text):
            session_id, until = call.request.session_id, call.until(_LEARNING_SHARE)
            if call.app.episodes.capture(text, session_id=session_id, source=call.event, until=until).unfinished:
                call.owed.append(text)
    except StoreError:
        raise
    except EngramError as exc:
        call.note(exc)


def nudge(app: Engram, session_id: str) -> str:
    """Return the reminder to save something, "" where it was given, something was saved, or git tells of no change.

    Raises StoreError.
    """
    cooldown = app.settings.nudge_cooldown_secs
    before = to_text(app.journal.moment() - timedelta(seconds=cooldown)) if cooldown else ""
    session = app.store.row(_UNTOLD, id=session_id, before=before)
    started = parse_time(session["started_at"]) if session is not None else None
    if session is None or started is None:
        return ""
    if app.store.row(_SAVED, project=session["project"], since=session["started_at"]) is not None:
        return ""
    from pathlib import Path

    from engram_py.base.git.activity import work_between
    from engram_py.base.git.program import Deadline
    from engram_py.base.git.repository import find_repository

    repository = find_repository(Path(session["directory"] or "/"))
    if repository is None or repository.bare:
        return ""
    work = work_between(repository, started, app.journal.moment(), Deadline(GIT_SECONDS))
    if work is None or work.is_nothing:
        return ""
    with app.store.transaction():
        app.store.update("sessions", {"id": session_id}, {"nudged_at": app.journal.now()})
    return (
        "Files changed in this session and nothing of it is in memory. If a later session would miss a decision, a "
        "cause or a gotcha, keep it with mem_save; summarize the work and next steps with mem_session_summary. "
        f"If not, stop; this is said {'rarely' if cooldown else 'once'}."
    )
