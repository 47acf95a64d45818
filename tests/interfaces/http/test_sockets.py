"""How many connections a server takes: all together, from one address, and when no descriptor is left."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from engram_py.interfaces.http import sockets
from engram_py.interfaces.http.sockets import BoundedSocket, most_connections

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="limits of descriptors are POSIX")


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> Iterator[BoundedSocket]:
    monkeypatch.setattr(sockets, "most_connections", lambda: 4)
    with closing(BoundedSocket(socket.AF_INET, socket.SOCK_STREAM)) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen(64)
        bound.setblocking(False)
        yield bound


def connected(listening: socket.socket, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(listening.getsockname(), timeout=10, source_address=(source, 0))


@contextmanager
def without_descriptors() -> Iterator[None]:
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_who_comes_too_often_is_turned_away_and_may_come_when_one_goes(
    listening: BoundedSocket, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as open_ones:
        clients = [open_ones.enter_context(connected(listening)) for _ in range(10)]
        taken = [open_ones.enter_context(listening.accept()[0]) for _ in range(3)]
        with pytest.raises(BlockingIOError):
            listening.accept()
        assert [client.recv(1) for client in clients[3:]] == [b""] * 7
        assert [record.levelno for record in caplog.records] == [logging.ERROR]  # one line for all of them

        taken[0].close()
        taken[0].close()
        open_ones.enter_context(connected(listening))
        open_ones.enter_context(listening.accept()[0])


@pytest.mark.skipif(sys.platform == "darwin", reason="127.0.0.2 is not set up there")
def test_one_address_leaves_room_for_another(listening: BoundedSocket) -> None:
    with ExitStack() as open_ones:
        for _ in range(5):
            open_ones.enter_context(connected(listening))
        mine = open_ones.enter_context(connected(listening, "127.0.0.2"))
        for _ in range(3):
            open_ones.enter_context(listening.accept()[0])
        taken, address = listening.accept()
        with taken:
            assert address == mine.getsockname()


def test_the_machines_of_one_network_of_ipv6_are_one_source() -> None:
    assert sockets._source(("2001:db8::1", 1, 0, 0)) == sockets._source(("2001:db8::2%eth0", 2, 0, 0))
    assert sockets._source(("2001:db8::1", 1, 0, 0)) != sockets._source(("2001:db8:0:1::1", 1, 0, 0))
    assert sockets._source("") == sockets._source(b"")


@POSIX
def test_without_a_descriptor_who_waits_is_turned_away_and_the_log_has_one_line(
    listening: BoundedSocket, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as open_ones:
        clients = [open_ones.enter_context(connected(listening)) for _ in range(5)]
        with without_descriptors(), pytest.raises(BlockingIOError):
            listening.accept()
        assert [client.recv(1) for client in clients] == [b""] * 5
        assert len(caplog.records) == 1
        open_ones.enter_context(connected(listening))
        open_ones.enter_context(listening.accept()[0])


@POSIX
def test_the_bound_leaves_half_of_the_descriptors_for_the_work() -> None:
    import resource

    assert most_connections() <= resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a connection is")


@LINUX
@pytest.mark.parametrize(("bound", "client"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"),
                                               ("127.0.0.1", "::ffff:127.0.0.1")])  # fmt: skip
def test_the_kernel_says_that_a_connection_is_this_users_until_it_is_closed(bound: str, client: str) -> None:
    with socket.create_server((bound, 0), family=socket.AF_INET6 if ":" in bound else socket.AF_INET) as listening:
        asking = socket.create_connection((client, listening.getsockname()[1]), timeout=10)
        with listening.accept()[0] as ours:
            assert sockets.is_of_this_user(ours)
            asking.sendall(b"x")
            asking.close()  # its line in the kernel's table says user 0 now, who is no owner
            assert not sockets.is_of_this_user(ours)
            assert ours.recv(1) == b"x"


@LINUX
def test_a_unix_socket_is_nobodys_by_the_kernels_table() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert not sockets.is_of_this_user(ours)
