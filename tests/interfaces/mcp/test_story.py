"""The main job, with the SDK's own client and real processes: one session saves, a later one finds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from mcp import Client, StdioServerParameters

from tests.interfaces.mcp.agent import Agent, sessions

TOPIC = "decision/token-lifetime"
DECISION = "**What**: Access tokens live 15 minutes.\n**Why**: A stolen one must be worthless soon."
REVISION = DECISION.replace("15 minutes", "5 minutes")
FIX = "**What**: Logins failed after midnight.\n**Why**: Expiry was compared with local time."


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", "git@github.com:acme/shop.git"], check=True)
    return folder


def server_in(folder: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "engram_py", "mcp"], env=dict(os.environ), cwd=folder
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_later_process_finds_what_an_earlier_one_saved(
    repository: Path, data_dir: Path, mode: Literal["auto", "legacy"]
) -> None:
    async with Client(server_in(repository), mode=mode) as client:
        first = Agent(client)
        assert "mem_search" in (client.instructions or "")
        title = "Chose short-lived access tokens"
        saved = await first.value("mem_save", title=title, content=DECISION, type="decision", topic_key=TOPIC)
        assert (saved["outcome"], saved["project"], saved["project_source"]) == ("added", "shop", "git_remote")
        assert "Saved [#2]" in await first.told("mem_save", title="Fixed midnight logins", content=FIX, type="bugfix")
        revised = await first.value("mem_save", title=title, content=REVISION, type="decision", topic_key=TOPIC)
        assert (revised["outcome"], revised["id"], revised["revision_count"]) == ("updated", saved["id"], 2)
    [(_, ended)] = sessions(data_dir)
    assert ended is not None

    async with Client(server_in(repository), mode=mode) as client:
        second = Agent(client)
        context = await second.told("mem_context")
        assert "Fixed midnight logins" in context
        assert "5 minutes" in context
        found = await second.told("mem_search", query="how long are access tokens valid and why did we choose that?")
        best = found.partition("[#")[2].partition("]")[0]
        assert int(best) == saved["id"]
        opened = await second.told("mem_get_observation", id=f"[#{best}]", include_history=True)
        now, _, before = opened.partition("--- version")
        assert ("5 minutes" in now, "15 minutes" in now, "15 minutes" in before) == (True, False, True)
