"""The SDK's own client sees no difference between ``engram mcp`` and the SDK's server, in one process or over HTTP."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError
from mcp.types import (
    ClientCapabilities,
    EmptyResult,
    Implementation,
    InitializeRequest,
    InitializeRequestParams,
    InitializeResult,
    Request,
)

from engram_py.interfaces.mcp.profiles import stored
from engram_py.interfaces.mcp.server import build_server
from engram_py.settings import Settings
from tests.interfaces.http.asking import Running, serving
from tests.interfaces.mcp.agent import Agent

Mode = Literal["auto", "legacy"]
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])

pytestmark = pytest.mark.timeout(120)


def command(folder: Path) -> StdioServerParameters:
    words = ["-m", "engram_py", "mcp", "--tools=all"]
    return StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ), cwd=folder)


@asynccontextmanager
async def clients(settings: Settings, folder: Path, mode: Mode) -> AsyncIterator[list[Client]]:
    """One of the process, and one of the SDK's server in this process."""
    async with (
        Client(command(folder), mode=mode) as ours,
        Client(build_server(settings, tools="all"), mode=mode) as sdk,
    ):
        yield [ours, sdk]


async def refused(client: Client, uri: str) -> Any:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    return caught.value.error


@MODES
async def test_both_offer_and_answer_the_same(settings: Settings, here: Path, mode: Mode) -> None:
    seen: list[list[Any]] = []
    async with clients(settings, here, mode) as both:
        for client in both:
            await Agent(client).told("mem_save", title="Chose uv", content="It resolves in a second.")
            seen.append([
                client.server_info,
                client.server_capabilities,
                client.protocol_version,
                client.instructions,
                await client.list_tools(),
                await client.list_resource_templates(),
                await client.list_prompts(),
                await client.get_prompt("wrap-up"),
                await refused(client, "engram://observation/99"),
                await refused(client, "other://thing"),
                await Agent(client).refusal("mem_search", query="uv", limit="many"),
            ])  # fmt: skip
    assert seen[0] == seen[1]
    assert len(seen[0][4].tools) == len(stored())


@MODES
async def test_a_memory_is_read_as_a_resource_and_recalled_by_a_prompt(
    settings: Settings, here: Path, mode: Mode
) -> None:
    async with clients(settings, here, mode) as (ours, sdk):
        await Agent(ours).told("mem_save", title="Chose uv", content="It resolves in a second.")
        for client in (ours, sdk):
            listed = [str(one.uri) for one in (await client.list_resources()).resources]
            assert listed == ["engram://context/widgets", "engram://observation/1"]
            assert "It resolves in a second" in str(await client.read_resource("engram://observation/1"))
            assert "Chose uv" in str(await client.get_prompt("recall", {"topic": "uv"}))


@pytest.fixture
def http(here: Path, data_dir: Path) -> Iterator[Running]:
    """The endpoint of ``engram serve`` over the memory of this test."""
    with serving(here, "0", "--tools", "all", ENGRAM_DATA_DIR=str(data_dir)) as server:
        yield server
        assert server.end() == (0, "")


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        *((version, version) for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")),
        *((version, "2025-11-25") for version in ("1999-01-01", "2026-07-28", "2027-01-01", "", "none")),
    ],
)
async def test_both_agree_on_the_version_that_is_asked_for_or_else_their_newest(
    here: Path, http: Running, asked: str, agreed: str
) -> None:
    who = Implementation(name="asking", version="1")
    params = InitializeRequestParams(protocol_version=asked, capabilities=ClientCapabilities(), client_info=who)
    for transport in (stdio_client(command(here)), http.mcp()):
        async with transport as (reads, writes), ClientSession(reads, writes) as session:
            result = await session.send_request(InitializeRequest(params=params), InitializeResult)
            assert result.protocol_version == agreed


@MODES
async def test_both_refuse_a_method_that_they_do_not_serve(here: Path, http: Running, mode: Mode) -> None:
    for server in (command(here), http.mcp()):
        async with Client(server, mode=mode) as client:
            for method in ("zap", "roots/list", "resources/subscribe"):
                asked = Request[dict[str, str], str](method=method, params={"uri": "engram://observation/1"})
                with pytest.raises(MCPError) as caught:
                    await client.session.send_request(asked, EmptyResult)
                assert (caught.value.code, caught.value.message, caught.value.data) == (
                    -32601,
                    "Method not found",
                    method,
                )


@MODES
async def test_both_answer_who_asks_for_progress_and_report_none(here: Path, http: Running, mode: Mode) -> None:
    seen: list[float] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    for server in (command(here), http.mcp()):
        async with Client(server, mode=mode) as client:
            found = await client.call_tool("mem_current_project", {}, progress_callback=told)
            assert "widgets" in str(found.content)
    assert seen == []


@MODES
async def test_who_gives_up_a_call_that_waits_is_answered_the_next(
    here: Path, data_dir: Path, http: Running, mode: Mode
) -> None:
    for server, title in ((command(here), "Chose uv"), (http.mcp(), "Chose ruff")):
        async with Client(server, mode=mode) as client:
            await Agent(client).told("mem_save", title=title, content="First.")
            with closing(sqlite3.connect(data_dir / "engram.db", isolation_level=None)) as other:
                other.execute("begin immediate")
                with anyio.move_on_after(0.3) as waiting:
                    await client.call_tool("mem_save", {"title": f"{title}, given up", "content": "Perhaps saved."})
                assert waiting.cancelled_caught
                with anyio.fail_after(20):
                    assert len((await client.list_tools()).tools) == len(stored())
                other.execute("rollback")

            assert "Saved" in await Agent(client).told("mem_save", title=f"{title} again", content=f"{title}, then.")


@MODES
async def test_who_gives_up_a_call_may_go_on_calling(settings: Settings, here: Path, mode: Mode) -> None:
    async with Client(command(here), mode=mode) as client:
        with anyio.move_on_after(0.001):
            await client.call_tool("mem_save", {"title": "Given up", "content": "Perhaps saved."})

        assert "Saved" in await Agent(client).told("mem_save", title="Chose uv", content="It resolves in a second.")
