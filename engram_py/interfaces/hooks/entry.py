"""``engram hook EVENT``: from the arguments and stdin to what the agent reads, always with exit code 0. A watchdog ends
the process in time, whatever it is stuck in: an agent waits for its hooks.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from engram_py.base.dataclass import dataclass, field, replace
from engram_py.base.files import expanded, here, is_folder
from engram_py.interfaces.hooks.protocol import (
    AFTER_TOOL,
    EVENTS,
    Arguments,
    BadInput,
    Event,
    Request,
    answer,
    arguments,
    bound_call,
    event_named,
    listens,
    parse,
    received,
    resumes,
    session_said,
)

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.base.settings import Settings
    from engram_py.interfaces.hooks.handlers import Call


_COUNTING_SECONDS = 0.05  # for another process's write; the agent has its answer and waits for the end of the hook
_READING_SHARE = 0.5  # of the time that is left, for the transcripts of other sessions
_LOOKING_BACK = ("stop", "subagent-stop", "pre-compact", "session-end")
# Where something was stored that others may want, and where a session wants what others stored.
_SYNCING = ("session-start", *_LOOKING_BACK)


def main(words: Sequence[str]) -> NoReturn:
    """Run a hook as this process and end it."""
    run = HookRun(arguments(words))
    watchdog = Watchdog(run.limit_seconds, ready=run.ready, too_late=run.too_late)
    run.watchdog = watchdog
    printed = b""
    try:
        printed = run.respond()
    except BaseException as exc:  # a hook must not break its agent
        run.note(exc)
    run.keep_what_is_owed()
    watchdog.answer(printed)
    run.afterwards()
    end()


@dataclass(slots=True)
class HookRun:
    """One run of a hook, and what there is to do when it fails or is too late."""

    arguments: Arguments
    event: Event | None = None
    request: Request | None = None
    call: Call | None = None
    watchdog: Watchdog | None = None
    settings: Settings | None = None
    stage: str = "starting"
    shown_bytes: int = 0
    _spooled: list[str] = field(default_factory=list)
    _logged: list[str] = field(default_factory=list)

    @property
    def limit_seconds(self) -> float:
        event = event_named(self.arguments.event)
        default = LIMITS_MS[event] if event else LIMITS_MS["user-prompt"]
        return min(MOST_LIMIT_MS, max(LEAST_LIMIT_MS, self.arguments.limit_ms or default)) / 1000

    def respond(self) -> bytes:
        """Return the bytes to print. Raises any error."""
        from engram_py.base.settings import load_settings

        folder = expanded(self.arguments.data_dir)
        self.settings = load_settings(data_dir=folder if folder.is_absolute() else None)
        self.stage = "reading"
        value = received(self.arguments.agent)
        if self.settings.by_variable("enabled") is False:
            return b""
        named = self.arguments.event or str(value.get("hook_event_name", value.get("hookName", "")))
        self.event = event_named(named)
        if self.event is None:
            raise BadInput("unknown_event")
        if source := resumes(named):
            value = {"source": source} | value
        self.request = parse(value, agent=self.arguments.agent, environ=os.environ, here=here(), event=self.event)
        nothing = b"{}\n" if self.arguments.always_json else b""
        if self._is_nothing(self.event, self.request, self.settings):
            return nothing
        text = self._handled(self.settings, self.request)
        if self.event == "register":
            as_json = os.environ.get("ENGRAM_HOOK_OUTPUT") == "json"
            return session_said(self.arguments.agent, text, as_json=as_json)
        if self.request.memory_tool:
            return bound_call(self.arguments.agent, self.request.bound(text))
        printed = answer(self.arguments.agent, self.event, text, denies=self._denies)
        self.shown_bytes = len(text.encode("utf-8", "replace")) if printed else 0
        return printed or nothing

    def _is_nothing(self, event: Event, request: Request, settings: Settings) -> bool:
        """Return whether the memory need not even be opened."""
        if event == "user-prompt":
            from engram_py.base.capture.host_formats import is_trivial

            return not request.prompt or is_trivial(request.prompt)
        act = request.act
        if event in AFTER_TOOL:  # of a command nobody knows whether it passed; an edit was done
            unknown = request.outcome.failed is None and not act.files
            return act.is_nothing or (unknown and listens(self.arguments.agent, "pre-tool"))
        if event == "pre-tool" and not request.memory_tool:
            from engram_py.base.database.filesystem import DATABASE_NAME

            return act.is_nothing or not (settings.data_dir / DATABASE_NAME).exists()
        return False

    def _handled(self, settings: Settings, request: Request) -> str:
        from engram_py.app import Engram
        from engram_py.interfaces.hooks.handlers import Call, handle

        assert self.event is not None
        assert self.watchdog is not None
        self.stage = "opening"
        # A model that has to be loaded for one prompt answers too late; words alone find what a prompt deserves.
        settings = replace(settings, embedder="")
        app = Engram(settings=settings, directory=request.directory, agent=self.arguments.agent)
        deadline = self.watchdog.deadline
        self.call = Call(app, self.event, self.arguments.agent, request, deadline, self.note)
        wanted = self.arguments.pretool == "on" if self.arguments.pretool else settings.hook_pretool
        self.call.about_files = wanted and bool(request.act.files)
        self.stage = "working"
        return handle(self.call)

    def afterwards(self) -> None:
        """Do the work that no answer waits for: store what earlier hooks could not, count what was shown."""
        self.stage = "afterwards"
        if self.call is None or not self.call.allowed.enabled:
            return
        app = self.call.app
        if self.shown_bytes:
            app.store.hurry(_COUNTING_SECONDS)
            with suppress(Exception), app.store.transaction():
                app.ledger.injected(self.call.request.session_id, self.call.event, self.shown_bytes)
        for text in self.call.owed:
            self.spool("learnings", text)
        with suppress(Exception):
            if (app.settings.data_dir / "spool").exists():
                app.spool.drain(until=time.monotonic() + (self.call.deadline - time.monotonic()) * _READING_SHARE)
            if "usage" in app.__dict__:
                app.usage.flush()
        if self.event == "session-start":
            with suppress(Exception):
                app.transcripts.prune()
        if self.event in _SYNCING:
            self._sync(app)

    def _sync(self, app: Engram) -> None:
        """Have it sent, where somebody logged in to a server and nothing else on this machine sends it, and have a
        session that is over summarized."""
        from engram_py.base.errors import StoreError

        self.stage = "syncing"
        try:
            from engram_py.sharing.sync.autosync.schedule import begin, is_due

            now, last = app.journal.moment(), self.event == "session-end"
            due = is_due(app.store, app.settings, now, last=last)
            if due or (last and self._is_to_distill(app)):
                from engram_py.interfaces.background import sync_later

                sync_later(app.settings.data_dir)
            if due:
                app.store.hurry(_COUNTING_SECONDS)
                with suppress(StoreError):  # two may go: of what both send, the server takes one
                    begin(app.store, now)
        except Exception as exc:
            self.note(exc)

    def _is_to_distill(self, app: Engram) -> bool:
        from engram_py.upkeep.distill.table import is_waiting

        assert self.call is not None
        return app.settings.distill == "auto" and is_waiting(app.store, self.call.request.session_id)

    @property
    def _denies(self) -> bool:
        return self.call is not None and self.call.denies

    def ready(self) -> bytes:
        """Return the bytes that can be printed already, while the rest is not done."""
        if self.event is None or self.call is None:
            return b""
        return answer(self.arguments.agent, self.event, self.call.ready, denies=self._denies)

    # --- when something goes wrong -----------------------------------------------------------------------

    def too_late(self) -> None:
        self._log("timeout", stage=self.stage, limit_ms=round(self.limit_seconds * 1000))
        self.keep_what_is_owed()

    def keep_what_is_owed(self) -> None:
        """Spool what this event had to store and did not: a prompt, learnings, the end of a session."""
        if self.request is None:
            return
        if self.call is not None and self.call.settled:
            if self.call.unread and self.event == "session-end":
                self.spool("end", "")  # no hook of this session will read the rest
            return
        if not self._records:
            if self.event == "session-end":
                self.spool("end", "")
            return
        if self.event == "user-prompt" and self.request.prompt and self.stage != "reading":
            self.spool("prompt", self.request.prompt)
            return
        if self.event in _LOOKING_BACK and self.request.last_message:
            from engram_py.base.capture.passive import parse_learnings

            if parse_learnings(self.request.last_message):
                self.spool("learnings", self.request.last_message)
        if self.event == "session-end":
            self.spool("end", "")

    @property
    def _records(self) -> bool:
        """Whether the user lets hooks keep anything, as far as was found out."""
        if self.call is not None:
            return self.call.allowed.records
        return self.settings is None or self.settings.by_variable("record") is not False

    def spool(self, kind: str, text: str) -> None:
        """Keep for the next hook what could not be stored now; redacted on the way."""
        if self.request is None or self.settings is None or f"{kind} {text}" in self._spooled:
            return
        from engram_py.base.times import to_text
        from engram_py.memory.sessions import spool_files as spooling

        self._spooled.append(f"{kind} {text}")
        record = {
            "kind": kind,
            "content": text,
            "source": self.event or "",
            "session_id": self.request.session_id,
            "transcript": self.request.transcript,
            "directory": str(self.request.directory),
            "project": self.settings.project,
            "agent": self.arguments.agent,
            "at": to_text(self.settings.clock()),
        }
        if not spooling.put(self.settings.data_dir, record):
            self._log("not_spooled")

    def note(self, exc: BaseException) -> None:
        """Say in the log what failed: the kind and the place of it, never its text, which may be somebody's words."""
        from engram_py.base.errors import EngramError, StoreError
        from engram_py.memory.projects.values import AmbiguousProjectError

        if isinstance(exc, BadInput):
            self._log(str(exc))
        elif isinstance(exc, StoreError):
            self._log(exc.code, stage=self.stage, message=exc.message)
        elif isinstance(exc, EngramError):
            nowhere = isinstance(exc, AmbiguousProjectError) and self.request and not is_folder(self.request.directory)
            self._log("cwd_missing" if nowhere else exc.code, stage=self.stage)
        else:
            self._log(type(exc).__name__, stage=self.stage, place=_place(exc))

    def _log(self, reason: str, **details: int | str) -> None:
        if self.settings is None or reason in self._logged:
            return
        from engram_py.upkeep import hook_log

        self._logged.append(reason)
        event = self.event or self.arguments.event
        now = self.settings.clock()
        hook_log.append(
            self.settings.data_dir, now=now, agent=self.arguments.agent, event=event, reason=reason, **details
        )


def _place(exc: BaseException) -> str:
    """Return the place where it was raised: ``handlers.py:120``."""
    trace = exc.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""


# A person waits for the answer to a prompt, and hardly notices a session that starts a little later.
LIMITS_MS: dict[Event, int] = dict.fromkeys(EVENTS, 5_000) | {
    "user-prompt": 2_000,
    "pre-tool": 1_000,
    "post-tool": 1_000,
    "tool-failed": 2_000,
}
LEAST_LIMIT_MS, MOST_LIMIT_MS = 50, 60_000
# What the interpreter takes before anything can be timed.
STARTUP_SECONDS = 0.1
_LAST_WORDS_SECONDS = 0.4


class Watchdog:
    """Answers what is ``ready`` (often nothing) when ``seconds`` are over, and ends the process with 0.

    ``too_late`` is called in between, for a moment.
    """

    def __init__(self, seconds: float, *, ready: Callable[[], bytes], too_late: Callable[[], None]) -> None:
        self._ready = ready
        self._too_late = too_late
        self._answering = threading.Lock()
        self.deadline = time.monotonic() + max(0.02, seconds - STARTUP_SECONDS)
        threading.Thread(target=self._watch, daemon=True).start()

    def answer(self, data: bytes) -> None:
        """Write to stdout what the agent is to read; nothing when the time is up already."""
        if self._answering.acquire(blocking=False):
            _write(data)

    def _watch(self) -> None:
        time.sleep(max(0.0, self.deadline - time.monotonic()))
        if self._answering.acquire(blocking=False):
            # Even this may hang, on a disk that does not answer.
            threading.Thread(target=_end_after, args=(_LAST_WORDS_SECONDS,), daemon=True).start()
            with suppress(Exception):
                _write(self._ready())
                self._too_late()
        end()


def _end_after(seconds: float) -> None:
    time.sleep(seconds)
    end()


def end() -> NoReturn:
    """End now, with 0: no thread is waited for, nothing is flushed that nobody reads."""
    os._exit(0)


def _write(data: bytes) -> None:
    with suppress(OSError):  # nobody reads it any more
        while data:
            data = data[os.write(1, data) :]
