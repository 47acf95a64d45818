"""Which project a call belongs to, as an agent meets it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from mcp import Client

from engram_py.config import Settings
from engram_py.interfaces.mcp.server import build_server
from tests.interfaces.mcp.agent import Agent, rows


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two git repositories, and the server standing in it."""
    folder = tmp_path / "work"
    for name in ("api", "web"):
        subprocess.run(["git", "init", "-q", str(folder / name)], check=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.anyio
async def test_a_save_between_two_repositories_is_refused_with_the_candidates(
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


@pytest.mark.anyio
async def test_a_search_between_two_repositories_answers_from_both_and_says_so(
    workspace: Path, settings: Settings
) -> None:
    async with Client(build_server(settings)) as client:
        agent = Agent(client)
        for name in ("api", "web", "elsewhere"):
            await agent.told("mem_save", title=f"Chose uv for {name}", content="Fast.", project=name)

        found = await agent.value("mem_search", query="chose uv")
        text = await agent.told("mem_search", query="chose uv")

        assert {hit["project"] for hit in found["results"]} == {"api", "web"}
        assert "several repositories here" in text
        assert "several repositories here" in await agent.told("mem_context")


@pytest.mark.anyio
async def test_the_current_project_is_never_an_error(workspace: Path, settings: Settings) -> None:
    async with Client(build_server(settings)) as client:
        where = await Agent(client).value("mem_current_project")

    assert (where["project"], where["candidates"]) == (None, ["api", "web"])
    assert where["hint"]


@pytest.mark.anyio
async def test_a_project_that_is_new_is_created_and_said_with_the_similar_ones(agent: Agent) -> None:
    await agent.told("mem_save", title="Chose uv", content="Fast.")

    text = await agent.told("mem_save", title="Chose ruff", content="Fast.", project="Widget-s")
    projects = await agent.value("mem_list_projects")

    assert 'created project "widget-s"' in text
    assert "similar names exist: widgets" in text
    assert {line["name"] for line in projects["projects"]} == {"widgets", "widget-s"}


@pytest.mark.anyio
async def test_a_search_in_a_project_without_memory_names_the_similar_ones(agent: Agent) -> None:
    await agent.told("mem_save", title="Chose uv", content="Fast.")

    text = await agent.told("mem_search", query="uv", project="widget")

    assert 'project "widget" has no memory yet (similar: widgets)' in text


@pytest.mark.anyio
async def test_the_project_of_the_command_line_is_that_of_every_call(settings: Settings, here: Path) -> None:
    async with Client(build_server(settings, project="Gadgets")) as client:
        saved = await Agent(client).value("mem_save", title="Chose uv", content="Fast.")

    assert (saved["project"], saved["project_source"]) == ("gadgets", "override")
