"""The ASGI base of the web applications: the routes and the page of ``engram serve``, and the team's server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engram_py.base.errors import EngramError
from engram_py.base.lazy import logger_of

logger = logger_of(__name__)

# Of every answer that holds somebody's memory.
PRIVATE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
# How long a body that is too large is taken, and forgotten, after the refusal.
LINGER_SECONDS = 2.0
_TOO_LARGE, _CLIENT_GONE = 413, 499


async def read_body(
    request: Request,
    limit: int,
    too_large: Callable[[int], EngramError],
    unpack: Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]] | None = None,
) -> bytes:
    """Return the body, unpacked by ``unpack``, and no more of it than ``limit``, whatever its length claims.

    Raises ``too_large``.
    """
    claimed = request.headers.get("content-length", "")
    if claimed.isdecimal() and int(claimed[:20]) > limit:
        raise too_large(limit)
    sent = request.stream()
    pieces, size = [], 0
    async for piece in unpack(sent) if unpack else sent:
        size += len(piece)
        if size > limit:
            raise too_large(limit)
        pieces.append(piece)
    return b"".join(pieces)


def json_object(body: bytes, invalid: Callable[[str], EngramError], **hooks: Any) -> dict[str, Any]:
    """Return a body's JSON object. ``hooks`` are those of ``json.loads``. Raises ``invalid`` with the reason."""
    try:
        value = json.loads(body.decode("utf-8-sig"), **hooks)
    except RecursionError as exc:
        raise invalid("it is nested too deeply") from exc
    except UnicodeDecodeError as exc:
        raise invalid("it is not UTF-8") from exc
    except ValueError as exc:  # its words do not repeat the body
        raise invalid(str(exc)[:200]) from exc
    if not isinstance(value, dict):
        raise invalid("it is not an object")
    return value


def encoded(value: Any) -> bytes:
    """Return a value as JSON, ASCII throughout: what comes back of a refused request may be no UTF-8."""
    return json.dumps(value, separators=(",", ":")).encode()


async def answered(
    answer: Awaitable[Response], refused: Callable[[EngramError], Response], failed: Callable[[], EngramError]
) -> Response:
    """Return an answer, or what ``refused`` makes of its error; a bug is logged, and refused as ``failed``."""
    try:
        return await answer
    except ClientDisconnect:
        return Response(status_code=_CLIENT_GONE)
    except EngramError as exc:
        return refused(exc)
    except Exception:
        logger.exception("a request failed")
        return refused(failed())


class Lingering:
    """Ends a refusal of what is too large only after the rest of the request was read, or LINGER_SECONDS.

    A client that is cut off while it sends does not read the answer.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        read_whole = lingers = False

        async def received() -> Message:
            nonlocal read_whole
            message = await receive()
            read_whole = message["type"] != "http.request" or not message.get("more_body")
            return message

        async def sent(message: Message) -> None:
            nonlocal lingers
            if message["type"] == "http.response.start":
                lingers = message["status"] == _TOO_LARGE and not read_whole
            if not lingers or message["type"] != "http.response.body" or message.get("more_body"):
                await send(message)
                return
            await send({**message, "more_body": True})
            with anyio.move_on_after(LINGER_SECONDS):
                while not read_whole:
                    await received()
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._application(scope, received, sent)
