"""How the server process ends: at once when stdin closes, with every request answered and nothing left behind."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification, JSONRPCRequest

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


def talk(server: subprocess.Popen[bytes], *messages: dict[str, Any]) -> bytes:
    """Write requests, and read the answer to the last."""
    assert server.stdin is not None
    assert server.stdout is not None
    answer = b""
    for message in messages:
        server.stdin.write(as_line(message))
        server.stdin.flush()
        if "id" in message:
            answer = server.stdout.readline()
    return answer


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


def test_a_server_that_was_never_called_leaves_no_database(folder: Path, data_dir: Path) -> None:
    answered = exchange(folder, [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}])

    assert len(answered.to(1)["result"]["tools"]) == 10
    assert not data_dir.exists()


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


@pytest.mark.anyio
async def test_a_cancelled_request_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    to_server, lines = anyio.create_memory_object_stream[SessionMessage](3)
    answers, client = anyio.create_memory_object_stream[SessionMessage](3)

    @asynccontextmanager
    async def standard_streams(*_: object) -> AsyncIterator[tuple[Any, Any]]:
        async with lines, answers, client:
            yield lines, answers

    monkeypatch.setattr(stdio, "stdio_server", standard_streams)
    monkeypatch.setattr(stdio, "DRAIN_SECONDS", float("inf"))
    call = JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call")
    cancel = JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params={"requestId": 1})
    with anyio.fail_after(60):
        async with stdio.streams() as (read, _), read:
            for message in (call, cancel):
                await to_server.send(SessionMessage(message))
            await to_server.aclose()

            # The stream ends, so the server does: nobody will answer the call that was cancelled.
            assert [item.message async for item in read] == [call, cancel]


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


def test_a_client_that_went_away_is_no_reason_for_a_traceback(folder: Path, data_dir: Path) -> None:
    server = start_server(folder)
    talk(server, INITIALIZE, INITIALIZED, tool_call(1, "mem_save", title="Chose uv", content="Fast."))
    assert server.stdout is not None
    assert server.stdin is not None
    server.stdout.close()
    server.stdin.write(as_line(tool_call(2, "mem_save", title="Chose ruff", content="Fast too.")))

    assert close(server) == ""

    assert server.returncode == 0
    assert rows(data_dir)["observations"] == 2
    [(_, ended)] = sessions(data_dir)
    assert ended is not None
