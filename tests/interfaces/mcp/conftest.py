"""An agent that talks to a server in this process, standing in the folder widgets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client

from engram_py.base.settings import Settings
from engram_py.interfaces.http.mcp_endpoint import build_server
from tests.interfaces.mcp.agent import Agent


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    return Settings(data_dir)


@pytest.fixture
async def agent(settings: Settings, here: Path) -> AsyncIterator[Agent]:
    """An agent with all 23 tools."""
    async with Client(build_server(settings, tools="all")) as client:
        yield Agent(client)
