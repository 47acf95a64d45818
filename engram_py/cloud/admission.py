"""Admission control: limits on concurrent requests, overall and for each account, and on the size of a body."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from starlette.requests import Request

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
    claimed = request.headers.get("content-length", "")
    if claimed.isdecimal() and int(claimed[:20]) > limit:
        raise PushTooLargeError("bytes", limit)
    body: _Plain | _Decompressed = _Decompressed(limit) if _is_compressed(request) else _Plain(limit)
    try:
        with anyio.fail_after(BODY_SECONDS):
            async for piece in request.stream():
                body.add(piece)
    except TimeoutError as exc:
        raise RequestTimeoutError(BODY_SECONDS) from exc
    return body.whole()


def _is_compressed(request: Request) -> bool:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", ""):
        raise UnsupportedEncodingError(encoding)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return encoding.endswith("gzip") or kind == ENVELOPE


class _Plain:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            raise PushTooLargeError("bytes", self._limit)
        self._pieces.append(piece)

    def whole(self) -> bytes:
        return b"".join(self._pieces)


class _Decompressed(_Plain):
    """A body that is decompressed piece by piece as it arrives, within the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._stream = zlib.decompressobj(_GZIP)

    def add(self, piece: bytes) -> None:
        try:
            full = True
            while piece or full:  # zlib may hold back what did not fit
                if self._stream.eof and piece:  # gzip files may follow each other
                    self._stream = zlib.decompressobj(_GZIP)
                out = self._stream.decompress(piece, _PIECE)
                super().add(out)
                full = len(out) == _PIECE
                piece = self._stream.unconsumed_tail or self._stream.unused_data
        except zlib.error as exc:
            raise InvalidBodyError("it is not gzip") from exc

    def whole(self) -> bytes:
        if not self._stream.eof:
            raise InvalidBodyError("its gzip ends too early")
        return super().whole()
