"""HTTP/1.1 as uvicorn speaks it. What it cannot read reaches no route, and is refused in the shape of every other.

Whoever connects is read before Host and token are known, so what one connection, and all of them together, may make
the server hold is bounded here.
"""

from __future__ import annotations

import asyncio
import json
import sys
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
from engram_py.interfaces.http.head import MOST_PLAIN, Head

# Who is still sending when the refusal goes out reads it only if the rest is taken for a moment.
LINGER_SECONDS = 2.0
# From a head's first byte, of a new connection from its beginning.
HEAD_SECONDS = 10.0
MOST_CONNECTIONS = 256
# All heads that are not whole yet and are longer than usual, together.
MOST_LONG_HEADS = 32 * 1024 * 1024
_TOO_LARGE = 431


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
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        others = [one for one in self.connections if isinstance(one, Protocol)]
        if len(others) > 2 * MOST_CONNECTIONS:
            self._refused = True
            transport.abort()
        elif sum(not one._refused for one in others) > MOST_CONNECTIONS:
            self._refuse(ServerBusyError())
        else:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self.conn.their_state is h11.IDLE:
            self._expect_head()
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
        """The beginning of a head that was sent before the last answer: h11 has it already."""
        if not self._head.size and (ahead := self.conn.trailing_data[0]):
            self._ahead = True
            self._measure(ahead)

    def _measure(self, data: bytes) -> None:
        self._head.take(data)
        if self._head.whole:
            self._head_came()
        elif self._long > 0:
            long = sum(one._long for one in self.connections if isinstance(one, Protocol))
            if long > MOST_LONG_HEADS:
                raise ServerBusyError

    @property
    def _long(self) -> int:
        return 0 if self._refused or self._head.whole else max(0, self._head.size - MOST_PLAIN)

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _head_came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        if self._head.size:
            self._refuse(HeadTooSlowError(HEAD_SECONDS))
        else:
            self.transport.close()

    def _refuse(self, error: HttpError) -> None:
        self._head_came()
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
