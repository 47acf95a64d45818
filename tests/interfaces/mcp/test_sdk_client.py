"""The SDK's own client sees no difference between ``engram mcp`` and the SDK's server over the same memory."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from engram_py.config import Settings
from engram_py.interfaces.mcp.server import build_server
from tests.interfaces.mcp.agent import Agent

Mode = Literal["auto", "legacy"]
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


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
    assert len(seen[0][4].tools) == 23


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


@MODES
async def test_who_gives_up_a_call_may_go_on_calling(settings: Settings, here: Path, mode: Mode) -> None:
    async with Client(command(here), mode=mode) as client:
        with anyio.move_on_after(0.001):
            await client.call_tool("mem_save", {"title": "Given up", "content": "Perhaps saved."})

        assert "Saved" in await Agent(client).told("mem_save", title="Chose uv", content="It resolves in a second.")
