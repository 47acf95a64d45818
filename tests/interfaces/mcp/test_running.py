"""Which calls run on the event loop itself, and which on a thread beside it."""

from __future__ import annotations

import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp import Client

from engram_py.config import Settings
from engram_py.database.store import Store
from engram_py.interfaces.mcp import running
from engram_py.interfaces.mcp.calls import run_tool
from engram_py.interfaces.mcp.server import build_server
from engram_py.ledger import ledger
from engram_py.observations import usage
from tests.interfaces.mcp.agent import Agent

pytestmark = pytest.mark.anyio

ON, BESIDE = "on the loop", "beside it"


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Where every call began, and its tool; on a machine where everything is quick, and counted afterwards."""
    monkeypatch.setattr(running, "QUICK_SECONDS", 60.0)
    monkeypatch.setattr(usage, "QUIET_SECONDS", 60.0)
    monkeypatch.setattr(ledger, "LONGEST_WAIT_SECONDS", 60.0)
    seen: list[tuple[str, str]] = []

    def noted(tool: Any, *arguments: Any) -> Any:
        seen.append((tool.name, ON if threading.current_thread() is threading.main_thread() else BESIDE))
        return run_tool(tool, *arguments)

    monkeypatch.setattr(running, "run_tool", noted)
    return seen


async def save(agent: Agent, title: str = "Chose uv", **arguments: Any) -> None:
    await agent.told("mem_save", title=title, content=f"{title}: it resolves in a second.", **arguments)


@contextmanager
def locked(data_dir: Path) -> Iterator[sqlite3.Connection]:
    """Another process, as it were, that is in the middle of a write."""
    with closing(sqlite3.connect(data_dir / "engram.db", isolation_level=None, check_same_thread=False)) as other:
        other.execute("begin immediate")
        yield other


async def test_the_first_call_of_a_tool_runs_beside_the_loop_and_the_next_on_it(
    agent: Agent, places: list[tuple[str, str]]
) -> None:
    for _ in range(2):
        await save(agent)
        await agent.told("mem_search", query="uv")
    assert places == [("mem_save", BESIDE), ("mem_search", BESIDE), ("mem_save", ON), ("mem_search", ON)]


async def test_what_was_slow_runs_beside_the_loop_until_it_was_quick_some_times(
    agent: Agent, places: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    took = iter([0.0, 1.0, 0.0, 0.01, 0.0, 0.01, 0.0, 0.01, 0.0, 0.01])
    monkeypatch.setattr("engram_py.interfaces.mcp.running.time", SimpleNamespace(perf_counter=lambda: next(took)))
    monkeypatch.setattr(running, "QUICK_SECONDS", 0.3)
    for _ in range(4):
        await save(agent)
    assert [place for _, place in places] == [BESIDE, BESIDE, BESIDE, ON]


@pytest.mark.parametrize("tool", ["mem_doctor", "mem_stats", "mem_merge_projects", "mem_current_project"])
async def test_what_agents_call_seldom_never_runs_on_the_loop(
    agent: Agent, places: list[tuple[str, str]], tool: str
) -> None:
    await save(agent)
    for _ in range(3):
        await agent.call(tool, **{"from": "widgets", "to": "widgets"} if tool == "mem_merge_projects" else {})
    assert {place for name, place in places if name == tool} == {BESIDE}


async def test_a_refusal_says_nothing_about_how_long_a_tool_takes(agent: Agent, places: list[tuple[str, str]]) -> None:
    await save(agent)
    for _ in range(2):
        await agent.call("mem_search", query="", response_format="yaml")
    assert places[1:] == [("mem_search", BESIDE)] * 2


async def test_a_save_that_waits_for_another_process_keeps_nobody_else_waiting(
    agent: Agent, places: list[tuple[str, str]], data_dir: Path
) -> None:
    for _ in range(2):
        await save(agent)
    with locked(data_dir) as other, anyio.fail_after(25):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(save, agent, "Chose ruff")
            await anyio.sleep(0.2)
            assert (await agent.client.list_tools()).tools  # while the save waits
            other.execute("rollback")
    assert [place for _, place in places] == [BESIDE, ON, BESIDE]
    assert (await agent.value("mem_search", query="ruff"))["count"] == 1


async def test_a_call_that_arrives_with_one_that_waits_does_not_run_on_the_loop(
    agent: Agent, places: list[tuple[str, str]], data_dir: Path
) -> None:
    for _ in range(2):
        await save(agent)
        await agent.told("mem_search", query="uv")
    places.clear()
    with locked(data_dir) as other, anyio.fail_after(25):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(save, agent, "Chose ruff")
            tasks.start_soon(lambda: agent.told("mem_search", query="uv"))
            await anyio.sleep(0.2)
            assert (await agent.client.list_tools()).tools
            other.execute("rollback")
    assert sorted(places) == [("mem_save", BESIDE), ("mem_search", BESIDE)]
    await agent.told("mem_search", query="uv")
    assert places[-1] == ("mem_search", ON)  # once both are done


async def test_what_was_cancelled_is_waited_for_as_long_as_it_is_at_work(
    agent: Agent, places: list[tuple[str, str]], data_dir: Path
) -> None:
    for _ in range(2):
        await save(agent)
        await agent.told("mem_search", query="uv")
    with locked(data_dir) as other, anyio.fail_after(25):
        with anyio.move_on_after(0.2):
            await save(agent, "Chose ruff")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: agent.told("mem_search", query="uv"))
            await anyio.sleep(0.2)
            other.execute("rollback")
    assert places[-1] == ("mem_search", BESIDE)


async def test_a_search_that_would_ask_git_leaves_the_loop(
    agent: Agent, places: list[tuple[str, str]], here: Path
) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b", *words], cwd=here, check=True)

    git("init", "-q")
    (here / "lock.py").write_text("LOCK = 1\n")
    git("add", ".")
    git("commit", "-qm", "Lock")
    await save(agent, files=["lock.py:1"])
    for _ in range(3):
        said = await agent.told("mem_search", query="uv")
    (here / "lock.py").write_text("LOCK = 2\n")
    git("commit", "-qam", "Lock again")
    places.clear()

    assert "changed in the last commit by A" in await agent.told("mem_search", query="uv")

    assert "changed" not in said
    assert places == [("mem_search", ON), ("mem_search", BESIDE)]


async def test_with_an_embedder_every_call_runs_beside_the_loop(
    data_dir: Path, here: Path, places: list[tuple[str, str]]
) -> None:
    settings = Settings(data_dir, embedder="openai:http://127.0.0.1:9/v1#none")
    async with Client(build_server(settings)) as client:
        for _ in range(3):
            await save(Agent(client))
    assert [place for _, place in places] == [BESIDE] * 3


async def test_a_server_of_many_connections_runs_every_call_beside_the_loop(
    settings: Settings, here: Path, places: list[tuple[str, str]]
) -> None:
    async with Client(build_server(settings, memory_of=lambda ctx: ctx.lifespan_context)) as client:
        for _ in range(3):
            await save(Agent(client))
    assert [place for _, place in places] == [BESIDE] * 3


def test_a_store_is_at_rest_where_nobody_is_at_work_with_its_file(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path)) as store:
        assert store.at_rest(writing=True)
        assert not store.in_transaction
        with locked(tmp_path):
            assert store.at_rest(writing=False)
            assert not store.at_rest(writing=True)
        assert store.at_rest(writing=True)
        seen: list[bool] = []
        with store.connection():  # another thread has it
            asking = threading.Thread(target=lambda: seen.append(store.at_rest(writing=False)))
            asking.start()
            asking.join()
        assert seen == [False]
        before = store.path.stat().st_ino
        store.path.rename(tmp_path / "away")  # somebody is about to restore a backup
        assert not store.at_rest(writing=False)
        assert not store.path.exists()
        assert (tmp_path / "away").stat().st_ino == before
