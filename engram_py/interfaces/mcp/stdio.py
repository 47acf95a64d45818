"""MCP on stdin and stdout: one JSON-RPC message a line, answered by the rules of ``protocol``.

The main thread reads, and answers what needs no memory; calls run on a few threads, and one thread writes, so that a
client may send all it has before it reads. A client that closes stdin gets the answers to what was read before; one
that closes stdout ends the server once what it sent is done.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.base.errors import EngramError
from engram_py.base.lazy import logger_of
from engram_py.base.settings import Settings, load_settings
from engram_py.interfaces.mcp.profiles import select_tools
from engram_py.interfaces.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    Client,
    RequestError,
    answer,
    is_message,
    plain_id,
)
from engram_py.interfaces.mcp.tool_calls import ASKING_SECONDS, Memory, Question, opener

if TYPE_CHECKING:
    from engram_py.app import Engram

logger = logger_of(__name__)

Json = dict[str, Any]
# Takes the answer to a request; None stands for one that is not answered any more.
Reply = Callable[[Json | None], None]

WORKERS = 4
ROOTS_SECONDS = 2.0
_ROOTS = "engram-roots"
# How long after stdin closed, or after the answer before, a call in flight may take, in seconds: a save takes
# milliseconds, one that waits for another process's lock is not waited for.
DRAIN_SECONDS = 2.0
_TICK = 0.1


def options(words: Sequence[str]) -> dict[str, str] | None:
    """Return the options of ``engram mcp`` by their names; None where a line has anything else, which is click's."""
    found: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        value = value if equals else next(rest, "")
        if name not in ("--tools", "--project") or not value or value.startswith("-"):
            return None
        found[name.removeprefix("--")] = value
    return found


def main(*, tools: str | None = None, project: str | None = None) -> int:
    """Serve as this process and return its exit code."""
    try:
        serve_agent(_settings, tools=tools, project=project)
    except EngramError as exc:
        from engram_py.interfaces.wording.render import error_text

        print(f"engram: {error_text(exc, 'cli')}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _settings() -> Settings:
    loaded = load_settings()
    if loaded.warnings:
        from engram_py.interfaces.wording.reasons import spelled

        for warning in loaded.warnings:
            print(f"note: {spelled(warning, 'mcp')}", file=sys.stderr)  # noqa: T201
    return loaded


def serve_agent(load: Callable[[], Settings], *, tools: str | None, project: str | None) -> None:
    """Serve with the settings that ``load`` returns. Where it fails, the calls are answered with the reason: a server
    that ends at once shows its user none."""
    failure: EngramError | None = None
    try:
        settings = load()
    except EngramError as exc:
        settings, failure = Settings(Path()), exc
    if sys.stdin is not None and sys.stdin.isatty():
        told = "This is an MCP server for an agent to start; README.md says how. Ctrl-C ends it."
        print(told, file=sys.stderr)  # noqa: T201
    serve_stdio(settings, tools=tools, project=project, failure=failure)


def serve_stdio(
    settings: Settings, *, tools: str | None = None, project: str | None = None, failure: EngramError | None = None
) -> None:
    """Serve until stdin closes or a signal comes. ``failure``: why there are no proper settings, answered to every
    call. Raises InvalidInputError (unknown_tool) for a profile or tool that does not exist."""
    names = select_tools(tools if tools is not None else settings.tools)
    if sys.stdin is None or sys.stdout is None:  # closed before the start: there is no client
        return
    roots = Roots()
    open_memory = opener(settings, project, failure, roots.workspace)

    def opened(agent: str) -> Engram:
        import logging

        level = getattr(logging, settings.log_level.upper())  # nothing is logged before the first call
        logging.basicConfig(stream=sys.stderr, level=level, format="%(levelname)s %(name)s: %(message)s")
        return open_memory(agent)

    memory = Memory(opened)
    lines, out = _own_ends()
    early = bool(settings.embedder)  # hooks and other servers ask its model (vectors/holder.py)
    connection = StdioClient(names, memory, out, roots, early=early, once_asked=memory.keep_files)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, connection.stop)
    threading.Thread(target=_end_after, args=(connection, memory), daemon=True).start()
    connection.serve(lines)
    memory.close()
    if connection.busy:  # a call that waits for another process's lock, and nobody for its answer
        sys.stderr.flush()
        os._exit(0)


def _end_after(connection: StdioClient, memory: Memory) -> None:
    """End this process once the one that started it is gone, as a signal does."""
    from engram_py.interfaces.mcp.lifetime import Client as Starter

    Starter(lambda: connection.asked_at).wait_until_gone()
    if sys.platform == "win32":  # there a thread that reads is not interrupted
        memory.close()
        os._exit(0)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)


def _own_ends() -> tuple[Iterable[str], int]:
    """Return the lines that the client writes, and the descriptor that it reads.

    From now on descriptor 0 is the null device and 1 is stderr: what a library prints does not reach the client, and
    a child process does not read its messages.
    """
    sys.stdout.flush()
    reads, writes = _above_the_standard(0), _above_the_standard(1)
    if sys.platform != "win32":
        os.set_blocking(reads, True)
        os.set_blocking(writes, True)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no stderr
        os.dup2(nothing, 1)
    os.close(nothing)
    return os.fdopen(reads, encoding="utf-8", errors="replace"), writes


def _above_the_standard(fd: int) -> int:
    if sys.platform == "win32":
        return os.dup(fd)
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


class _Stopped(BaseException):
    """A signal came while the next line was waited for."""


class Roots:
    """The folders that the client works in, if it tells them: a user's server is started anywhere, in ``/`` as well."""

    def __init__(self) -> None:
        self._uris: list[str] = []
        self._given: Path | None = None
        self._told = threading.Event()
        self._told.set()

    def ask(self) -> None:
        """Have whoever needs the folders wait for ``hear``."""
        self._told.clear()

    def hear(self, response: object) -> bool:
        """Take the answer to ``roots/list``. Return whether it leads elsewhere than ``workspace`` said."""
        roots = response.get("roots") if isinstance(response, dict) else None
        listed = [one.get("uri") for one in roots if isinstance(one, dict)] if isinstance(roots, list) else []
        given = self._given
        self._uris = [one for one in listed if isinstance(one, str) and one.startswith("file://")]
        self._told.set()
        return given is not None and self._folder() != given

    def give_up(self) -> None:
        self._told.set()

    def workspace(self) -> Path:
        """Return the folder to work in. A client that was asked has two seconds for its answer."""
        self._told.wait(ROOTS_SECONDS)
        self._given = self._folder()
        return self._given

    def _folder(self) -> Path:
        if not self._uris:
            return Path.cwd()
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        from engram_py.memory.projects.locate import workspace

        return workspace(Path.cwd(), [Path(url2pathname(urlsplit(uri).path)) for uri in self._uris])


class StdioClient:
    """One client. ``out`` is the descriptor that it reads. ``early`` opens the memory with the client's first message,
    before any call needs it. ``once_asked`` is called in the background when the client first asks about tools."""

    def __init__(
        self,
        names: tuple[str, ...],
        memory: Memory,
        out: int,
        roots: Roots | None = None,
        *,
        early: bool = False,
        once_asked: Callable[[], None] | None = None,
    ) -> None:
        self._names, self._memory, self._out, self._early = names, memory, out, early
        self._roots, self._once_asked = roots or Roots(), once_asked
        self._client = Client()
        self._requests: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._workers = 0
        self._waiting = self._stopping = False
        self.asked_at = time.monotonic()
        self._changed = threading.Condition()
        self._open: list[_Request] = []  # read, and neither answered nor cancelled
        self._at_work = 0
        self._questions: dict[str, _Request] = {}  # put to the person, and not answered yet
        self._deaf = False  # stdin is closed: nobody can answer any more
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._unwritten = 0
        self._gone = False

    # The lines.

    def serve(self, lines: Iterable[str]) -> None:
        """Answer the lines until there are no more, and wait for what is still at work."""
        reader = iter(lines)
        threading.Thread(target=self._write_all, daemon=True).start()
        try:
            while True:
                self._waiting = True
                if self._stopping:
                    return
                line = next(reader, None)
                self._waiting = False
                if line is None:
                    break
                self._take(line)
            self._drain()
        except (_Stopped, ConnectionResetError):  # or a socket whose other end died with something unread
            self._waiting = False
        self._stopping = True

    def stop(self, *_: object) -> None:
        """End before the next line; what a signal handler calls."""
        self._stopping = True
        if self._waiting:
            raise _Stopped

    @property
    def busy(self) -> bool:
        """Whether a call is still at work."""
        return self._at_work > 0

    def _drain(self) -> None:
        """Wait until all calls are answered and all answers written, or none was for ``DRAIN_SECONDS``."""
        with self._changed:
            self._deaf, unanswered = True, list(self._questions)
        self._roots.give_up()
        for question in unanswered:
            self._heard(question, None)
        with self._changed:
            self._waiting = True
            while (left := len(self._open) + self._unwritten) and not self._stopping:
                moved = self._changed.wait_for(lambda: len(self._open) + self._unwritten < left, DRAIN_SECONDS)
                if not moved:
                    return

    def _take(self, line: str) -> None:
        if not line.strip():
            return
        self.asked_at = time.monotonic()
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(None, RequestError(PARSE_ERROR, "not JSON; one JSON-RPC message per line"), self._write)
            return
        if not (isinstance(message, list) and message and self._client.sends_batches):
            self._take_one(message, self._write)
            return
        batch = _Batch(self._write)
        for one in message:
            self._take_one(one, batch.expect(one))
        batch.close()

    def _take_one(self, message: Any, reply: Reply) -> None:
        request_id = plain_id(message)
        if not is_message(message):
            self._refuse(request_id, RequestError(INVALID_REQUEST, "not a JSON-RPC 2.0 request"), reply)
        elif "method" not in message:
            self._heard(request_id, message.get("result"))
        elif "id" not in message:
            self._notice(message["method"], message.get("params") or {})
        else:
            self._request(request_id, message["method"], message.get("params") or {}, reply)

    # The messages.

    def _notice(self, method: str, params: Json) -> None:
        """A cancelled request is not answered any more; a client that has folders to work in is asked for them."""
        if method in ("notifications/initialized", "notifications/roots/list_changed") and self._client.has_roots:
            self._roots.ask()
            self._write({"jsonrpc": "2.0", "id": _ROOTS, "method": "roots/list"})
        elif method == "notifications/cancelled":
            with self._changed:
                asked = params.get("requestId")
                for request in [one for one in self._open if one.id == asked and not one.answered]:
                    request.cancelled = True
                    self._open.remove(request)
                    request.reply(None)

    def _request(self, request_id: object, method: str, params: Json, reply: Reply) -> None:
        try:
            agent = self._client.admit(method, params)
            at_once = self._client.at_once(method, params, self._names)
        except RequestError as exc:
            self._refuse(request_id, exc, reply)
            return
        if self._once_asked is not None and method in ("tools/list", "tools/call"):
            threading.Thread(target=self._once_asked, daemon=True).start()
            self._once_asked = None
        if at_once is not None:
            self._answer(request_id, method, at_once, reply)
            if self._early:
                self._early = False
                threading.Thread(target=self._open_early, args=(agent,), daemon=True).start()
            return
        request = _Request(request_id, method, params, agent, reply, asks=self._client.asks_person(params))
        with self._changed:
            self._open.append(request)
            if len(self._open) > self._workers < WORKERS:
                self._workers += 1
                threading.Thread(target=self._work, daemon=True).start()
        self._requests.put(request)

    def _open_early(self, agent: str) -> None:
        with suppress(EngramError), self._memory.use(agent):  # a call is told why it cannot be opened
            pass

    # The calls.

    def _work(self) -> None:
        while True:
            request = self._requests.get()
            if request.cancelled or self._stopping:
                continue
            with self._changed:
                self._at_work += 1
            try:
                result: Json | Question | RequestError = self._result(request)
            except RequestError as exc:
                result = exc
            except Exception:
                logger.exception("%s failed", request.method)
                result = RequestError(INTERNAL_ERROR, "Internal server error")
            if not isinstance(result, Question):
                self._done(request, result)
            elif self._client.is_enveloped:
                self._done(request, result.required)
            else:
                self._ask(request, result)

    def _result(self, request: _Request) -> Json | Question:
        if request.question is not None:
            return request.question.settled(request.response, self._memory, request.agent)
        enveloped = self._client.is_enveloped
        return answer(
            request.method,
            request.params,
            self._names,
            self._memory,
            request.agent,
            asks=request.asks,
            enveloped=enveloped,
        )

    def _done(self, request: _Request, result: Json | RequestError) -> None:
        with self._changed:
            request.answered = not request.cancelled
        if request.answered:
            if isinstance(result, RequestError):
                self._refuse(request.id, result, request.reply)
            else:
                self._answer(request.id, request.method, result, request.reply)
        with self._changed:
            self._at_work -= 1
            if request.answered:
                self._open.remove(request)
            self._changed.notify_all()

    # The questions.

    def _ask(self, request: _Request, question: Question) -> None:
        """Put a question to the person. No thread waits for the answer, and the call is answered in time without."""
        request.question = question
        with self._changed:
            self._at_work -= 1
            name = f"engram-{request.id}-{question.newer}"
            self._questions[name] = request
            deaf = self._deaf
        if deaf:
            self._heard(name, None)
            return
        self._write({"jsonrpc": "2.0", "id": name, "method": "elicitation/create", "params": question.form})
        timer = threading.Timer(ASKING_SECONDS, self._given_up, [name])
        timer.daemon = True
        timer.start()

    def _heard(self, name: object, response: object) -> None:
        """Have the call answered whose question the person answered; None stands for no answer."""
        if name == _ROOTS:
            if self._roots.hear(response):
                self._memory.move()
            return
        with self._changed:
            request = self._questions.pop(name, None) if isinstance(name, str) else None
        if request is not None:
            request.response = response
            self._requests.put(request)

    def _given_up(self, name: str) -> None:
        if name in self._questions:
            params = {"requestId": name, "reason": "the time for an answer is over"}
            self._write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
            self._heard(name, None)

    # The answers.

    def _answer(self, request_id: object, method: str, result: Json, reply: Reply) -> None:
        result = self._client.with_metadata(method, result)
        reply({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _refuse(self, request_id: object, error: RequestError, reply: Reply) -> None:
        data = {} if error.data is None else {"data": error.data}
        about = {"code": error.code, "message": error.message, **data}
        reply({"jsonrpc": "2.0", "id": request_id, "error": about})

    def _write(self, message: Json | list[Json] | None) -> None:
        """Send a message, or the answers to a batch; None stands for a request that is not answered."""
        if message is None:
            return
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n"
        with self._changed:
            self._unwritten += 1
        self._answers.put(text.encode("utf-8", "replace"))

    def _write_all(self) -> None:
        """Write each answer as a line, whole. What nobody can read any more is dropped."""
        while True:
            rest = memoryview(self._answers.get())
            while rest and not self._gone:
                try:
                    rest = rest[os.write(self._out, rest) :]
                except OSError:
                    self._gone = True
                    threading.Thread(target=self._end_unread, daemon=True).start()
            with self._changed:
                self._unwritten -= 1
                self._changed.notify_all()

    def _end_unread(self) -> None:
        """End the process when no request came and none was at work for so long: nobody reads the answers."""
        idle = 0.0
        while idle < DRAIN_SECONDS:
            time.sleep(_TICK)
            idle = idle + _TICK if self._waiting and not self._open else 0.0
        sys.stderr.flush()
        os._exit(0)


class _Batch:
    """The answers to the requests of one array, which are written as one array once there are all."""

    def __init__(self, write: Callable[[list[Json]], None]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._answers: list[Json] = []
        self._waited_for = 1  # until the array is read whole

    def expect(self, message: object) -> Reply:
        """Return what takes the answer to a message; a notification and a response get none."""
        answered = not is_message(message) or (isinstance(message, dict) and {"id", "method"} <= message.keys())
        with self._lock:
            self._waited_for += answered
        return self._take

    def close(self) -> None:
        self._take(None)

    def _take(self, answer: Json | None) -> None:
        with self._lock:
            self._answers += [] if answer is None else [answer]
            self._waited_for -= 1
            complete = self._waited_for == 0 and bool(self._answers)
        if complete:
            self._write(self._answers)


class _Request:
    """A request that a thread answers; with a ``question``, once the person answered that."""

    __slots__ = ("agent", "answered", "asks", "cancelled", "id", "method", "params", "question", "reply", "response")

    def __init__(self, request_id: object, method: str, params: Json, agent: str, reply: Reply, *, asks: bool) -> None:
        self.id, self.method, self.params, self.agent, self.asks = request_id, method, params, agent, asks
        self.reply = reply
        self.cancelled = self.answered = False
        self.question: Question | None = None
        self.response: object = None
