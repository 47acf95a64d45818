"""What both servers run on: whose a connection is, and how much they log."""

from __future__ import annotations

import logging
import socket
import sys

import pytest

from engram_py.interfaces.http import server
from engram_py.interfaces.http.server import Seldom

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a connection is")


@LINUX
@pytest.mark.parametrize(("bound", "client"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"),
                                               ("127.0.0.1", "::ffff:127.0.0.1")])  # fmt: skip
def test_the_kernel_says_that_a_connection_is_this_users_until_it_is_closed(bound: str, client: str) -> None:
    with socket.create_server((bound, 0), family=socket.AF_INET6 if ":" in bound else socket.AF_INET) as listening:
        asking = socket.create_connection((client, listening.getsockname()[1]), timeout=10)
        with listening.accept()[0] as ours:
            assert server.is_of_this_user(ours)
            asking.sendall(b"x")
            asking.close()  # its line in the kernel's table says user 0 now, who is no owner
            assert not server.is_of_this_user(ours)
            assert ours.recv(1) == b"x"


@LINUX
def test_a_unix_socket_is_nobodys_by_the_kernels_table() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert not server.is_of_this_user(ours)


def test_a_line_that_repeats_is_logged_once_a_minute_with_how_often(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 1_000.0
    monkeypatch.setattr("engram_py.interfaces.http.server.time.monotonic", lambda: now)
    logger = logging.getLogger("of-this-test")
    logger.addFilter(Seldom())

    for minute in range(2):
        now += 60.0
        for number in range(1_000):
            logger.error("request %d failed", number + 1_000 * minute)
        logger.error("another line")

    assert [record.getMessage() for record in caplog.records] == [
        "request 0 failed",
        "another line",
        "request 1000 failed (999 more since the last such line)",
        "another line",
    ]
