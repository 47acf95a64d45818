"""A server whose client is gone ends, although its stdin never closes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engram_py.interfaces.mcp.lifetime import IDLE_SECONDS, Client
from tests.interfaces.mcp.agent import INITIALIZE, INITIALIZED, as_line, sessions, tool_call

NOT_ON_WINDOWS = pytest.mark.skipif(sys.platform == "win32", reason="a process keeps its parent there")


class Processes:
    """The process that started this one, and the one above it."""

    def __init__(self) -> None:
        self.parent, self.above, self.now, self.asked_at = 70, 60, 0.0, 0.0

    def client(self) -> Client:
        return Client(
            lambda: self.asked_at, parent=lambda: self.parent, parent_of=lambda _: self.above, clock=lambda: self.now
        )


@NOT_ON_WINDOWS
def test_a_client_is_gone_when_this_process_has_another_parent() -> None:
    processes = Processes()
    client = processes.client()
    assert not client.is_gone()

    processes.parent = 1

    assert client.is_gone()


@NOT_ON_WINDOWS
def test_a_launcher_that_was_left_behind_counts_as_gone_once_it_is_idle() -> None:
    processes = Processes()
    client = processes.client()
    processes.now = 2 * IDLE_SECONDS
    assert not client.is_gone()  # a client may be quiet as long as it lives

    processes.above = 1
    processes.asked_at = processes.now - 1
    assert not client.is_gone()

    processes.now += IDLE_SECONDS
    assert client.is_gone()


STARTS = """
import os, subprocess, sys
server = subprocess.Popen([sys.executable, "-m", "engram_py", "mcp"], stdin=int(sys.argv[1]))
print(server.pid, flush=True)
sys.stdin.readline()
os._exit(0)
"""


@NOT_ON_WINDOWS
def test_a_server_ends_with_its_client_while_another_process_holds_the_pipe(here: Path, data_dir: Path) -> None:
    reads, writes = os.pipe()
    client = subprocess.Popen(
        [sys.executable, "-c", STARTS, str(reads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[reads]
    )
    assert client.stdin is not None
    assert client.stdout is not None
    int(client.stdout.readline())
    os.close(reads)
    for message in (INITIALIZE, INITIALIZED, tool_call(1, "mem_save", title="Chose uv", content="Fast.")):
        os.write(writes, as_line(message))
    assert [b'"id":' in client.stdout.readline() for _ in range(2)] == [True, True]

    client.stdin.write(b"\n")
    client.stdin.close()

    assert client.stdout.read() == b""  # the server wrote to it as well, so this is its end
    assert client.wait(60) == 0
    client.stdout.close()
    os.close(writes)
    [(_, ended)] = sessions(data_dir)
    assert ended is not None
