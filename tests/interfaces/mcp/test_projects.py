"""Which project a call belongs to, as an agent meets it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from mcp import Client

from engram_py.interfaces.mcp.server import build_server
from engram_py.settings import Settings
from tests.interfaces.mcp.agent import Agent, rows


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two git repositories, and the server standing in it."""
    folder = tmp_path / "work"
    for name in ("api", "web"):
        subprocess.run(["git", "init", "-q", str(folder / name)], check=True)
    monkeypatch.chdir(folder)
    return folder


async def test_between_two_repositories_a_save_is_refused_with_the_candidates_and_reads_say_so(
    workspace: Path, settings: Settings, data_dir: Path
) -> None:
    async with Client(build_server(settings)) as client:
        agent = Agent(client)
        facts = await agent.refusal("mem_save", title="Chose uv", content="Fast.")
        assert facts["error_code"] == "ambiguous_project"
        assert facts["available_projects"] == ["api", "web"]
        assert "project=" in facts["hint"]
        assert rows(data_dir)["observations"] == 0

        saved = await agent.value("mem_save", title="Chose uv", content="Fast.", project="api")
        assert (saved["project"], saved["project_source"]) == ("api", "explicit")

        assert "several repositories here" in await agent.told("mem_search", query="chose uv")
        assert "several repositories here" in await agent.told("mem_context")
        where = await agent.value("mem_current_project")
        assert (where["project"], where["candidates"], bool(where["hint"])) == (None, ["api", "web"], True)


async def test_the_project_of_the_command_line_is_that_of_every_call(settings: Settings, here: Path) -> None:
    async with Client(build_server(settings, project="Gadgets")) as client:
        saved = await Agent(client).value("mem_save", title="Chose uv", content="Fast.")

    assert (saved["project"], saved["project_source"]) == ("gadgets", "override")
