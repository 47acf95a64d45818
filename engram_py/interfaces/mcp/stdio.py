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
from mcp.types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from engram_py.interfaces.mcp.pipes import pipes

PARSE_ERROR, INVALID_REQUEST = -32700, -32600

# How long after stdin closed, or after the answer before, a call in flight may take, in seconds: a save takes
# milliseconds, one that waits for another process's lock is not waited for.
DRAIN_SECONDS = 2.0

Item = SessionMessage | Exception

_NOTHING = object()  # a blank line between messages is no message


class _Pending:
    """The requests that were read and not answered yet."""

    def __init__(self) -> None:
        self._ids: set[str | int] = set()
        self._done = anyio.Event()

    def add(self, request_id: str | int) -> None:
        self._ids.add(request_id)

    def done(self, request_id: str | int | None) -> None:
        if request_id is None:
            return
        self._ids.discard(request_id)
        self._done.set()
        self._done = anyio.Event()

    async def wait(self) -> None:
        """Until all are answered, or none was for so long."""
        while self._ids:
            with anyio.move_on_after(DRAIN_SECONDS) as waiting:
                await self._done.wait()
            if waiting.cancelled_caught:
                return


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
    with pipes() as ends:
        async with stdio_server(*ends) as (read, write), anyio.create_task_group() as tasks:
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
            pending.done(_cancelled(message))
        await pending.wait()


def _cancelled(item: SessionMessage) -> str | int | None:
    """The request that nobody waits for any more: the SDK does not answer it."""
    message = item.message
    if isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
        return _plain_id({"id": (message.params or {}).get("requestId")})
    return None


async def _repaired(error: Exception, writer: _Writer) -> SessionMessage | None:
    """The message of a line that JSON's own parser reads and the SDK's does not, or None once it was refused."""
    try:
        value = _value_of(error)
        if value is _NOTHING:
            return None
        mended = _mended(value)
    except (ValueError, RecursionError):
        await _refuse(writer, None, PARSE_ERROR, "not JSON; one JSON-RPC message per line")
        return None
    request_id = _plain_id(value)
    try:
        if isinstance(value, dict) and "id" in value and request_id is None:
            raise ValueError("an id that cannot be sent back")
        return SessionMessage(jsonrpc_message_adapter.validate_python(mended, by_name=False))
    except (ValidationError, ValueError):
        await _refuse(writer, request_id, INVALID_REQUEST, "not a JSON-RPC 2.0 request")
        return None


def _value_of(error: Exception) -> object:
    """What the line held, ``_NOTHING`` for a blank one. Raises ValueError, RecursionError when it is not JSON."""
    if not isinstance(error, ValidationError):
        raise ValueError(str(error))
    details = error.errors(include_url=False, include_context=False)
    if details[0]["type"] == "json_invalid":
        line = str(details[0]["input"])
        return json.loads(line) if line.strip() else _NOTHING
    # It is JSON. Only an error about the whole message, such as a field it lacks, carries the whole message.
    whole = (one["input"] for one in details if len(one["loc"]) < 2 or (one["type"], len(one["loc"])) == ("missing", 2))
    return next(whole, None)


def _mended(value: Any, *, arguments: bool = False) -> Any:
    """``value`` with a ``?`` for each half of a surrogate pair, which is valid JSON and could not be sent back.

    A tool's own arguments keep theirs: the tool says which of them has one.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_mended(one) for one in value]
    if not isinstance(value, dict):
        return value
    called = value.get("method") == "tools/call"
    return {
        _mended(key): one if arguments and key == "arguments" else _mended(one, arguments=called and key == "params")
        for key, one in value.items()
    }


def _plain_id(value: object) -> str | int | None:
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, str) and found.encode("utf-8", "replace").decode() == found:
        return found
    return found if isinstance(found, int) and not isinstance(found, bool) else None


async def _refuse(writer: _Writer, request_id: str | int | None, code: int, message: str) -> None:
    error = JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))
    await writer.send(SessionMessage(error))
