"""What happens at each event: a few calls of services, and whether a prompt is given anything."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from engram_py.base.capture.session_id import clean_session_id
from engram_py.base.dataclass import replace
from engram_py.base.errors import EngramError
from engram_py.interfaces.hook_protocol import BadInput, listens
from engram_py.interfaces.hooks.call import (
    GIT_SHARE,
    PATIENCE_SHARE,
    Call,
    inject,
    reaches_model,
    rendered,
    shown,
)
from engram_py.memory.observations.values import Observation
from engram_py.memory.sessions.values import SessionNotFoundError

if TYPE_CHECKING:
    from engram_py.guidance.context.values import Context


SUBAGENT_TOKENS = 400
_MOST_FILES = 5


def handle(call: Call) -> str:
    """Return what the agent reads, often nothing. Raises EngramError."""
    call.app.store.hurry(max(0.05, (call.deadline - time.monotonic()) * PATIENCE_SHARE))
    # The name a session is stored under: without what looks like a secret.
    call.request = replace(call.request, session_id=clean_session_id(call.request.session_id))
    project = call.app.projects.for_read(session_id=call.request.session_id, head=False).project
    call.allowed = call.app.switches.allowed(project, call.request.session_id)
    if not call.allowed.enabled:
        call.settled = True
        return ""
    match call.event:
        case "session-start":
            from engram_py.interfaces.hooks.session_events import session_start

            return session_start(call)
        case "user-prompt":
            return _user_prompt(call)
        case "pre-tool" if not call.request.memory_tool:
            return before_tool(call)
        case "post-tool" | "tool-failed":
            return after_tool(call)
        case "pre-tool" | "register":
            call.attempt(lambda: ensure_session(call))
            return call.request.session_id
        case "subagent-start":
            return _subagent_start(call)
        case _:
            from engram_py.interfaces.hooks.session_events import look_back, nudge

            call.attempt(lambda: ensure_session(call))
            look_back(call)
            if call.event in ("stop", "session-end") and call.app.moments.unsettled(call.request.session_id, "guard"):
                call.attempt(lambda: call.app.guards.settle(call.request.session_id))
            said: list[str] = []
            wanted = call.app.settings.hook_nudge and call.allowed.records
            if call.event == "stop" and wanted and reaches_model(call):
                call.attempt(lambda: said.append(nudge(call.app, call.request.session_id)))
            return "".join(said)


# --- what an agent is given -------------------------------------------------------------------------------


def _user_prompt(call: Call) -> str:
    """Return the prompt's context and keep the prompt, in this order: else the look-up would find the prompt itself."""

    context, text = None, ""
    held: tuple[int, ...] = ()
    if reaches_model(call):
        try:
            gated = call.app.prompt_gate.gated(call.request.prompt, call.request.session_id)
            context, held = gated.shown, gated.held
            text = call.ready = rendered(call, context) if context else ""
        except EngramError as exc:
            call.note(exc)
    call.settled = call.attempt(lambda: _keep_prompt(call, context, text, held))
    elsewhere: list[str] = []
    if reaches_model(call):
        call.attempt(lambda: elsewhere.append(_elsewhere(call)))
    return "\n\n".join(filter(None, [*elsewhere, text]))


def _elsewhere(call: Call) -> str:
    """Return a short context of another project that the agent works in by now, once: each event names its folder."""
    app, request = call.app, call.request
    try:
        session = app.sessions.get(request.session_id)
    except SessionNotFoundError:  # its start could not be stored
        return ""
    if not session.directory or request.directory.is_relative_to(session.directory):
        return ""
    project = app.projects.for_read(head=False).project
    if not project or project == session.project:
        return ""
    context = app.contexts.assemble(
        project,
        session_id=request.session_id,
        mode="session",
        unasked=True,
        compact=True,
        budget_tokens=SUBAGENT_TOKENS,
    )
    rows = {item.id for section in context.sections for item in section.items if isinstance(item, Observation)}
    if not context.memories or rows & app.citations.visible(request.session_id, "project"):
        return ""
    return shown(call, context, "project")


def _keep_prompt(call: Call, context: Context | None, text: str, held: tuple[int, ...]) -> None:

    app, request = call.app, call.request
    with app.store.transaction():
        place = app.projects.for_write(session_id=request.session_id, directory=_session_folder(call))
        if call.allowed.records:
            app.prompts.save(request.prompt, project=place.project, session_id=request.session_id)
        elif context or held:
            app.sessions.ensure(request.session_id, place)
        if context:
            inject(call, context, text, "prompt")
        if held:
            app.moments.begin(request.session_id, held, "prompt", given=False)


def _subagent_start(call: Call) -> str:
    """Return a short context, about the task where the agent names it: a subagent knows nothing of the conversation."""
    app, session_id = call.app, call.request.session_id
    if not call.allowed.inject:
        return ""
    call.attempt(lambda: ensure_session(call))
    if call.request.task:
        context = app.contexts.assemble(
            session_id=session_id,
            query=call.request.task,
            mode="query",
            unasked=True,
            budget_tokens=SUBAGENT_TOKENS,
        )
        if any(section.items for section in context.sections):
            return shown(call, context, "subagent")
    context = app.contexts.assemble(
        session_id=session_id, mode="session", unasked=True, compact=True, budget_tokens=SUBAGENT_TOKENS
    )
    return shown(call, context, "subagent") if context.memories else ""


def ensure_session(call: Call) -> None:
    """Make the session's row if it is missing: the hooks may have been installed in the middle of the session."""
    app = call.app
    with app.store.transaction():
        place = app.projects.for_write(session_id=call.request.session_id, directory=_session_folder(call))
        app.sessions.ensure(call.request.session_id, place)


def _session_folder(call: Call) -> str | None:
    """Return the folder of the session while nothing is known of it."""
    with suppress(EngramError):
        call.app.sessions.get(call.request.session_id)
        return None
    return str(call.request.directory)


# --- before and after a tool: the guard it breaks, what is known of its files, what made a command pass that failed ---


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
    from engram_py.base.git.program import Deadline
    from engram_py.memory.sessions.citations import SURFACES

    app, session_id = call.app, call.request.session_id
    known = app.citations.visible(session_id, "file")
    unnamed = app.citations.visible(session_id, *SURFACES)
    git = Deadline((call.deadline - time.monotonic()) * GIT_SHARE)
    files = call.request.act.files[:_MOST_FILES]
    context = app.session_memory.of_files(files, session_id=session_id, without=known, unnamed=unnamed, deadline=git)
    if git.unanswered:
        call.note(BadInput("git_unanswered"))  # so what was recorded under another name may be missing
    if not any(section.items for section in context.sections):
        return ""
    call.attempt(lambda: ensure_session(call))
    if app.settings.holdout:
        from engram_py.guidance.context.prompt_gate import without_held_back

        context, held = without_held_back(context, app.moments, session_id, "file")
        call.attempt(lambda: app.moments.begin(session_id, held, "file", given=False))
        if not any(section.items for section in context.sections):
            return ""
    return shown(call, context, "file")
