"""A machine of a temporary folder, with the files its agents have before engram comes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engram_py.interfaces.setup.agents import AGENTS, SCOPES, Scope
from engram_py.interfaces.setup.installing import Setup
from engram_py.interfaces.setup.machine import Launcher, Machine, System

MachineOf = Callable[..., Machine]
EVERYWHERE = [
    pytest.param(name, scope, id=f"{name}-{scope}")
    for name, agent in AGENTS.items()
    for scope in SCOPES
    if scope in agent.servers
]

JSONC = """\
// Mine. Do not sort.
{
    "theme": "dark", // night
    "%s": {
        "other": {"command": "npx", "args": ["-y", "other"]}, /* keep */
    },
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}, // mine
        ],
        "stop": [{"command": "say done"}],
    },
}
"""
TOML = """\
# Mine.
model = "gpt-5"   # the big one
notify = ["say", "done"]

[mcp_servers.other]
command = "npx"
args = ["-y", "other"]

[projects."/home/jo/widgets"]
trust_level = "trusted"
"""
YAML = """\
# Mine.
GOOSE_MODE: smart_approve  # asks

extensions:
  # Comes with it.
  other:
    type: builtin
    args:
    - one

    - two  # the last

# What I changed since
GOOSE_TELEMETRY_ENABLED: false
"""
TEXT = "# My rules\n\nAlways answer in rhyme.\n"


@pytest.fixture
def machine_of(tmp_path: Path) -> MachineOf:
    """``machine_of("windows", APPDATA=…)``: a machine of that system below the temporary folder."""

    def make(system: System = "linux", **environ: str) -> Machine:
        home, project = tmp_path / "home", tmp_path / "work" / "widgets"
        home.mkdir(exist_ok=True)
        project.mkdir(parents=True, exist_ok=True)
        return Machine(system=system, home=home, environ=environ, project=project)

    return make


@pytest.fixture
def machine(machine_of: MachineOf) -> Machine:
    return machine_of()


@pytest.fixture
def setup(machine: Machine, data_dir: Path) -> Setup:
    return Setup(machine, data_dir, Launcher(("/opt/engram/bin/engram",)))


@pytest.fixture
def servers(machine: Machine) -> Path:
    """The file of Cursor's servers, in a folder that is there."""
    folder = machine.home / ".cursor"
    folder.mkdir()
    return folder / "mcp.json"


def furnish(machine: Machine, name: str, scope: Scope, *, newline: str = "\n", mark: str = "") -> None:
    """Give the files contents of somebody else, comments included, and trailing commas where the agent reads them."""
    agent = AGENTS[name]
    servers = agent.servers[scope]
    jsonc = JSONC if agent.trailing_commas else re.sub(r",(?=(\s|/\*.*?\*/|//.*)*[\]}])", "", JSONC)
    own = {"toml": TOML, "yaml": YAML}.get(servers.format) or jsonc % servers.keys[0]
    contents = {machine.place(servers.paths[0]): own}
    hooks, instructions = agent.hooks.get(scope), agent.instructions.get(scope)
    if hooks and not hooks.own:
        contents.setdefault(machine.place(hooks.path), jsonc % "mcpServers")
    if instructions and instructions.head is None:
        contents[machine.place(instructions.path)] = TEXT
    for path, text in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((mark + text.replace("\n", newline)).encode())


def tree(*folders: Path) -> dict[str, Any]:
    """Everything below the folders: the bytes and mode of each file, and each folder."""
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            found[str(path)] = (path.read_bytes(), path.stat().st_mode) if path.is_file() else "folder"
    return found
