"""``/mcp``: the tools of ``engram mcp`` over streamable HTTP, each connection with a session of its own."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from engram_py.app import Engram
from engram_py.dataclass import dataclass
from engram_py.interfaces.http.routing import app_in
from engram_py.interfaces.mcp.server import build_server
from engram_py.interfaces.mcp.tool_calls import CLOSING_SECONDS, Memory
from engram_py.sessions.sessions import SessionMode

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
        with app_in(self._app, cwd) as app:
            return app.for_caller(None, project=project or None, session_mode=mode, agent=agent)

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
