"""What happens at each event: a few calls of services, and the text an agent is given."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from engram_py.app import Engram
from engram_py.database.errors import StoreBusyError
from engram_py.dataclass import dataclass, field, replace
from engram_py.distill.waiting import any_waiting
from engram_py.errors import EngramError, StoreError
from engram_py.interfaces.hooks.answers import listens
from engram_py.interfaces.hooks.events import Event
from engram_py.interfaces.hooks.request import BadInput, Request
from engram_py.observations.validation import clean_session_id
from engram_py.observations.values import Observation
from engram_py.privacy.values import Allowed
from engram_py.projects.errors import AmbiguousProjectError
from engram_py.sessions.errors import SessionNotFoundError
from engram_py.sessions.hosts import ancestors
from engram_py.sessions.values import SessionLine

if TYPE_CHECKING:
    from engram_py.context.values import Context, Item
    from engram_py.ledger.citations import Surface

SUBAGENT_TOKENS = 400
PATIENCE_SHARE = 0.25  # of what is left of the limit, for another process's write
GIT_SHARE = 0.5  # of the same, for git to say which files were renamed
_AGAIN_SECONDS = 0.05
_INDEXING_SECONDS = 0.8

RECOVERY = """\
The conversation was compacted. Before going on, in this order:
1. mem_session_summary: keep what the summary above says (goal, discoveries, what was done, next steps, files).
2. mem_context, if earlier decisions of the project matter for what comes next.
3. mem_search, for anything the summary lost.
4. Only then go on with the work."""


@dataclass(slots=True)
class Call:
    """One call of a hook on an open memory. ``note`` writes to the log.

    ``allowed`` is what the user let hooks do. ``settled`` says that what this event has to store is stored, or will
    never be: nobody has to spool it; ``unread``, that there was no time for all of the transcript. ``ready`` is what
    the agent can be given already, should the rest take too long.
    """

    app: Engram
    event: Event
    agent: str
    request: Request
    deadline: float
    note: Callable[[BaseException], None]
    allowed: Allowed = field(default_factory=Allowed)
    settled: bool = False
    unread: bool = False
    ready: str = ""

    def until(self, share: float = PATIENCE_SHARE) -> float:
        """The moment when this share of the time that is left is over."""
        now = time.monotonic()
        return now + (self.deadline - now) * share

    def attempt(self, action: Callable[[], object]) -> bool:
        """Do one thing of several; when it fails, the log says why and the others are done all the same."""
        try:
            action()
        except EngramError as exc:
            self.note(exc)
            if isinstance(exc, StoreBusyError):
                self.app.store.hurry(_AGAIN_SECONDS)  # it was waited for once
            return not isinstance(exc, StoreError)
        return True


def handle(call: Call) -> str:
    """What the agent is to read, often nothing. Raises EngramError."""
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
            return _session_start(call)
        case "user-prompt":
            return _user_prompt(call)
        case "pre-tool" if not call.request.memory_tool:
            return _pre_tool(call)
        case "pre-tool" | "register":
            call.attempt(lambda: _ensure_session(call))
            return call.request.session_id
        case "subagent-start":
            return _subagent_start(call)
        case _:
            from engram_py.interfaces.hooks.capture import look_back, nudge

            call.attempt(lambda: _ensure_session(call))
            look_back(call)
            said: list[str] = []
            wanted = call.app.settings.hook_nudge == "on" and call.allowed.records
            if call.event == "stop" and wanted and _is_heard(call):
                call.attempt(lambda: said.append(nudge(call.app, call.request.session_id)))
            return "".join(said)


# --- what an agent is given -------------------------------------------------------------------------------


def _session_start(call: Call) -> str:
    """A database that somebody else writes to can be read all the same; a folder without a project has no memory."""
    app, session_id = call.app, call.request.session_id
    said: list[str] = []
    call.attempt(lambda: said.extend(_arrived(call)))
    call.attempt(lambda: _begin(call))
    call.attempt(lambda: _index_documents(call))
    if not _is_heard(call):
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
    return "\n".join([*said, _shown(call, context, "session")])


def _arrived(call: Call) -> list[str]:
    """Read what others committed to the repository since, and say if it goes by another name now."""
    with suppress(AmbiguousProjectError):  # a folder without a project has nothing to read
        done = call.app.arrive(until=call.until(GIT_SHARE))
        if done is not None and done.adopted is not None:
            from engram_py.interfaces.wording.sync import adopted

            return adopted(done)
    return []


def _index_documents(call: Call) -> None:
    """Index the commits that are new; of a repository that is new as much as there is time for, the rest is done by a
    process of its own."""
    app = call.app
    if app.settings.documents == "on" and call.allowed.records:
        until = min(call.until(), time.monotonic() + _INDEXING_SECONDS)
        if app.documents.catch_up(until=until):
            from engram_py.interfaces.hooks.background_documents import set_out

            with suppress(OSError):
                set_out(app.settings.data_dir, call.request.directory)


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
    if app.settings.distill.mode == "auto":
        project = app.projects.for_read(session_id=call.request.session_id, head=False).project
        if project and any_waiting(app.store, project, without=call.request.session_id):
            app.distilling.run(project=project, until=until, models=False)


def _new_since(context: Context, since: str, session_id: str) -> Context:
    """What other sessions did after ``since``: the resumed conversation has the rest."""

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
            return _shown(call, own, "compact")
    return ""


def _user_prompt(call: Call) -> str:
    """The context comes first: looking afterwards would find the prompt itself."""
    from engram_py.interfaces.hooks.prompt_context import deserved

    context, text = None, ""
    if _is_heard(call):
        try:
            context = deserved(call.app, call.request.prompt, call.request.session_id).shown
            text = call.ready = _rendered(call, context) if context else ""
        except EngramError as exc:
            call.note(exc)
    call.settled = call.attempt(lambda: _keep_prompt(call, context, text))
    return text


def _keep_prompt(call: Call, context: Context | None, text: str) -> None:
    from engram_py.interfaces.hooks.prompt_context import shown_sizes

    app, request = call.app, call.request
    with app.store.transaction():
        place = app.projects.for_write(session_id=request.session_id, directory=_session_folder(call))
        if call.allowed.records:
            app.prompts.save(request.prompt, project=place.project, session_id=request.session_id)
        elif context:
            app.sessions.ensure(request.session_id, place)
        if context:
            app.citations.inject(request.session_id, shown_sizes(context, text), "prompt")


def _subagent_start(call: Call) -> str:
    """A subagent knows nothing of the conversation: a short context, about its task where the agent names it."""
    app, session_id = call.app, call.request.session_id
    if not call.allowed.inject:
        return ""
    call.attempt(lambda: _ensure_session(call))
    if call.request.task:
        context = app.contexts.assemble(
            session_id=session_id,
            query=call.request.task,
            mode="query",
            unasked=True,
            budget_tokens=SUBAGENT_TOKENS,
        )
        if any(section.items for section in context.sections):
            return _shown(call, context, "subagent")
    context = app.contexts.assemble(session_id=session_id, unasked=True, compact=True, budget_tokens=SUBAGENT_TOKENS)
    return _shown(call, context, "subagent") if context.memories else ""


def _pre_tool(call: Call) -> str:
    """What is known of the files that are about to be written, once a session."""
    app, session_id = call.app, call.request.session_id
    if not call.allowed.inject:
        return ""
    known = app.citations.visible(session_id, "file")
    begun = time.monotonic()
    seconds = max(0.0, call.deadline - begun) * GIT_SHARE
    context = app.session_memory.of_files(call.request.files, session_id=session_id, without=known, seconds=seconds)
    if time.monotonic() - begun > seconds / 2:
        call.note(BadInput("git_slow"))  # so what was recorded under another name may be missing
    if not any(section.items for section in context.sections):
        return ""
    call.attempt(lambda: _ensure_session(call))
    return _shown(call, context, "file")


def _is_heard(call: Call) -> bool:
    """Whether what is said reaches a model: the agent passes it on, and the user did not switch it off."""
    return call.allowed.inject and listens(call.agent, call.event)


def _shown(call: Call, context: Context, surface: Surface) -> str:
    """The context as text; which observations it shows is remembered, if the database can be written."""
    from engram_py.interfaces.hooks.prompt_context import shown_sizes, shown_whole

    text = call.ready = _rendered(call, context)
    sizes = shown_sizes(context, text)
    if sizes:
        # What a session begins with is cut to a line each: a prompt that asks about it deserves the rest.
        seen = shown_whole(context, text) if surface in ("session", "compact") else None
        call.attempt(lambda: call.app.citations.inject(call.request.session_id, sizes, surface, visible=seen))
    return text


def _rendered(call: Call, context: Context) -> str:
    from engram_py.interfaces.wording.context import context_text

    return context_text(replace(context, warnings=()), call.app.journal.moment())


def _ensure_session(call: Call) -> None:
    """The session's row: the hooks may have been installed in the middle of it."""
    app = call.app
    with app.store.transaction():
        place = app.projects.for_write(session_id=call.request.session_id, directory=_session_folder(call))
        app.sessions.ensure(call.request.session_id, place)


def _session_folder(call: Call) -> str | None:
    """Where the session works, while nothing is known of it."""
    with suppress(EngramError):
        call.app.sessions.get(call.request.session_id)
        return None
    return str(call.request.directory)
