"""HTTP/1.1 as uvicorn speaks it. What it cannot read reaches no route, and is refused in the shape of every other.

Whoever connects is read before Host and token are known. uvicorn has one setting for what of a request is unfinished.
Set to what a long address needs (4 MiB), it lets headers and the size of a chunk be as long; a million short headers
hold up the loop for a second and a half, and all connections together may hold gigabytes. What uvicorn refuses it
refuses in plain text, and a slow head without a word. ``tests/interfaces/http/test_heads.py`` runs each test of this
with uvicorn's own class too, where it must fail. How many connections there are is bounded by ``accepting``, how long a
head takes by ``loop``, for both classes.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from functools import cache, partial
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from engram_py.interfaces.http.errors import (
    HeadTooLargeError,
    HeadTooSlowError,
    HttpError,
    NoHttpError,
    ServerBusyError,
    payload,
)
from engram_py.interfaces.http.sockets import is_of_this_user

# Who is still sending when the refusal goes out reads it only if the rest is taken for a moment.
LINGER_SECONDS = 2.0
# All heads that are not whole yet and are longer than usual, together.
MOST_LONG_HEADS = 32 * 1024 * 1024
_TOO_LARGE = 431

# A query of a megabyte with every byte of it percent-encoded.
MOST_QUERY_LINE = 4 * 1024 * 1024
MOST_PLAIN = 64 * 1024  # of a request line up to its question mark, and of all headers
MOST_HEADERS = 100
# In the state of a request: asks whether the kernel says that this user opened its connection.
OF_THIS_USER = "of_this_user"
_BLANK_LINE = re.compile(rb"\n\r?\n")


class Protocol(H11Protocol):
    """One connection."""

    # Of what h11 holds unfinished. It gets a head when it is whole, so this is for the sizes of chunks.
    MOST_UNREAD = MOST_PLAIN

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head = Head()
        self._held = bytearray()
        self._ahead = False
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Asked when somebody shows no secret, once for a connection: reading the kernel's table takes a while.
        self.app_state = self.app_state | {
            OF_THIS_USER: cache(partial(is_of_this_user, transport.get_extra_info("socket")))
        }

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self.conn.their_state is h11.IDLE:
            try:
                self._measure_ahead()
                self._measure(data)
            except HttpError as exc:
                self._refuse(exc)
                return
            if not self._ahead:
                self._held += data
                if not self._head.whole:
                    self._unset_keepalive_if_required()
                    return
                data, self._held = bytes(self._held), bytearray()
        super().data_received(data)

    def on_response_complete(self) -> None:
        self._head, self._ahead = Head(), False
        if self.conn.our_state is h11.DONE and self.conn.their_state is h11.DONE:
            try:
                self._measure_ahead()
            except HttpError as exc:
                self.conn.start_next_cycle()
                self._refuse(exc)
                return
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """uvicorn's, while the exception of h11 that says what is wrong is handled."""
        wrong = sys.exception()
        too_large = isinstance(wrong, h11.RemoteProtocolError) and wrong.error_status_hint == _TOO_LARGE
        self._refuse(HeadTooLargeError("one part", f"{MOST_PLAIN:,} bytes") if too_large else NoHttpError())

    def _measure_ahead(self) -> None:
        """Measure the beginning of a head that was sent before the last answer: h11 has it already."""
        if not self._head.size and (ahead := self.conn.trailing_data[0]):
            self._ahead = True
            self._measure(ahead)

    def _measure(self, data: bytes) -> None:
        self._head.take(data)
        if self._long > 0:
            long = sum(one._long for one in self.connections if isinstance(one, Protocol))
            if long > MOST_LONG_HEADS:
                raise ServerBusyError

    @property
    def _long(self) -> int:
        return 0 if self._refused or self._head.whole else max(0, self._head.size - MOST_PLAIN)

    def end_slow_head(self, seconds: float) -> None:
        """Refuse a head that was not whole in this time; who sent none of it is let go."""
        if self._head.size and not self._refused:
            self._refuse(HeadTooSlowError(seconds))
        else:
            self.transport.close()

    def _refuse(self, error: HttpError) -> None:
        body = json.dumps(payload(error)).encode()
        headers = [("content-type", "application/json"), ("cache-control", "no-store"), ("connection", "close")]
        headers.append(("content-length", str(len(body))))
        start = h11.Response(status_code=error.status, headers=headers, reason=HTTPStatus(error.status).phrase.encode())
        for event in (start, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self._refused = True
        self.conn, self._held = h11.Connection(h11.SERVER), bytearray()  # what was read is let go
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)


class Head:
    """One head. It looks at each byte once, however they are cut into pieces."""

    def __init__(self) -> None:
        self.whole = False
        self._line = self._headers = self._count = 0
        self._asks = self._named = False
        self._tail = b"\n"

    @property
    def size(self) -> int:
        return self._line + self._headers

    def take(self, data: bytes) -> None:
        """Count one more piece; what follows a whole head is not looked at. Raises HeadTooLargeError."""
        if not self._named:
            data = self._without_line(data)
        if self._named and not self.whole:
            self._take_headers(data)

    def _without_line(self, data: bytes) -> bytes:
        end = data.find(b"\n") + 1
        piece = data[:end] if end else data
        if not self._asks:
            plain = piece.find(b"?")
            if self._line + (len(piece) if plain < 0 else plain) > MOST_PLAIN:
                raise HeadTooLargeError("the address up to its question mark", f"{MOST_PLAIN:,} bytes")
            self._asks = plain >= 0
        self._line += len(piece)
        if self._line > MOST_QUERY_LINE:
            raise HeadTooLargeError("the address", f"{MOST_QUERY_LINE:,} bytes")
        self._named = bool(end)
        return data[end:]

    def _take_headers(self, data: bytes) -> None:
        before = len(self._tail)
        text = self._tail + data
        blank = _BLANK_LINE.search(text)
        end = blank.end() if blank else len(text)
        self.whole = blank is not None
        self._tail = text[-2:]
        self._headers += end - before
        self._count += text.count(b"\n", before, end)
        # The blank line is counted too.
        if self._headers > MOST_PLAIN or self._count - self.whole > MOST_HEADERS:
            raise HeadTooLargeError("the headers", f"{MOST_PLAIN:,} bytes and be {MOST_HEADERS}")
