"""One call of a hook, and the text that an agent is given."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from engram_py.app import Engram
from engram_py.base.database.errors import StoreBusyError
from engram_py.base.dataclass import dataclass, field, replace
from engram_py.base.errors import EngramError, StoreError
from engram_py.base.files import lines_of
from engram_py.base.lazy import regex
from engram_py.base.reasons import Told, operation, sentence
from engram_py.interfaces.hook_protocol import Event, Request, listens, share_passed_on
from engram_py.memory.observations.values import Observation
from engram_py.memory.privacy.switches import Allowed

if TYPE_CHECKING:
    from engram_py.guidance.context.values import Context
    from engram_py.memory.sessions.citations import Surface


PATIENCE_SHARE = 0.25  # of what is left of the limit, for another process's write
GIT_SHARE = 0.5  # of the same, for git to say which files were renamed
_AGAIN_SECONDS = 0.05


@dataclass(slots=True)
class Call:
    """One call of a hook on an open memory. ``note`` writes to the log.

    ``allowed`` is what the user let hooks do. ``settled`` says that what this event has to store is stored, or will
    never be: nobody has to spool it; ``unread``, that there was no time for all of the transcript. ``ready`` is what
    the agent can be given already, should the rest take too long. ``owed`` are messages whose learnings are too many
    for one hook: the next ones go on with them. ``about_files`` says that the agent is told of a file before it
    edits it, ``denies`` that the tool is not to run.
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
    about_files: bool = False
    denies: bool = False
    owed: list[str] = field(default_factory=list)

    def until(self, share: float = PATIENCE_SHARE) -> float:
        """Return the moment when this share of the time that is left is over."""
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


def reaches_model(call: Call) -> bool:
    """Return whether what is said reaches a model: the agent passes it on, and the user did not switch it off."""
    return call.allowed.inject and listens(call.agent, call.event)


def shown(call: Call, context: Context, surface: Surface, *, beside: str = "") -> str:
    """Return the context as text; which observations it shows is remembered, if the database can be written."""

    text = call.ready = rendered(call, context, beside=beside)
    call.attempt(lambda: inject(call, context, text, surface))
    return text


def inject(call: Call, context: Context, text: str, surface: Surface) -> None:
    """Record what the session was shown, and what was only named apart from it."""
    from engram_py.guidance.context.values import POINTED

    sizes = shown_sizes(context, text)
    apart = [item for section in context.sections if section.name == POINTED for item in section.items]
    named = {item.id for item in apart if isinstance(item, Observation)}
    # What a session begins with is cut to a line each: a prompt that asks about it deserves the rest.
    seen = shown_whole(context, text) if surface in ("session", "compact") else None
    inject, session_id = call.app.citations.inject, call.request.session_id
    inject(session_id, {row: size for row, size in sizes.items() if row not in named}, surface, visible=seen)
    inject(session_id, {row: size for row, size in sizes.items() if row in named}, "pointer")
    if surface == "file":
        call.app.moments.begin(session_id, [row for row in sizes if row not in named], "file", given=True)


def rendered(call: Call, context: Context, *, beside: str = "") -> str:
    """Return the context as text, cut to what the agent passes on; then it says how many memories are left out.

    ``beside`` is printed with it.
    """
    # What a hook prints is read by the model, which has the tools.
    context = replace(context, warnings=())
    text = _worded(call, context)
    held = {item.id for section in context.sections for item in section.items if isinstance(item, Observation)}
    while (share := share_passed_on(call.agent, call.event, text + beside)) < 1 and context.max_bytes > 0:
        room = int(min(context.max_bytes, len(text.encode())) * share) - 1
        context = replace(context, max_bytes=room, warnings=(_left_out(len(held), len(held)),))
        text = _worded(call, context)
    if context.warnings:
        left = len(held - set(shown_sizes(context, text)))
        text = _worded(call, replace(context, warnings=(_left_out(left, len(held)),)))
    return text


def _left_out(number: int, held: int) -> Told:
    said = f"{number} of {held} memories are left out, because the agent passes on no longer text; "
    return sentence(said, operation("search"), " finds them")


def _worded(call: Call, context: Context) -> str:
    from engram_py.interfaces.wording.context import context_text

    return context_text(context, call.app.journal.calendar.local, "mcp")


_HANDLE = regex(r"\[#([0-9]{1,18})\]")


def shown_sizes(context: Context, text: str) -> dict[int, int]:
    """Return the observations that a text shows, with the bytes of their lines; numbers in contents do not count."""
    from engram_py.guidance.context.values import POINTED

    held = {item.id for section in context.sections for item in section.items if isinstance(item, Observation)}
    held |= set(context.remarks.summaries.values())
    sizes: dict[int, int] = {}
    for line in lines_of(text):
        ids = [int(one) for one in _HANDLE.findall(line) if int(one) in held]
        named = ids if line.startswith(f"{POINTED}: ") else ids[:1]
        sizes |= dict.fromkeys(named, len(line.encode()) // max(1, len(named)) + 1)
    return sizes


def shown_whole(context: Context, text: str) -> set[int]:
    """Return the observations whose content a text holds to the last word."""
    printed = " ".join(text.split())
    rows = [item for section in context.sections for item in section.items if isinstance(item, Observation)]
    return {row.id for row in rows if f"[#{row.id}]" in printed and " ".join(row.content.split()) in printed}
