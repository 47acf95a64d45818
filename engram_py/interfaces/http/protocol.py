"""HTTP/1.1 as uvicorn speaks it. What it cannot read reaches no route, and is refused in the shape of every other."""

from __future__ import annotations

import json
import sys
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from engram_py.interfaces.http.errors import HeadTooLargeError, NoHttpError, payload

# Who is still sending when the refusal goes out reads it only if the rest is taken for a moment.
LINGER_SECONDS = 2.0
_TOO_LARGE = 431


class Protocol(H11Protocol):
    """One connection."""

    # Of a request line and its headers: an address with a query of a megabyte, every byte of it percent-encoded.
    MOST_HEAD = 4 * 1024 * 1024
    _refused = False

    def data_received(self, data: bytes) -> None:
        if not self._refused:
            super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Called while the exception of h11 that says what is wrong is handled."""
        wrong = sys.exception()
        too_large = isinstance(wrong, h11.RemoteProtocolError) and wrong.error_status_hint == _TOO_LARGE
        error = HeadTooLargeError(self.MOST_HEAD) if too_large else NoHttpError()
        body = json.dumps(payload(error)).encode()
        headers = [("content-type", "application/json"), ("cache-control", "no-store"), ("connection", "close")]
        headers.append(("content-length", str(len(body))))
        start = h11.Response(status_code=error.status, headers=headers, reason=HTTPStatus(error.status).phrase.encode())
        for event in (start, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self._refused = True
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)
