"""HTTP responses: JSON, compressed when the client accepts it, whole or a line at a time.

Both servers answer requests whose body was not read to its end with ``lingering``.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Send

from engram_py.cloud.errors import CloudServerError, payload_of
from engram_py.errors import EngramError

# How long a body that is too large is taken, and forgotten, after the refusal.
LINGER_SECONDS = 2.0
NDJSON = "application/x-ndjson"
_PRIVATE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_COMPRESS_FROM_BYTES = 1_024
_LEVEL = 5
_GZIP = 31


def encoded(value: Any) -> bytes:
    # ASCII throughout: what comes back from a refused entry may be no UTF-8.
    return json.dumps(value, separators=(",", ":")).encode()


async def as_json(request: Request, body: bytes, *, status: int = 200) -> Response:
    sent = {"Content-Type": "application/json", "Vary": "Accept-Encoding", **_PRIVATE}
    if len(body) >= _COMPRESS_FROM_BYTES and takes_gzip(request):
        body = await anyio.to_thread.run_sync(lambda: gzip.compress(body, _LEVEL, mtime=0))
        sent["Content-Encoding"] = "gzip"
    return Response(body, status, headers=sent)


def refusal(error: EngramError) -> Response:
    kind = error if isinstance(error, CloudServerError) else CloudServerError
    headers = {"Content-Type": "application/json", **_PRIVATE, **kind.headers}
    return Response(encoded(payload_of(error)), kind.status, headers=headers)


def takes_gzip(request: Request) -> bool:
    for given in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, quality = given.strip().partition(";")
        if name.strip() in ("gzip", "*"):
            return quality.replace(" ", "").partition("q=")[2].rstrip("0.") != "" or "q=" not in quality
    return False


def ndjson_response(request: Request, lines: AsyncIterator[bytes]) -> Response:
    """Return a stream of lines. It breaks off where ``lines`` fails: without the last line it was not all."""
    headers = {"Content-Type": NDJSON, "Vary": "Accept-Encoding", **_PRIVATE}
    if takes_gzip(request):
        headers["Content-Encoding"] = "gzip"
        return StreamingResponse(_compressed(lines), headers=headers)
    return StreamingResponse(lines, headers=headers)


async def _compressed(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    async for piece in lines:
        yield await anyio.to_thread.run_sync(_compress, stream, piece)
    yield stream.flush()


def _compress(stream: Any, piece: bytes) -> bytes:
    packed: bytes = stream.compress(piece) + stream.flush(zlib.Z_SYNC_FLUSH)
    return packed


def lingering(receive: Receive, send: Send) -> Send:
    """Return a ``send`` that ends the response only after the rest of the request was read, or LINGER_SECONDS.

    A client that is cut off while it sends does not read the response.
    """

    async def answer(message: Message) -> None:
        if message["type"] != "http.response.body":
            await send(message)
            return
        await send({**message, "more_body": True})
        with anyio.move_on_after(LINGER_SECONDS):
            while (piece := await receive())["type"] == "http.request" and piece.get("more_body"):
                pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return answer


class Taken:
    """A ``receive`` that records whether the request was read to its end (``whole``)."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.whole = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self.whole = message["type"] != "http.request" or not message.get("more_body")
        return message
