"""What a server reads before it knows who asks: bounded for one connection and for all, in bytes and in time."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest
from starlette.types import Receive, Scope, Send

from engram_py.interfaces.http import loop, protocol
from engram_py.interfaces.http.errors import HeadTooLargeError
from engram_py.interfaces.http.loop import server_of
from engram_py.interfaces.http.protocol import MOST_HEADERS, MOST_PLAIN, Head

START = b"GET /here?q=1 HTTP/1.1\r\nHost: widgets\r\n"
ASKED = START + b"\r\n"
MANY = START + b"a: b\r\n" * MOST_HEADERS + b"\r\n"

Connect = Callable[[], socket.socket]


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers how long the query was."""
    if scope["type"] == "lifespan":
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})
        return
    body = str(len(scope["query_string"])).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(own: type[protocol.Protocol] | None = protocol.Protocol) -> Iterator[Connect]:
    """A server in this process; what it gives is connected to it until the end."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening, ExitStack() as opened:
        listens = threading.Event()
        server = server_of(application, started=listens.set, own=own)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        address = listening.getsockname()
        thread.start()
        assert listens.wait(30)
        try:
            yield lambda: opened.enter_context(closing(socket.create_connection(address, timeout=30)))
        finally:
            server.should_exit = True
            opened.close()
            thread.join(30)


@pytest.fixture
def connect() -> Iterator[Connect]:
    with serving() as found:
        yield found


def answered(asked: socket.socket) -> tuple[int, str]:
    """The status of one answer and its body."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = asked.recv(1)
        assert piece, answer
        answer += piece
    length = int(answer.lower().partition(b"content-length: ")[2].split()[0])
    body = b""
    while len(body) < length:
        body += asked.recv(length - len(body))
    return int(answer.split()[1]), body.decode()


def refused(asked: socket.socket) -> tuple[int, str]:
    """The status and the code of a refusal, having checked its shape and that the connection ends with it."""
    status, body = answered(asked)
    value = json.loads(body)
    assert set(value) == {"error", "code", "hint"}
    assert asked.recv(1) == b""
    return status, value["code"]


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(MANY, id="a-header-too-many"),
        pytest.param(START + b"a: b\r\n" * MOST_HEADERS, id="and-no-end"),
        pytest.param(START + b"a: " + b"b" * MOST_PLAIN, id="one-long-header"),
        pytest.param(b"GET /" + b"a" * MOST_PLAIN, id="a-path-without-an-end"),
        pytest.param(b"a" * (MOST_PLAIN + 1), id="no-method"),
    ],
)
def test_a_head_is_refused_as_soon_as_it_is_too_large(connect: Connect, sent: bytes) -> None:
    asked = connect()
    asked.sendall(sent)

    assert refused(asked) == (431, "head_too_large")


def test_a_hundred_headers_and_a_long_query_are_read_in_any_pieces(connect: Connect) -> None:
    head = b"GET /?" + b"q" * 300_000 + b" HTTP/1.1\r\nHost: widgets\r\n" + b"a: b\r\n" * (MOST_HEADERS - 1) + b"\r\n"
    asked = connect()
    for start in range(0, len(head), 9_999):
        asked.sendall(head[start : start + 9_999])

    assert answered(asked) == (200, "300000")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_a_head_is_measured_alike_however_it_is_cut(size: int, end: bytes) -> None:
    head, text = Head(), MANY.replace(b"a: b\r\n", b"", 1).replace(b"\r\n", end)
    for start in range(0, len(text), size):
        assert not head.whole
        head.take(text[start : start + size])
    assert (head.whole, head.size) == (True, len(text))

    head, pieces = Head(), (MANY[start : start + size] for start in range(0, len(MANY), size))
    with pytest.raises(HeadTooLargeError):
        deque(map(head.take, pieces))


def test_requests_sent_ahead_are_answered_in_turn_and_measured_too(connect: Connect) -> None:
    asked = connect()
    asked.sendall(ASKED * 3 + START)
    assert [answered(asked) for _ in range(3)] == [(200, "3")] * 3
    asked.sendall(b"\r\n")
    assert answered(asked) == (200, "3")

    asked.sendall(ASKED + MANY)
    assert answered(asked) == (200, "3")
    assert refused(asked) == (431, "head_too_large")


def test_who_does_not_end_a_head_is_told_and_who_sends_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.05)
    with serving() as connect:
        slow, silent = connect(), connect()
        slow.sendall(START)
        assert refused(slow) == (408, "head_too_slow")
        assert silent.recv(1) == b""


def test_the_teams_server_lets_go_who_sends_nothing_or_no_whole_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SILENT_SECONDS", 0.1)
    with serving(None) as connect:
        silent, slow, served = connect(), connect(), connect()
        slow.sendall(START)
        served.sendall(ASKED)
        assert answered(served) == (200, "3")
        assert (silent.recv(1), slow.recv(1)) == (b"", b"")


def test_a_connection_too_many_is_told_and_another_may_come_when_one_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MOST_CONNECTIONS", 2)
    with serving() as connect:
        first, second = connect(), connect()
        first.sendall(ASKED)
        assert answered(first) == (200, "3")
        assert refused(connect()) == (503, "server_busy")

        second.sendall(b"no request\r\n\r\n")
        assert refused(second) == (400, "no_http")
        third = connect()
        third.sendall(ASKED)
        assert answered(third) == (200, "3")


def test_long_heads_together_are_bounded_and_short_ones_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MOST_LONG_HEADS", 200_000)
    long = b"GET /?" + b"q" * 200_000
    with serving() as connect:
        first, second, third = connect(), connect(), connect()
        first.sendall(long)
        second.sendall(long)
        ended, _, _ = select.select([first, second], [], [], 30)
        third.sendall(ASKED)
        assert answered(third) == (200, "3")
        assert {refused(one) for one in ended} == {(503, "server_busy")}


def test_the_size_of_a_chunk_has_an_end(connect: Connect) -> None:
    asked = connect()
    asked.sendall(START.replace(b"GET", b"POST") + b"Transfer-Encoding: chunked\r\n\r\n")
    assert answered(asked) == (200, "3")
    asked.sendall(b"1;" + b"x" * (2 * MOST_PLAIN))
    with suppress(ConnectionResetError):
        assert asked.recv(1) == b""
