"""What happens at each event: a few calls of services, and the text an agent is given."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from engram_py.app import Engram
from engram_py.database.errors import StoreBusyError
from engram_py.dataclass import dataclass, field, replace
from engram_py.errors import EngramError, StoreError
from engram_py.interfaces.hooks.answers import listens
from engram_py.interfaces.hooks.deserving import deserved
from engram_py.interfaces.hooks.events import Event
from engram_py.interfaces.hooks.request import BadInput, Request
from engram_py.observations.validation import clean_session_id
from engram_py.observations.values import Observation
from engram_py.privacy.values import Allowed
from engram_py.projects.errors import AmbiguousProjectError
from engram_py.sessions.errors import SessionNotFoundError, TranscriptMissingError, TranscriptRefusedError
from engram_py.sessions.hosts import ancestors
from engram_py.sessions.values import SessionLine

if TYPE_CHECKING:
    from engram_py.context.values import Context, Item
    from engram_py.ledger.citations import Surface

SUBAGENT_TOKENS = 400
PATIENCE_SHARE = 0.25  # of what is left of the limit, for another process's write
GIT_SHARE = 0.5  # of the same, for git to say which files were renamed
_AGAIN_SECONDS = 0.05
_HANDLE = re.compile(r"\[#([0-9]{1,18})\]")

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
            _look_back(call)
            return ""


# --- what an agent is given -------------------------------------------------------------------------------


def _session_start(call: Call) -> str:
    """A database that somebody else writes to can be read all the same; a folder without a project has no memory."""
    app, session_id = call.app, call.request.session_id
    said: list[str] = []
    call.attempt(lambda: said.extend(_arrived(call)))
    call.attempt(lambda: _begin(call))
    if not _is_heard(call):
        return ""
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
        done = call.app.arrive(until=time.monotonic() + (call.deadline - time.monotonic()) * GIT_SHARE)
        if done is not None and done.adopted is not None:
            from engram_py.interfaces.wording.sync import adopted

            return adopted(done)
    return []


def _begin(call: Call) -> None:
    app, session_id = call.app, call.request.session_id
    with app.store.transaction():
        app.sessions.start(session_id, directory=str(call.request.directory))
        app.sessions.keep_hosts(session_id, ancestors())
        if call.request.source != "resume":  # a resumed conversation still has what it was given
            app.citations.new_window(session_id)


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
    app, request = call.app, call.request
    with app.store.transaction():
        place = app.projects.for_write(session_id=request.session_id, directory=_folder(call))
        if call.allowed.records:
            app.prompts.save(request.prompt, project=place.project, session_id=request.session_id)
        elif context:
            app.sessions.ensure(request.session_id, place)
        if context:
            app.citations.inject(request.session_id, _sizes(context, text), "prompt")


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


# --- what an agent leaves ---------------------------------------------------------------------------------


def _look_back(call: Call) -> None:
    """Read what was said since, keep what was learned, and end what is over."""
    app, request = call.app, call.request
    call.attempt(lambda: _ensure_session(call))
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
            until=time.monotonic() + (call.deadline - time.monotonic()) * PATIENCE_SHARE,
            learn=partial(_learn, call),
        )
        call.unread = found.more and not of_subagent
    except TranscriptRefusedError as exc:
        if path:
            call.note(exc)
        app.transcripts.add_message(request.last_message, session_id=request.session_id, project=project)


def _learn(call: Call, text: str) -> None:
    """Keep the learnings that a message lists. Raises StoreError: what was not kept is not read either."""
    from engram_py.capture.trivial_prompts import may_teach

    try:
        if may_teach(text):
            call.app.episodes.capture(text, session_id=call.request.session_id, source=call.event)
    except StoreError:
        raise
    except EngramError as exc:
        call.note(exc)


# --- what they share --------------------------------------------------------------------------------------


def _ensure_session(call: Call) -> None:
    """The session's row: the hooks may have been installed in the middle of it."""
    app = call.app
    with app.store.transaction():
        place = app.projects.for_write(session_id=call.request.session_id, directory=_folder(call))
        app.sessions.ensure(call.request.session_id, place)


def _folder(call: Call) -> str | None:
    """Where the session works, while nothing is known of it."""
    with suppress(EngramError):
        call.app.sessions.get(call.request.session_id)
        return None
    return str(call.request.directory)


def _shown(call: Call, context: Context, surface: Surface) -> str:
    """The context as text; which observations it shows is remembered, if the database can be written."""
    text = call.ready = _rendered(call, context)
    sizes = _sizes(context, text)
    if sizes:
        # What a session begins with is cut to a line each: a prompt that asks about it deserves the rest.
        seen = _whole(context, text) if surface in ("session", "compact") else None
        call.attempt(lambda: call.app.citations.inject(call.request.session_id, sizes, surface, visible=seen))
    return text


def _rendered(call: Call, context: Context) -> str:
    from engram_py.interfaces.wording.context import context_text

    return context_text(replace(context, warnings=()), call.app.journal.moment())


def _sizes(context: Context, text: str) -> dict[int, int]:
    """The observations that a text shows, with the bytes of their lines; numbers inside of contents are not meant."""
    held = {item.id for section in context.sections for item in section.items if isinstance(item, Observation)}
    held |= set(context.remarks.summaries.values())
    sizes: dict[int, int] = {}
    for line in text.splitlines():
        handle = _HANDLE.search(line)
        if handle and int(handle[1]) in held:
            sizes[int(handle[1])] = len(line.encode()) + 1
    return sizes


def _whole(context: Context, text: str) -> set[int]:
    """The observations whose content a text holds to the last word."""
    printed = " ".join(text.split())
    rows = [item for section in context.sections for item in section.items if isinstance(item, Observation)]
    return {row.id for row in rows if f"[#{row.id}]" in printed and " ".join(row.content.split()) in printed}
