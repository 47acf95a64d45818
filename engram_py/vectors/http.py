"""One bounded exchange over HTTP: no redirect is followed, no proxy asked, no answer read without an end."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

_SHOWN_CHARS = 200


class WireError(Exception):
    """The exchange failed; the text says how."""


def post_json(
    url: str, body: Mapping[str, Any], *, headers: Mapping[str, str], seconds: float, most_bytes: int
) -> object:
    """What the server answered to a POST, parsed, within ``seconds`` in all.

    Raises WireError when there is no connection, no answer in time, another status than 200, more than
    ``most_bytes``, or no JSON.
    """
    deadline = time.monotonic() + seconds
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=seconds)
    told = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close", **headers}
    try:
        connection.connect()
        with _ended_at(deadline, connection.sock):
            connection.request("POST", parts.path, json.dumps(body).encode(), told)
            with contextlib.closing(connection.getresponse()) as response:
                status, answer = response.status, _read(response, most_bytes)
    except (OSError, http.client.HTTPException, ValueError) as exc:
        if isinstance(exc, TimeoutError) or time.monotonic() >= deadline:
            raise WireError(f"no answer within {seconds:g} s") from exc
        raise WireError(str(exc) or type(exc).__name__) from exc
    finally:
        connection.close()
    if status != http.client.OK:
        raise WireError(f"status {status}{_said(answer)}")
    try:
        return json.loads(answer)
    except (ValueError, RecursionError) as exc:
        raise WireError("the answer is not JSON") from exc


@contextmanager
def _ended_at(deadline: float, connected: socket.socket) -> Iterator[None]:
    """Hang up at the deadline: a socket's own timeout starts anew with every byte that drips in."""

    def hang_up() -> None:
        with contextlib.suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
        if time.monotonic() >= deadline:
            raise TimeoutError
    finally:
        timer.cancel()


def _read(response: http.client.HTTPResponse, most_bytes: int) -> bytes:
    answer = response.read(most_bytes + 1)
    if len(answer) > most_bytes:
        raise WireError(f"the answer is longer than {most_bytes:,} bytes")
    return answer


def _said(answer: bytes) -> str:
    """What the server says of the failure, as one short line."""
    text = " ".join(answer[: 4 * _SHOWN_CHARS].decode("utf-8", "replace").split())
    shown = "".join(c for c in text if c.isprintable())[:_SHOWN_CHARS]
    return f": {shown}" if shown else ""
