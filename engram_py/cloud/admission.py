"""Admission control: limits on concurrent requests, overall and for each account, and on the size of a body."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial

import anyio
from starlette.requests import Request

from engram_py import asgi
from engram_py.cloud.errors import (
    InvalidBodyError,
    PushTooLargeError,
    RequestTimeoutError,
    TooBusyError,
    UnsupportedEncodingError,
)

MOST_REQUESTS = 64
MOST_REQUESTS_EACH = 16
BODY_SECONDS = 60.0

# What Engram sends its chunks as: gzip by the media type, not by an encoding.
ENVELOPE = "application/vnd.engram.sync+gzip"
ENVELOPE_TYPE = f"{ENVELOPE}; version=1"

_GZIP = 31  # zlib's window bits of a stream with gzip's header
_PIECE = 64 * 1024


class Gate:
    """Counts the requests in progress, and refuses one too many at once instead of queueing it."""

    def __init__(self, most: int = MOST_REQUESTS, most_each: int = MOST_REQUESTS_EACH) -> None:
        self._most = most
        self._most_each = most_each
        self._each: Counter[int] = Counter()
        self.inside = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Raises TooBusyError."""
        if self.inside >= self._most:
            raise TooBusyError("the server")
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1

    @contextmanager
    def enter_as(self, principal_id: int) -> Iterator[None]:
        """Count a request of one account, so that it does not keep others out. Raises TooBusyError."""
        if self._each[principal_id] >= self._most_each:
            raise TooBusyError("this account")
        self._each[principal_id] += 1
        try:
            yield
        finally:
            self._each[principal_id] -= 1
            if not self._each[principal_id]:
                del self._each[principal_id]


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body, unpacked, and no more of it than ``limit`` whatever it claims.

    Raises PushTooLargeError, InvalidBodyError, UnsupportedEncodingError, RequestTimeoutError.
    """
    unpack = _decompressed if _is_compressed(request) else None
    try:
        with anyio.fail_after(BODY_SECONDS):
            return await asgi.read_body(request, limit, partial(PushTooLargeError, "bytes"), unpack)
    except TimeoutError as exc:
        raise RequestTimeoutError(BODY_SECONDS) from exc


def _is_compressed(request: Request) -> bool:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", ""):
        raise UnsupportedEncodingError(encoding)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return encoding.endswith("gzip") or kind == ENVELOPE


async def _decompressed(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a body that is decompressed piece by piece as it arrives."""
    stream = zlib.decompressobj(_GZIP)
    async for packed in pieces:
        piece, full = packed, True
        while piece or full:  # zlib may hold back what did not fit
            if stream.eof and piece:  # gzip files may follow each other
                stream = zlib.decompressobj(_GZIP)
            try:
                out = stream.decompress(piece, _PIECE)
            except zlib.error as exc:
                raise InvalidBodyError("it is not gzip") from exc
            yield out
            full = len(out) == _PIECE
            piece = stream.unconsumed_tail or stream.unused_data
    if not stream.eof:
        raise InvalidBodyError("its gzip ends too early")
