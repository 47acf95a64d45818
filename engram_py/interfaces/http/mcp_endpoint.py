"""``/mcp``: the tools of ``engram mcp`` over streamable HTTP, by the server of the SDK, each connection with a session
of its own. On stdin and stdout ``interfaces/mcp/stdio.py`` answers the same.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from engram_py import __version__
from engram_py.app import Engram
from engram_py.base.dataclass import dataclass
from engram_py.base.settings import Settings
from engram_py.interfaces.http.parameters import app_in
from engram_py.interfaces.mcp.profiles import INSTRUCTIONS, select_tools
from engram_py.interfaces.mcp.protocol import (
    AT_ONCE,
    ENVELOPED,
    HANDSHAKES,
    SERVER_INFO,
    UNSUPPORTED_VERSION,
    RequestError,
    answer,
    elicits,
    listing,
)
from engram_py.interfaces.mcp.tool_calls import ASKING_SECONDS, CLOSING_SECONDS, Memory, Question, opener
from engram_py.memory.sessions.sessions import SessionMode

SPOKEN = [*HANDSHAKES, *ENVELOPED]
SESSION_HEADER = "mcp-session-id"
MOST_BODY = 4 * 1024 * 1024
MOST_CONNECTIONS = 1_000
IDLE_SECONDS = 30 * 60.0
GRACE_SECONDS = 1.0


@dataclass(slots=True)
class _Connection:
    memory: Memory
    used: float


class McpEndpoint:
    """The endpoint over one open memory; ``run`` is its lifetime."""

    def __init__(self, app: Engram, *, tools: str | None = None) -> None:
        self._app = app
        self._connections: dict[str, _Connection] = {}
        self._tasks: TaskGroup | None = None
        self._manager = StreamableHTTPSessionManager(
            build_server(app.settings, tools=tools, memory_of=self.memory_of),
            max_request_body_size=MOST_BODY,
            session_idle_timeout=IDLE_SECONDS,
            max_sessions=MOST_CONNECTIONS,
        )

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            async with self._manager.run():
                yield
        self._app.store.hurry(CLOSING_SECONDS)
        with anyio.move_on_after(GRACE_SECONDS):  # an open session harms nobody
            await anyio.to_thread.run_sync(self._end, list(self._connections), abandon_on_cancel=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        version = Request(scope).headers.get(MCP_PROTOCOL_VERSION_HEADER)
        if version is not None and version not in SPOKEN:
            await _unknown_version(version)(scope, receive, send)
            return
        leaving = scope["method"] == "DELETE"
        await self._manager.handle_request(scope, receive, self._ended_before(scope, send) if leaving else send)

    def _ended_before(self, scope: Scope, send: Send) -> Send:
        """Return a ``send`` that ends the session before it says so, unless the file is locked."""
        name = Request(scope).headers.get(SESSION_HEADER, "")

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 300:
                with anyio.move_on_after(GRACE_SECONDS):  # while somebody else writes, it ends after the answer
                    await anyio.to_thread.run_sync(self._end, [name], abandon_on_cancel=True)
            await send(message)

        return answer

    @property
    def connected(self) -> int:
        """Return how many clients have a memory of their own."""
        return len(self._connections)

    def memory_of(self, ctx: Any) -> Memory:
        """Return the memory of a call's connection.

        A call of the newest protocol belongs to no connection and leaves nothing behind: the session that one client
        started must not decide for another.
        """
        request: Request | None = ctx.request
        name = _connection_of(request) if request is not None else ""
        query = dict(request.query_params) if request is not None else {}
        mode: SessionMode = "process" if name else "manual"
        opened = partial(self._open, query.get("cwd"), query.get("project"), mode)
        if not name:
            return Memory(opened)
        if name not in self._connections:
            self._make_room()
            self._connections[name] = _Connection(Memory(opened), 0.0)
        connection = self._connections[name]
        connection.used = time.monotonic()
        return connection.memory

    def _open(self, cwd: str | None, project: str | None, mode: SessionMode, agent: str) -> Engram:
        return app_in(self._app, cwd).for_caller(None, project=project or None, session_mode=mode, agent=agent)

    def _make_room(self) -> None:
        """End the sessions of connections that the SDK has forgotten by now, and the longest unused of too many."""
        if self._tasks is None:
            return
        before = time.monotonic() - 2 * IDLE_SECONDS
        oldest = sorted(self._connections.items(), key=lambda one: one[1].used)
        too_many = len(oldest) + 1 - MOST_CONNECTIONS
        gone = [name for number, (name, one) in enumerate(oldest) if number < too_many or one.used < before]
        closing = [self._connections.pop(name) for name in gone]
        if closing:
            self._tasks.start_soon(anyio.to_thread.run_sync, _close, closing)

    def _end(self, names: list[str]) -> None:
        _close([self._connections.pop(name) for name in names if name in self._connections])


def _unknown_version(version: str) -> Response:
    message = f"{MCP_PROTOCOL_VERSION_HEADER} is {version[:80]!r}; this server speaks {', '.join(SPOKEN)}"
    error = {"code": UNSUPPORTED_VERSION, "message": message, "data": {"supported": SPOKEN, "requested": version[:80]}}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=400)


def _connection_of(request: Request) -> str:
    """Return the connection a call belongs to, which the SDK has checked.

    The newest protocol knows none: there the header is whatever a client likes.
    """
    version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
    handshake = version is None or version in HANDSHAKE_PROTOCOL_VERSIONS
    return request.headers.get(SESSION_HEADER, "") if handshake else ""


def _close(connections: list[_Connection]) -> None:
    for one in connections:
        one.memory.close()


# --- the server of the SDK ---------------------------------------------------------------------------------------

Call = ServerRequestContext[Memory]
MemoryOf = Callable[[Call], Memory]

# The SDK's name of a handler → the method that it answers, and the shape of its answer.
_SERVED: dict[str, tuple[str, type[BaseModel]]] = {
    "list_tools": ("tools/list", types.ListToolsResult),
    "call_tool": ("tools/call", types.CallToolResult),
    "list_resources": ("resources/list", types.ListResourcesResult),
    "list_resource_templates": ("resources/templates/list", types.ListResourceTemplatesResult),
    "read_resource": ("resources/read", types.ReadResourceResult),
    "list_prompts": ("prompts/list", types.ListPromptsResult),
    "get_prompt": ("prompts/get", types.GetPromptResult),
    "completion": ("completion/complete", types.CompleteResult),
}


def build_server(
    settings: Settings,
    *,
    tools: str | None = None,
    project: str | None = None,
    memory_of: MemoryOf | None = None,
) -> Server[Memory]:
    """Return a server over one memory, which the first call opens.

    ``memory_of`` says which memory a call works on where one server has many connections.

    Raises InvalidInputError (unknown_tool) for a profile or tool that does not exist.
    """
    names = select_tools(tools if tools is not None else settings.tools)
    memory_for = memory_of or (lambda ctx: ctx.lifespan_context)

    def handler(method: str, result: type[BaseModel]) -> Callable[[Call, BaseModel | None], Awaitable[BaseModel]]:
        async def handle(ctx: Call, params: BaseModel | None) -> BaseModel:
            given = {} if params is None else params.model_dump(by_alias=True, exclude_none=True)
            try:
                if method in AT_ONCE:
                    return result.model_validate(listing(method, given, names))
                memory, agent = memory_for(ctx), _client_name(ctx)
                asks, enveloped = _asks_person(ctx), not _speaks_handshake(ctx)
                work = partial(answer, method, given, names, memory, agent, asks=asks, enveloped=enveloped)
                found = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
            except RequestError as exc:
                raise MCPError(code=exc.code, message=exc.message, data=exc.data) from exc
            if not isinstance(found, Question):
                return result.model_validate(found)
            if enveloped:
                return types.InputRequiredResult.model_validate(found.required)
            response = await _asked(ctx, found)
            return result.model_validate(
                await anyio.to_thread.run_sync(found.settled, response, memory, agent, abandon_on_cancel=True)
            )

        return handle

    handlers: dict[str, Any] = {f"on_{name}": handler(*served) for name, served in _SERVED.items()}
    return Server(
        "engram",
        version=__version__,
        title=SERVER_INFO["title"],
        description=SERVER_INFO["description"],
        website_url=SERVER_INFO["websiteUrl"],
        icons=[types.Icon.model_validate(icon) for icon in SERVER_INFO["icons"]],
        instructions=INSTRUCTIONS,
        lifespan=_lifetime(Memory(opener(settings, project, None))),
        **handlers,
    )


def _lifetime(memory: Memory) -> Callable[[Server[Memory]], AbstractAsyncContextManager[Memory]]:
    @asynccontextmanager
    async def lifespan(_: Server[Memory]) -> AsyncGenerator[Memory]:
        try:
            yield memory
        finally:
            memory.close()

    return lifespan


def _client_name(ctx: Call) -> str:
    """Return the name of the client: ``claude-code``, ``cursor``."""
    params: Any = ctx.session.client_params
    return "" if params is None else str(params.client_info.name)[:100]


def _speaks_handshake(ctx: Call) -> bool:
    return ctx.session.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS


def _asks_person(ctx: Call) -> bool:
    """Return whether the client can put a question to the person, and can be sent one now."""
    capabilities: Any = ctx.session.client_capabilities
    if capabilities is None or (_speaks_handshake(ctx) and not ctx.session.can_send_request):
        return False
    return elicits(capabilities.model_dump(by_alias=True, exclude_none=True))


async def _asked(ctx: Call, question: Question) -> object:
    """Return what the person answered, None where that was nothing in time."""
    with anyio.move_on_after(ASKING_SECONDS):
        try:
            form = question.form
            said = await ctx.session.elicit_form(form["message"], form["requestedSchema"], ctx.request_id)
        except (MCPError, ValidationError):
            return None
        return said.model_dump(by_alias=True, exclude_none=True)
    return None
