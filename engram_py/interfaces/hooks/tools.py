"""What is said before and after a tool of the agent runs: the guard it breaks, what is known of the files it edits, and
what made a command pass that failed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from engram_py.interfaces.hooks.handlers import GIT_SHARE, ensure_session, reaches_model, shown
from engram_py.interfaces.hooks.protocol import BadInput, listens

if TYPE_CHECKING:
    from engram_py.interfaces.hooks.handlers import Call

_MOST_FILES = 5


def before_tool(call: Call) -> str:
    """Return what the agent reads before the tool runs; ``call.denies`` where it is not to run."""
    request, said = call.request, []
    if call.allowed.records:
        call.attempt(lambda: call.app.failures.did(request.act, session_id=request.session_id))
    call.attempt(lambda: said.append(_guards(call, only_denials=not listens(call.agent, "pre-tool"))))
    if call.about_files and not call.denies and reaches_model(call):
        call.attempt(lambda: said.append(_files(call)))
    return "\n\n".join(filter(None, said))


def after_tool(call: Call) -> str:
    """Return what the agent reads after the tool: the fix of a failure, and a guard where nothing before is heard."""
    outcome, said = call.request.outcome, []
    if outcome.failed is not None and call.request.act.command and call.allowed.records:
        call.attempt(lambda: said.append(_failed(call) if outcome.failed else _passed(call)))
    if reaches_model(call) and not listens(call.agent, "pre-tool"):
        call.attempt(lambda: said.append(_guards(call)))
    call.attempt(lambda: _what_came(call))
    return "\n\n".join(filter(None, said))


def _guards(call: Call, *, only_denials: bool = False) -> str:
    request = call.request
    if not call.allowed.injects:
        return ""
    found = call.app.guards.before(
        request.act,
        session_id=request.session_id,
        directory=request.directory,
        until=call.until(),
        only_denials=only_denials,
    )
    if found is None:
        return ""
    from engram_py.interfaces.wording.acting import objection

    call.denies = found.denies
    call.ready = objection(found)
    return call.ready


def _failed(call: Call) -> str:
    ensure_session(call)
    request = call.request
    advice = call.app.failures.failed(
        request.act,
        request.outcome.output,
        session_id=request.session_id,
        directory=request.directory,
        until=call.until(),
    )
    if advice is None or not reaches_model(call):
        return ""
    from engram_py.interfaces.wording.acting import advice_text

    text = advice_text(advice)
    call.app.failures.told(advice, session_id=request.session_id, size=len(text.encode()))
    return text


def _passed(call: Call) -> str:
    request = call.request
    call.app.failures.passed(
        request.act, session_id=request.session_id, directory=request.directory, until=call.until()
    )
    return ""


def _what_came(call: Call) -> None:
    """Record what came of what was said before the tool ran, or of the memories of a file that is edited now."""
    app, act, session_id = call.app, call.request.act, call.request.session_id
    if app.moments.unsettled(session_id, "guard"):
        app.guards.after(act, session_id=session_id, directory=call.request.directory)
    if act.files:
        app.moments.edited(act.files, session_id)


def _files(call: Call) -> str:
    """Return what is known of the files that are about to be written, once a session."""
    from engram_py.ledger.citations import SURFACES

    app, session_id = call.app, call.request.session_id
    known = app.citations.visible(session_id, "file")
    unnamed = app.citations.visible(session_id, *SURFACES)
    begun = time.monotonic()
    seconds = max(0.0, call.deadline - begun) * GIT_SHARE
    files = call.request.act.files[:_MOST_FILES]
    context = app.session_memory.of_files(files, session_id=session_id, without=known, unnamed=unnamed, seconds=seconds)
    if time.monotonic() - begun > seconds / 2:
        call.note(BadInput("git_slow"))  # so what was recorded under another name may be missing
    if not any(section.items for section in context.sections):
        return ""
    call.attempt(lambda: ensure_session(call))
    if app.settings.holdout:
        from engram_py.context.prompt_gate import without_held_back

        context, held = without_held_back(context, app.moments, session_id, "file")
        call.attempt(lambda: app.moments.begin(session_id, held, "file", given=False))
        if not any(section.items for section in context.sections):
            return ""
    return shown(call, context, "file")
