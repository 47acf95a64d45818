"""Which calls run on the event loop itself, and which on a thread beside it."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from engram_py.config import Settings
from engram_py.interfaces.mcp import running
from engram_py.interfaces.mcp.calls import run_tool
from engram_py.interfaces.mcp.server import build_server
from tests.interfaces.mcp.agent import Agent

pytestmark = pytest.mark.anyio


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of every call, whether it ran on the loop's own thread."""
    seen: list[bool] = []

    def noted(*arguments: Any) -> Any:
        seen.append(threading.current_thread() is threading.main_thread())
        return run_tool(*arguments)

    monkeypatch.setattr(running, "run_tool", noted)
    return seen


async def quick(agent: Agent, threads: list[bool]) -> None:
    """Save until a save is quick enough to run on the loop; then nothing is noted yet."""
    for number in range(50):
        await agent.told("mem_save", title=f"Fact {number}", content=f"Body {number}.")
        if threads[-1]:
            break
    assert threads[-1]
    threads.clear()


async def test_the_first_call_of_a_tool_runs_beside_the_loop_and_what_is_quick_on_it(
    agent: Agent, threads: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "QUICK_SECONDS", 60.0)
    for _ in range(3):
        await agent.told("mem_save", title="Chose uv", content="It resolves in a second.")
    assert threads == [False, True, True]


async def test_what_was_slow_the_last_time_runs_beside_the_loop(
    agent: Agent, threads: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "QUICK_SECONDS", 60.0)
    await agent.told("mem_save", title="Chose uv", content="It resolves in a second.")
    monkeypatch.setattr(running, "QUICK_SECONDS", 1e-9)
    await agent.told("mem_save", title="Chose ruff", content="It is quick too.")
    assert threads == [False, False]


async def test_a_save_that_waits_for_another_process_keeps_nobody_else_waiting(
    agent: Agent, threads: list[bool], data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "QUICK_SECONDS", 60.0)
    for _ in range(2):
        await agent.told("mem_save", title="Chose uv", content="It resolves in a second.")
    other = sqlite3.connect(data_dir / "engram.db", isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")
    try:
        with anyio.fail_after(25):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: agent.told("mem_save", title="Chose ruff", content="It is quick too."))
                await anyio.sleep(0.2)
                assert (await agent.client.list_tools()).tools  # while the save waits
                other.execute("rollback")
    finally:
        other.close()
    assert threads == [False, True, False]
    assert (await agent.value("mem_search", query="ruff"))["memories"] == 1


async def test_a_server_of_many_connections_runs_every_call_beside_the_loop(
    settings: Settings, here: Path, threads: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "QUICK_SECONDS", 60.0)
    async with Client(build_server(settings, memory_of=lambda ctx: ctx.lifespan_context)) as client:
        for _ in range(3):
            await Agent(client).told("mem_save", title="Chose uv", content="It resolves in a second.")
    assert threads == [False, False, False]
