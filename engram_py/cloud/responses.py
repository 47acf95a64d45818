"""HTTP responses: JSON, compressed when the client accepts it, whole or a line at a time."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from engram_py.asgi import PRIVATE, encoded
from engram_py.cloud.errors import CloudServerError, payload_of
from engram_py.errors import EngramError

NDJSON = "application/x-ndjson"
_COMPRESS_FROM_BYTES = 1_024
_LEVEL = 5
_GZIP = 31


async def as_json(request: Request, body: bytes, *, status: int = 200) -> Response:
    sent = {"Content-Type": "application/json", "Vary": "Accept-Encoding", **PRIVATE}
    if len(body) >= _COMPRESS_FROM_BYTES and takes_gzip(request):
        body = await anyio.to_thread.run_sync(lambda: gzip.compress(body, _LEVEL, mtime=0))
        sent["Content-Encoding"] = "gzip"
    return Response(body, status, headers=sent)


def refusal(error: EngramError) -> Response:
    kind = error if isinstance(error, CloudServerError) else CloudServerError
    headers = {"Content-Type": "application/json", **PRIVATE, **kind.headers}
    return Response(encoded(payload_of(error)), kind.status, headers=headers)


def takes_gzip(request: Request) -> bool:
    for given in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, quality = given.strip().partition(";")
        if name.strip() in ("gzip", "*"):
            return quality.replace(" ", "").partition("q=")[2].rstrip("0.") != "" or "q=" not in quality
    return False


def ndjson_response(request: Request, lines: AsyncIterator[bytes]) -> Response:
    """Return a stream of lines. It breaks off where ``lines`` fails: without the last line it was not all."""
    headers = {"Content-Type": NDJSON, "Vary": "Accept-Encoding", **PRIVATE}
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
