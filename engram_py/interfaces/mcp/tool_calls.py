"""Run a tool call: open the memory on the first one, parse, call, render, word every failure, and count the bytes of
the answer, which are what a memory costs.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engram_py.errors import EngramError
from engram_py.interfaces.shared_arguments import as_text
from engram_py.lazy import logger_of

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.interfaces.mcp.tool_registry import Tool
    from engram_py.settings import Settings


logger = logger_of(__name__)


def count_answer(
    app: Engram, door: Literal["mcp", "http"], name: str, size: int, *, session_id: object, shown: Collection[int]
) -> None:
    """Note the bytes of an answer for the session that a request names, else for the caller's own. Never fails."""
    named = session_id if isinstance(session_id, str) and session_id else None
    try:
        app.ledger.answered(door, name, size, caller=app.own_session, session_id=named, shown=shown)
    except Exception:  # what is done is done, counted or not
        logger.exception("an answer of %s was not counted", name)


Json = dict[str, Any]


# How long the end of the process waits for a call that is still at work, in seconds.
CLOSING_SECONDS = 0.2

# After these a call belongs to another session than before. They name the one they are about by `id`.
OF_SESSIONS = ("mem_session_start", "mem_session_end")


class Memory:
    """The memory of a server process: opened by the first call that needs it, and tried again after a failure."""

    def __init__(self, open_memory: Callable[[str], Engram]) -> None:
        self._open = open_memory
        self._changed = threading.Condition()
        self._app: Engram | None = None
        self._running = 0

    @contextmanager
    def use(self, agent: str = "") -> Iterator[Engram]:
        """Give the open memory for the length of one call. Raises EngramError when it cannot be opened now."""
        with self._changed:
            if self._app is None:
                self._app = self._open(agent)
            app = self._app
            self._running += 1
        try:
            yield app
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    @property
    def opened(self) -> Engram | None:
        """The memory, if it was opened."""
        return self._app

    def close(self) -> None:
        """End this process's own sessions and close the file, unless a call still waits for another process."""
        if not self._changed.acquire(timeout=CLOSING_SECONDS):
            return
        try:
            idle = self._changed.wait_for(lambda: self._running == 0, timeout=CLOSING_SECONDS)
            if self._app is not None and idle:
                self._app.close()
        except EngramError as exc:
            logger.warning("closing the memory: %s", exc.message)
        finally:
            self._changed.release()


def opener(settings: Settings, project: str | None, failure: EngramError | None) -> Callable[[str], Engram]:
    """Opens the memory of a server process; ``failure`` is raised instead, if there is one."""

    def opened(agent: str) -> Engram:
        if failure is not None:
            raise failure
        from engram_py.app import Engram
        from engram_py.interfaces.background import update_documents
        from engram_py.sessions.sessions import ancestors

        app = Engram(
            settings=settings,
            directory=Path.cwd(),
            project=project,
            session_mode="process",
            agent=agent,
            hosts=ancestors(),
        )
        app.autosync.start()
        app.maintenance.start(app.run_upkeep)
        app.follow_documents(update_documents)
        return app

    return opened


def run_tool(tool: Tool, arguments: dict[str, Any], memory: Memory, agent: str) -> Json:
    """Return the answer to a call. A refusal carries code, message and hint; a bug only says that it happened."""
    shown: set[int] = set()
    result = _answered(tool, arguments, memory, agent, shown)
    if memory.opened is not None:  # a refusal costs too
        session_id = arguments.get("id" if tool.name in OF_SESSIONS else "session_id")
        size = sum(len(part["text"].encode()) for part in result["content"])
        count_answer(memory.opened, "mcp", tool.name, size, session_id=session_id, shown=shown)
    return result


def _answered(tool: Tool, arguments: dict[str, Any], memory: Memory, agent: str, shown: set[int]) -> Json:
    """Return the answer; ``shown`` is given the ids of the observations in it."""
    # Like the memory itself, its words are imported by the first call, not by the list of tools.
    from engram_py.interfaces.wording import render

    wants_json = arguments.get("response_format") == "json"
    notes = tool.remarks(arguments)
    try:
        values, answer = tool.parse(arguments)
        with memory.use(agent) as app:
            if tool.name in OF_SESSIONS:
                app.ledger.settle()
            with app.usage.collected() as surfaced:
                value = tool.function(app, **values)
            now = app.journal.moment()
            notes += app.store.tell()
        shown |= surfaced
        if answer == "json":
            return _result(_json_answer(value, notes))
        said = (
            render.text(value, now=now, door="mcp", full=answer == "full")
            or render.why_empty(value, "mcp")
            or tool.nothing
        )
        return _result(render.with_notes(said, notes, "mcp"))
    except EngramError as exc:
        return _failure(exc, notes, wants_json=wants_json)
    except Exception:
        logger.exception("%s failed", tool.name)
        return _failure(InternalError(tool.name), notes, wants_json=wants_json)


class InternalError(EngramError):
    """A bug. What it was stays in the log: an exception's text can hold what somebody saved."""

    code = "internal_error"

    def __init__(self, tool: str) -> None:
        super().__init__(f"{tool} failed", hint="the server's log says why; `engram doctor` checks the memory")


def _failure(error: EngramError, notes: list[str], *, wants_json: bool) -> Json:
    from engram_py.interfaces.wording import render

    if not wants_json:
        return _result(render.with_notes(render.error_text(error, "mcp"), notes, "mcp"), error=True)
    details = render.error_values(error, "mcp") | ({"warnings": notes} if notes else {})
    return _result(json.dumps(details, ensure_ascii=False), error=True)


def _json_answer(value: object, notes: list[str]) -> str:
    from engram_py.interfaces.wording import render

    values = render.to_json(value, "mcp")
    if notes:
        values["warnings"] = [*values.get("warnings", ()), *notes]
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _result(text: str, *, error: bool = False) -> Json:
    # Half a surrogate pair in what somebody sent must not come back and break the stream.
    return {"content": [{"type": "text", "text": as_text(text)}], "isError": error}
