"""How the server process ends: at once when stdin closes, with every request answered and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest

from engram_py.errors import EngramError
from engram_py.interfaces.mcp import stdio
from tests.interfaces.mcp.agent import (
    INITIALIZE,
    INITIALIZED,
    as_line,
    close,
    exchange,
    rows,
    sessions,
    start_server,
    talk,
    tool_call,
)

NOT_ON_WINDOWS = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups are POSIX")


def left_behind(server: subprocess.Popen[bytes]) -> bool:
    """Whether a process lives in the server's process group, itself or a child."""
    try:
        os.killpg(server.pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_every_request_is_answered_although_stdin_closes_at_once(folder: Path, data_dir: Path) -> None:
    saves = [tool_call(number, "mem_save", title=f"Fact {number}", content=f"Body {number}.") for number in range(100)]

    answered = exchange(folder, saves)

    assert (answered.status, answered.log) == (0, "")
    assert sorted(one["id"] for one in answered.answers if one["id"] != "start") == list(range(100))
    assert all(one["result"].get("isError", False) is False for one in answered.answers)
    assert rows(data_dir)["observations"] == 100
    [(agent, ended)] = sessions(data_dir)
    assert (agent, ended is not None) == ("raw-lines", True)


@NOT_ON_WINDOWS
def test_nothing_is_left_behind(folder: Path, data_dir: Path) -> None:
    server = start_server(folder)
    talk(server, INITIALIZE, INITIALIZED, tool_call(1, "mem_save", title="Chose uv", content="Fast."))
    assert left_behind(server)

    assert close(server) == ""

    assert server.returncode == 0
    assert not left_behind(server)
    assert [path.name for path in data_dir.iterdir() if path.name.startswith("engram.db")] == ["engram.db"]


def test_a_call_that_waits_for_another_process_does_not_keep_the_server_alive(folder: Path, data_dir: Path) -> None:
    exchange(folder, [tool_call(1, "mem_save", title="Chose uv", content="Fast.")])
    other = sqlite3.connect(data_dir / "engram.db", isolation_level=None)
    other.execute("begin immediate")
    server = start_server(folder)
    try:
        talk(server, INITIALIZE, INITIALIZED)
        assert server.stdin is not None
        server.stdin.write(as_line(tool_call(2, "mem_save", title="Chose ruff", content="Fast too.")))
        server.stdin.close()

        # A writer asks for the lock for half a minute; the server is gone before.
        assert server.wait(timeout=20) == 0
    finally:
        other.execute("rollback")
        other.close()
        close(server)
    assert rows(data_dir)["observations"] == 1


class Memory:
    """A memory that is opened when somebody says so."""

    opened = None

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.opens = threading.Event()
        self.used = 0

    def use(self, agent: str) -> NoReturn:
        self.used += 1
        self.asked.set()
        assert self.opens.wait(60)
        raise EngramError("not open", hint="say so")


def lines(memory: Memory, *messages: dict[str, Any]) -> Iterator[str]:
    """The messages, each after the first when the first is at work."""
    for number, message in enumerate((INITIALIZE, INITIALIZED, *messages)):
        if number == 3:
            assert memory.asked.wait(60)
        yield json.dumps(message)


def served(memory: Memory, *messages: dict[str, Any]) -> list[object]:
    """The ids of what was answered until the connection ended."""
    reads, writes = os.pipe()
    stdio.StdioClient(("mem_stats",), cast("Any", memory), writes).serve(lines(memory, *messages))
    os.close(writes)
    with os.fdopen(reads, encoding="utf-8") as answers:
        return [json.loads(line)["id"] for line in answers]


def test_a_cancelled_request_is_neither_waited_for_nor_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "DRAIN_SECONDS", 3_600.0)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    memory = Memory()

    answered = served(memory, tool_call(1, "mem_stats"), cancel, {"jsonrpc": "2.0", "id": 2, "method": "ping"})

    assert answered == ["start", 2]
    memory.opens.set()


def test_a_request_that_was_cancelled_before_its_turn_is_not_begun() -> None:
    memory = Memory()
    calls = [tool_call(number, "mem_stats") for number in range(stdio.WORKERS)]
    late = tool_call("late", "mem_save", title="Never", content="begun")
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "late"}}
    threading.Timer(0.3, memory.opens.set).start()

    answered = served(memory, *calls, late, cancel)

    assert sorted(map(str, answered)) == [*map(str, range(stdio.WORKERS)), "start"]


def test_what_was_not_begun_when_a_signal_came_is_not_begun_after_it() -> None:
    memory = Memory()
    reads, writes = os.pipe()
    connection = stdio.StdioClient(("mem_stats",), cast("Any", memory), writes)

    def lines_and_a_signal() -> Iterator[str]:
        yield from lines(memory, *(tool_call(number, "mem_stats") for number in range(2 * stdio.WORKERS)))
        while memory.used < stdio.WORKERS:
            time.sleep(0.01)
        connection.stop()

    connection.serve(lines_and_a_signal())
    assert connection.busy
    memory.opens.set()
    deadline = time.monotonic() + 60
    while connection.busy and time.monotonic() < deadline:
        time.sleep(0.01)

    assert memory.used == stdio.WORKERS
    os.close(writes)
    with os.fdopen(reads, encoding="utf-8") as answers:
        assert len(answers.readlines()) == 1 + stdio.WORKERS  # the handshake, and what was at work


def test_a_ping_is_answered_while_all_threads_are_at_work() -> None:
    memory = Memory()
    calls = [tool_call(number, "mem_stats") for number in range(2 * stdio.WORKERS)]
    threading.Timer(0.3, memory.opens.set).start()

    answered = served(memory, *calls, {"jsonrpc": "2.0", "id": "ping", "method": "ping"})

    assert answered[:2] == ["start", "ping"]
    assert len(answered) == 2 + len(calls)


@NOT_ON_WINDOWS
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_session_too(folder: Path, data_dir: Path, number: signal.Signals) -> None:
    server = start_server(folder)
    talk(server, INITIALIZE, INITIALIZED, tool_call(1, "mem_save", title="Chose uv", content="Fast."))

    server.send_signal(number)

    assert server.wait(timeout=60) == 0  # although stdin is still open
    assert close(server) == ""
    [(_, ended)] = sessions(data_dir)
    assert ended is not None
