"""What a server reads before it knows who asks: bounded for one connection and for all, in bytes and in time.

Each fault that ``Protocol`` is there for is looked for with uvicorn's own class too, set to read as long an address:
the test must fail there. When it passes, uvicorn has learnt it, and ours need not know it.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import h11
import pytest
from starlette.types import Receive, Scope, Send

from engram_py.interfaces.http import protocol
from engram_py.interfaces.http.errors import HeadTooLargeError
from engram_py.interfaces.http.protocol import MOST_HEADERS, MOST_PLAIN, MOST_QUERY_LINE, Head, Protocol
from engram_py.interfaces.http.uvicorn_server import server_of

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
def serving(own: type[Protocol] | None, keep_alive: int = 5) -> Iterator[Connect]:
    """A server in this process; what it gives is connected to it until the end."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening, ExitStack() as opened:
        listens = threading.Event()
        server = server_of(application, started=listens.set, own=own)
        server.config.timeout_keep_alive = keep_alive
        if own is None:
            server.config.h11_max_incomplete_event_size = MOST_QUERY_LINE + 2 * MOST_PLAIN
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        address, patience = listening.getsockname(), 30 if own else 2
        thread.start()
        assert listens.wait(30)
        try:
            yield lambda: opened.enter_context(closing(socket.create_connection(address, timeout=patience)))
        finally:
            server.should_exit = True
            opened.close()
            thread.join(30)


EITHER = [Protocol, None]
FAULT = pytest.mark.xfail(
    strict=True, raises=(AssertionError, TimeoutError, ConnectionError), reason="uvicorn's own class does not"
)
OURS = [Protocol, pytest.param(None, marks=FAULT)]
either = pytest.mark.parametrize("own", EITHER, ids=["ours", "plain"])
ours = pytest.mark.parametrize("own", OURS, ids=["ours", "plain"])


@pytest.fixture
def connect(own: type[Protocol] | None) -> Iterator[Connect]:
    with serving(own) as found:
        yield found


def answered(asked: socket.socket) -> tuple[int, str]:
    """The status of one answer and its body."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = asked.recv(1)
        assert piece, answer
        answer += piece
    assert b"content-length: " in answer.lower(), answer
    length = int(answer.lower().partition(b"content-length: ")[2].split()[0])
    body = b""
    while len(body) < length:
        body += asked.recv(length - len(body))
    return int(answer.split()[1]), body.decode()


def refused(asked: socket.socket) -> tuple[int, str]:
    """The status and the code of a refusal, having checked its shape and that the connection ends with it."""
    status, body = answered(asked)
    value = json.loads(body)
    assert isinstance(value, dict), body
    assert set(value) == {"error", "code", "hint"}
    assert asked.recv(1) == b""
    return status, value["code"]


@ours
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(MANY, id="a-header-too-many"),
        pytest.param(START + b"a: b\r\n" * MOST_HEADERS, id="and-no-end"),
        pytest.param(START + b"a: " + b"b" * MOST_PLAIN, id="one-long-header"),
        pytest.param(b"GET /" + b"a" * MOST_PLAIN, id="a-path-without-an-end"),
        pytest.param(b"a" * (MOST_PLAIN + 1), id="no-method"),
        pytest.param(b"GET /?" + b"q" * 8 * MOST_QUERY_LINE, id="and-much-more-is-sent"),
    ],
)
def test_a_head_is_refused_as_soon_as_it_is_too_large(connect: Connect, sent: bytes) -> None:
    asked = connect()
    asked.sendall(sent)

    assert refused(asked) == (431, "head_too_large")


@ours
def test_what_is_no_http_is_refused_in_the_shape_of_every_refusal(connect: Connect) -> None:
    asked = connect()
    asked.sendall(b"no request\r\n\r\n")
    assert refused(asked) == (400, "no_http")


@ours
def test_a_million_headers_do_not_hold_up_the_others(connect: Connect) -> None:
    head = START + b"a:\r\n" * 1_000_000 + b"\r\n"
    began, reader = time.monotonic(), h11.Connection(h11.SERVER, len(head))
    reader.receive_data(head)
    assert isinstance(reader.next_event(), h11.Request)
    all_of_it = time.monotonic() - began

    many, other = connect(), connect()
    asking = threading.Thread(target=ask, args=(many, head))
    asking.start()
    longest = 0.0
    while asking.is_alive():
        longest = max(longest, seconds_of(other))
    assert longest < all_of_it / 2


def ask(asked: socket.socket, data: bytes) -> None:
    with suppress(OSError):
        asked.sendall(data)
        asked.recv(1)


def seconds_of(asked: socket.socket) -> float:
    began = time.monotonic()
    asked.sendall(ASKED)
    assert answered(asked) == (200, "3")
    return time.monotonic() - began


@either
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


@ours
def test_requests_sent_ahead_are_answered_in_turn_and_measured_too(connect: Connect) -> None:
    asked = connect()
    asked.sendall(ASKED * 3 + START)
    assert [answered(asked) for _ in range(3)] == [(200, "3")] * 3
    asked.sendall(b"\r\n")
    assert answered(asked) == (200, "3")

    asked.sendall(ASKED + MANY)
    assert answered(asked) == (200, "3")
    assert refused(asked) == (431, "head_too_large")


@either
def test_a_head_that_comes_with_the_end_of_a_body_is_read(connect: Connect) -> None:
    asked = connect()
    asked.sendall(START.replace(b"GET", b"POST") + b"Content-Length: 4\r\n\r\n")
    assert answered(asked) == (200, "3")
    asked.sendall(b"body" + START)
    time.sleep(0.1)
    asked.sendall(b"\r\n")
    assert answered(asked) == (200, "3")


@either
def test_a_head_that_began_may_take_longer_than_the_time_between_two(own: type[Protocol] | None) -> None:
    with serving(own, keep_alive=1) as connect:
        asked = connect()
        asked.sendall(ASKED)
        assert answered(asked) == (200, "3")
        asked.sendall(START)
        time.sleep(1.5)
        asked.sendall(b"\r\n")
        assert answered(asked) == (200, "3")


@ours
def test_who_does_not_end_a_head_is_told(monkeypatch: pytest.MonkeyPatch, own: type[Protocol] | None) -> None:
    monkeypatch.setattr("engram_py.interfaces.http.uvicorn_server.HEAD_SECONDS", 0.1)
    with serving(own) as connect:
        slow = connect()
        slow.sendall(START)
        assert refused(slow) == (408, "head_too_slow")


@either
@pytest.mark.parametrize("served", [0, 1, 2])
def test_who_sends_nothing_or_no_whole_head_is_let_go(
    monkeypatch: pytest.MonkeyPatch, own: type[Protocol] | None, served: int
) -> None:
    monkeypatch.setattr("engram_py.interfaces.http.uvicorn_server.HEAD_SECONDS", 0.1)
    with serving(own) as connect:
        silent, slow, good = connect(), connect(), connect()
        for _ in range(served):
            slow.sendall(ASKED)
            assert answered(slow) == (200, "3")
        slow.sendall(START)
        good.sendall(ASKED)
        assert answered(good) == (200, "3")
        for one in (silent, slow):
            one.settimeout(20)
            while one.recv(1_000):
                pass


@ours
def test_long_heads_together_are_bounded_and_short_ones_go_on(
    monkeypatch: pytest.MonkeyPatch, own: type[Protocol] | None
) -> None:
    monkeypatch.setattr(protocol, "MOST_LONG_HEADS", 200_000)
    long = b"GET /?" + b"q" * 200_000
    with serving(own) as connect:
        first, second, third = connect(), connect(), connect()
        first.sendall(long)
        second.sendall(long)
        ended, _, _ = select.select([first, second], [], [], 30 if own else 2)
        third.sendall(ASKED)
        assert answered(third) == (200, "3")
        assert {refused(one) for one in ended} == {(503, "server_busy")}


@ours
def test_the_size_of_a_chunk_has_an_end(connect: Connect) -> None:
    asked = connect()
    asked.sendall(START.replace(b"GET", b"POST") + b"Transfer-Encoding: chunked\r\n\r\n")
    assert answered(asked) == (200, "3")
    asked.sendall(b"1;" + b"x" * (2 * MOST_PLAIN))
    with suppress(ConnectionResetError):
        assert asked.recv(1) == b""
