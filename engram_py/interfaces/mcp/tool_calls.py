"""Run a tool call: open the memory on the first one, parse, call, render, word every failure, and count the bytes of
the answer, which are what a memory costs.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import EngramError, ServeError
from engram_py.base.lazy import logger_of
from engram_py.interfaces.input_checks import as_text
from engram_py.interfaces.mcp.argument_checks import UnknownArgumentError

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.base.settings import Settings
    from engram_py.interfaces.mcp.own_files import OwnFiles
    from engram_py.interfaces.mcp.tool_registry import Tool
    from engram_py.memory.observations.values import Candidate


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
        self._moved = False
        self._running = 0
        self._files: OwnFiles | None = None
        self._told_outdated = False

    @contextmanager
    def use(self, agent: str = "") -> Iterator[Engram]:
        """Give the open memory for the length of one call. Raises EngramError when it cannot be opened now."""
        with self._changed:
            if self._app is not None and self._moved and not self._running:
                self._app.close()
                self._app = None
            if self._app is None:
                self._moved = False
                self._app = self._open(agent)
            app = self._app
            self._running += 1
        try:
            yield app
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def keep_files(self) -> None:
        """Keep the modules that no call has needed yet, in case that they change or vanish on the disk."""
        from engram_py.interfaces.mcp.own_files import OwnFiles

        files = OwnFiles()
        files.keep()
        self._files = files

    def is_outdated(self) -> bool:
        """Return whether this program was updated or removed since this process began."""
        return self._files is not None and self._files.have_changed()

    def tell_outdated(self) -> list[str]:
        """Return what to say of that, once."""
        if self._told_outdated or not self.is_outdated():
            return []
        self._told_outdated = True
        return [f"{OUTDATED}; {RESTART}"]

    def move(self) -> None:
        """Open the memory again for the next call, in the folder that the client works in by then."""
        self._moved = True

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


def opener(
    settings: Settings, project: str | None, failure: EngramError | None, directory: Callable[[], Path] = Path.cwd
) -> Callable[[str], Engram]:
    """Opens the memory of a server process; ``failure`` is raised instead, if there is one."""

    def opened(agent: str) -> Engram:
        if failure is not None:
            raise failure
        from engram_py.app import Engram
        from engram_py.interfaces.background import update_documents
        from engram_py.memory.sessions.sessions import ancestors

        app = Engram(
            settings=settings,
            directory=directory(),
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


# How long the person has for a question. The save is stored by then, and the agent waits for its answer.
ASKING_SECONDS = 30.0
# The name of the question among those of a call, and of the box in its form.
REPLACE = "replace"
_SAID_BY_PERSON = "the user confirmed it at the save"


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the person: whether what was saved just now replaces what it seems to contradict.

    ``kept`` is the answer of the call where it does not, ``replaced`` where it does.
    """

    newer: int
    older: int
    message: str
    kept: str
    replaced: str

    @classmethod
    def of_state(cls, state: str) -> Question:
        """Return the question that a client was given. Raises ValueError."""
        values = json.loads(state)
        kinds = (int, int, str, str, str)
        if not isinstance(values, list) or [type(one) for one in values] != list(kinds):
            raise ValueError("not the state of a question")
        return cls(*values)

    @property
    def form(self) -> Json:
        """The parameters of ``elicitation/create``: one box to tick, so that a client that accepts by itself replaces
        nothing."""
        box = {"type": "boolean", "title": f"Replace #{self.older}"}
        schema = {"type": "object", "properties": {REPLACE: box}, "required": [REPLACE]}
        return {"mode": "form", "message": self.message, "requestedSchema": schema}

    @property
    def required(self) -> Json:
        """The result that asks it, in the protocol of 2026-07-28."""
        state = json.dumps([self.newer, self.older, self.message, self.kept, self.replaced])
        asked = {REPLACE: {"method": "elicitation/create", "params": self.form}}
        return {"resultType": "input_required", "inputRequests": asked, "requestState": state}

    def settled(self, response: object, memory: Memory, agent: str) -> Json:
        """Return the answer of the call after what the person said, None where that was nothing."""
        try:
            if self._is_accepted(response) and self._record(memory, agent):
                return _result(self.replaced)
        except EngramError as exc:  # the older one was deleted meanwhile
            logger.warning("#%d does not replace #%d: %s", self.newer, self.older, exc.message)
        return _result(self.kept)

    def _is_accepted(self, response: object) -> bool:
        if not isinstance(response, dict) or response.get("action") != "accept":
            return False
        content = response.get("content")
        return isinstance(content, dict) and content.get(REPLACE) is True

    def _record(self, memory: Memory, agent: str) -> bool:
        """Return whether it was recorded: a pair that was judged meanwhile stays as it is."""
        with memory.use(agent) as app:
            known = app.relations.between(self.newer, self.older)
            if known is None or known.judgment_status != "pending":
                return False
            app.relations.compare(self.newer, self.older, "supersedes", confidence=1.0, reasoning=_SAID_BY_PERSON)
            return True


def run_tool(
    tool: Tool, arguments: dict[str, Any], memory: Memory, agent: str, *, asks: bool = False
) -> Json | Question:
    """Return the answer to a call. A refusal carries code, message and hint; a bug only says that it happened.

    ``asks``: a save that seems to contradict something may answer with a question to the person.
    """
    shown: set[int] = set()
    found = _answered(tool, arguments, memory, agent, shown, asks=asks)
    if memory.opened is not None:  # a refusal costs too
        session_id = arguments.get("id" if tool.name in OF_SESSIONS else "session_id")
        result = _result(found.kept) if isinstance(found, Question) else found
        size = sum(len(part["text"].encode()) for part in result["content"])
        count_answer(memory.opened, "mcp", tool.name, size, session_id=session_id, shown=shown)
    return found


def _answered(
    tool: Tool, arguments: dict[str, Any], memory: Memory, agent: str, shown: set[int], *, asks: bool
) -> Json | Question:
    """Return the answer; ``shown`` is given the ids of the observations in it."""
    # Like the memory itself, its words are imported by the first call, not by the list of tools.
    from engram_py.interfaces.wording import render

    wants_json = arguments.get("response_format") == "json"
    notes = tool.remarks(arguments)
    try:
        values, answer = tool.parse(arguments)
        with memory.use(agent) as app:
            expected = tool.expected_project(arguments)
            if expected is not None:
                _check_project(app, str(expected), tool, values)
            if tool.name in OF_SESSIONS:
                app.ledger.settle()
            with app.usage.collected() as surfaced:
                value = tool.function(app, **values)
            now = app.journal.calendar.local
            notes += [*app.store.tell(), *memory.tell_outdated()]
        shown |= surfaced

        def worded(value: object) -> str:
            if answer == "json":
                return _json_answer(value, notes)
            said = (
                render.text(value, now=now, door="mcp", full=answer == "full")
                or render.why_empty(value, "mcp")
                or tool.nothing
            )
            return render.with_notes(said, notes, "mcp")

        return _asked(value, worded) if asks else _result(worded(value))
    except UnknownArgumentError as exc:  # which says it itself
        return _failure(exc, [], wants_json=wants_json)
    except EngramError as exc:
        return _failure(exc, notes, wants_json=wants_json)
    except Exception:
        logger.exception("%s failed", tool.name)
        if memory.is_outdated():  # it may need a file of the version that this process began with
            step = f"{RESTART}, then make this call again"
            broken: EngramError = ServeError(f"{tool.name} failed: {OUTDATED}", hint=step, code="outdated_server")
        else:  # what it was stays in the log: an exception's text can hold what somebody saved
            step = "the server's log says why; `engram doctor` checks the memory"
            broken = EngramError(f"{tool.name} failed", hint=step, code="internal_error")
        return _failure(broken, notes, wants_json=wants_json)


def _check_project(app: Engram, expected: str, tool: Tool, values: Mapping[str, Any]) -> None:
    """Raises ConflictError where a call would write elsewhere than expected, InvalidProjectError."""
    from engram_py.memory.observations.arguments import check_owner, check_place

    ids = tool.named_ids(values)
    for number in ids:
        check_owner(app.store, number, expected)
    if "judgment_id" in values:
        check_place(app.relations.show(values["judgment_id"]).project, expected)
    elif not ids:
        session_id = values.get("id" if tool.name in OF_SESSIONS else "session_id")
        place = app.projects.for_read(values.get("project") or values.get("to"), session_id=session_id)
        check_place(place.project, expected)


def _asked(value: Any, worded: Callable[[object], str]) -> Json | Question:
    """Return the answer, or the question that comes before it where a decision was saved against another."""
    older = _contradicted(value)
    if older is None:
        return _result(worded(value))
    from engram_py.interfaces.wording.relations import replaces
    from engram_py.memory.observations.values import RelationNote

    others = tuple(one for one in value.candidates if one is not older)
    note = RelationNote("replaced", older.id, older.title)
    after = replace(value, outcome="superseded", candidates=others, replaced=(note,))
    message = as_text(replaces(value, older))
    return Question(value.id, older.id, message, as_text(worded(value)), as_text(worded(after)))


def _contradicted(value: object) -> Candidate | None:
    """Return what a save most likely contradicts: decisions, policies and preferences exclude each other."""
    from engram_py.memory.observations.values import REVIEW_MONTHS, Saved

    if not isinstance(value, Saved) or value.type not in REVIEW_MONTHS:
        return None
    return next((one for one in value.candidates if one.type in REVIEW_MONTHS), None)


OUTDATED = "engram was updated or removed while this server runs"
RESTART = "restart your agent"


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
