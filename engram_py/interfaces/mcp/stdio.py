"""The stdio transport around the SDK's: malformed lines are answered, and the last answers go out before the end.

The SDK logs a line it cannot read and drops it, so its sender would wait for ever; and when stdin closes it
cancels the calls it is working on. A client that writes its requests and closes its end deserves both answers.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

PARSE_ERROR, INVALID_REQUEST = -32700, -32600

# How long calls in flight may go on after stdin closed, in seconds: a save takes milliseconds, one that waits
# for another process's lock is not waited for.
DRAIN_SECONDS = 2.0

Item = SessionMessage | Exception


class _Pending:
    """The requests that were read and not answered yet."""

    def __init__(self) -> None:
        self._ids: set[str | int] = set()
        self._empty = anyio.Event()

    def add(self, request_id: str | int) -> None:
        self._ids.add(request_id)

    def done(self, request_id: str | int | None) -> None:
        if request_id is not None:
            self._ids.discard(request_id)
        if not self._ids:
            self._empty.set()
            self._empty = anyio.Event()

    async def wait(self) -> None:
        with anyio.move_on_after(DRAIN_SECONDS):
            while self._ids:
                await self._empty.wait()


class _Writer:
    """The SDK's write stream, noting which requests were answered."""

    def __init__(self, inner: Any, pending: _Pending) -> None:
        self._inner = inner
        self._pending = pending

    async def send(self, item: SessionMessage) -> None:
        await self._inner.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._pending.done(item.message.id)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> _Writer:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


@asynccontextmanager
async def streams() -> AsyncIterator[tuple[Any, Any]]:
    """The pair of streams for ``Server.run``."""
    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        pending = _Pending()
        writer = _Writer(write, pending)
        send: MemoryObjectSendStream[Item]
        receive: MemoryObjectReceiveStream[Item]
        send, receive = anyio.create_memory_object_stream(0)
        tasks.start_soon(_forward, read, send, writer, pending)
        yield receive, writer
        tasks.cancel_scope.cancel()


async def _forward(read: Any, send: MemoryObjectSendStream[Item], writer: _Writer, pending: _Pending) -> None:
    async with send:
        async for item in read:
            message = item if isinstance(item, SessionMessage) else await _repaired(item, writer)
            if message is None:
                continue
            if isinstance(message.message, JSONRPCRequest):
                pending.add(message.message.id)
            await send.send(message)
        await pending.wait()


async def _repaired(error: Exception, writer: _Writer) -> SessionMessage | None:
    """The message of a line that JSON's own parser reads and the SDK's does not, or None once it was refused."""
    line = _line_of(error)
    if not line.strip():
        return None  # a blank line between messages is no message
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        await _refuse(writer, None, PARSE_ERROR, "not JSON; one JSON-RPC message per line")
        return None
    request_id = _plain_id(value)
    try:
        # Lone surrogates are valid JSON; they reach the tool, which says which argument has one.
        return SessionMessage(jsonrpc_message_adapter.validate_python(value, by_name=False))
    except (ValidationError, ValueError):
        await _refuse(writer, request_id, INVALID_REQUEST, "not a JSON-RPC 2.0 request")
        return None


def _line_of(error: Exception) -> str:
    if isinstance(error, ValidationError):
        value = error.errors(include_url=False)[0].get("input")
        return value if isinstance(value, str) else json.dumps(value, default=str)
    return str(error)


def _plain_id(value: object) -> str | int | None:
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, str) and found.encode("utf-8", "replace").decode() == found:
        return found
    return found if isinstance(found, int) and not isinstance(found, bool) else None


async def _refuse(writer: _Writer, request_id: str | int | None, code: int, message: str) -> None:
    error = JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))
    await writer.send(SessionMessage(error))
