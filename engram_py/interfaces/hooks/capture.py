"""What an agent leaves: learnings from its messages and transcript, the session's end, and a reminder to save."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from engram_py.errors import EngramError, StoreError
from engram_py.sessions.values import TranscriptMissingError, TranscriptRefusedError, TranscriptUnheardError
from engram_py.times import parse_time, to_text

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.interfaces.hooks.handlers import Call


GIT_SECONDS = 0.3
_LEARNING_SHARE = 0.1  # of the time that is left, for each message: the rest of a long list waits for the next hooks
_UNTOLD = """
select project, directory, started_at from sessions where id = :id and (nudged_at is null or nudged_at < :before)
"""
# Wherever it was filed: a server that does not know the agent's session has one of its own.
_SAVED = """
select 1 from observations where project = :project and created_at >= :since and origin <> 'derived' limit 1
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
    except TranscriptRefusedError as exc:
        if path:
            call.note(exc)
        app.transcripts.add_message(request.last_message, session_id=request.session_id, project=project)


def _learn(call: Call, text: str) -> None:
    """Keep the learnings that a message lists. Raises StoreError: what was not kept is not read either."""
    from engram_py.capture.passive import parse_learnings

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

    from engram_py.git.program import Deadline
    from engram_py.git.repository import find_repository
    from engram_py.git.work import work_between

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
        "cause or a gotcha, keep it with mem_save, and what was done and is left with mem_session_summary. "
        f"If not, stop; this is said {'rarely' if cooldown else 'once'}."
    )
