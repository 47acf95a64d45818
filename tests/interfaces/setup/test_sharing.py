"""What ``--scope project`` writes is read by everyone who clones the repository."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engram_py.interfaces.setup.agents import AGENTS, Parts, Scope
from engram_py.interfaces.setup.installing import Setup
from engram_py.interfaces.setup.machine import Launcher, Machine

from .conftest import furnish, tree

SHARED = [name for name, agent in AGENTS.items() if "project" in agent.servers]


@pytest.fixture
def here(machine: Machine, data_dir: Path, tmp_path: Path) -> Setup:
    """Engram in a virtual environment of this machine, with its memory in a place of its own."""
    start = Launcher((str(tmp_path / "venv" / "bin" / "engram"),), ("--data-dir", str(data_dir)))
    return Setup(machine, data_dir, start)


def test_the_command_of_a_project_is_the_one_on_everybodys_path(here: Setup) -> None:
    done = here.set_up(AGENTS["cursor"], "project", Parts())

    servers = json.loads((here.machine.project / ".cursor" / "mcp.json").read_text())["mcpServers"]
    assert servers["engram"] == {"command": "engram", "args": ["mcp"]}
    hooks = json.loads((here.machine.project / ".cursor" / "hooks.json").read_text())["hooks"]
    assert hooks["sessionStart"][0]["command"] == "engram hook session-start --agent cursor"
    assert "`engram` is not on the PATH here" in done.note
    assert "ENGRAM_DATA_DIR" in done.note


@pytest.mark.parametrize("name", SHARED)
def test_what_an_earlier_version_wrote_with_its_path_is_made_portable_and_comes_back(
    here: Setup, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    furnish(here.machine, name, "project")
    before = tree(here.machine.project)
    with monkeypatch.context() as earlier:
        earlier.setattr(Launcher, "shared", lambda self: self)
        here.set_up(AGENTS[name], "project", Parts())

    here.set_up(AGENTS[name], "project", Parts())
    texts = [path.read_text() for path in here.machine.project.rglob("*") if path.is_file()]
    assert not any(str(tmp_path) in text for text in texts)
    here.take_out(AGENTS[name], "project")

    assert tree(here.machine.project) == before


def test_whoever_cloned_what_another_set_up_can_take_it_out(here: Setup, tmp_path: Path) -> None:
    path = here.machine.project / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"other": {"command": "npx"}}}\n')
    here.set_up(AGENTS["cursor"], "project", Parts(hooks=False, instructions=False))
    colleague = replace(here, data_dir=tmp_path / "colleague", start=Launcher(("/elsewhere/engram",)))

    colleague.take_out(AGENTS["cursor"], "project")

    assert json.loads(path.read_text()) == {"mcpServers": {"other": {"command": "npx"}}}


@pytest.mark.parametrize(
    ("name", "scope", "said"),
    [
        ("gemini", "project", "until you trust the folder"),
        ("qwen", "project", "until you trust the folder"),
        ("codex", "project", "trust"),
        ("pi", "user", "pi install npm:pi-mcp-adapter"),
    ],
)
def test_what_to_do_besides_is_said(here: Setup, name: str, scope: Scope, said: str) -> None:
    assert said in here.set_up(AGENTS[name], scope, Parts(hooks=False)).note
    assert here.set_up(AGENTS["gemini"], "user", Parts()).note == ""
