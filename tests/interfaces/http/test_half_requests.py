"""Connections that never finish their request: they are closed in time, and leave room for whoever else asks."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from engram_py.interfaces.http import server as http_server

HEAD = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
WHOLE = HEAD + b"Connection: close\r\n\r\nbody"


async def echo(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await PlainTextResponse(await Request(scope, receive).body())(scope, receive, send)
        return
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})


@pytest.fixture
def port() -> Iterator[int]:
    """A server of this process."""
    server = http_server.server_of(echo)
    with http_server.listen("127.0.0.1", 0, None) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening.socket]})
        thread.start()
        yield listening.socket.getsockname()[1]
        server.should_exit = True
        thread.join()


def connect(port: int, sent: bytes = b"") -> socket.socket:
    found = socket.create_connection(("127.0.0.1", port), timeout=60)
    found.sendall(sent)
    return found


def is_closed(connection: socket.socket) -> bool:
    """Wait until the other end closes the connection, with or without having read what was sent."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def answer(port: int) -> bytes:
    with connect(port, WHOLE) as asking:
        return asking.recv(1_000)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET /echo HTTP/1.1\r\nHost: x\r\nX", id="half-a-head"),
        pytest.param(HEAD + b"\r\nbo", id="half-a-body"),
    ],
)
def test_half_a_request_is_closed_when_nothing_more_comes_in_time(
    port: int, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(http_server, "HALF_REQUEST_SECONDS", 0.05)

    with connect(port, sent) as half:
        assert is_closed(half)
    assert answer(port).startswith(b"HTTP/1.1 200")


def test_one_address_holds_a_share_and_the_connection_that_waits_longest_makes_room(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "MOST_WAITING", 3)

    with ExitStack() as stack:
        halves = [stack.enter_context(connect(port, b"GET /echo HTTP/1.1\r\nX")) for _ in range(5)]
        assert all(map(is_closed, halves[:2]))
        assert answer(port).startswith(b"HTTP/1.1 200")  # which makes the third go
        halves[-1].sendall(b": y\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert halves[-1].recv(1_000).startswith(b"HTTP/1.1 200")


def test_a_body_that_comes_in_pieces_is_waited_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(port, HEAD + b"Connection: close\r\n\r\n") as slow:
        for piece in (b"b", b"o", b"d", b"y"):
            slow.sendall(piece)
        assert slow.recv(1_000).startswith(b"HTTP/1.1 200")
        assert not http_server.HttpConnection._waiting
