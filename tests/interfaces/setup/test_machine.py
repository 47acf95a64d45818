"""Where agents keep their files on each system, and which command they are given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram_py.interfaces.setup.agents import AGENTS, Parts
from engram_py.interfaces.setup.installing import Setup
from engram_py.interfaces.setup.machine import Launcher, Machine, System, launcher

from .conftest import MachineOf, tree


@pytest.mark.parametrize(
    ("system", "variable", "template", "path"),
    [
        ("linux", "", "{code}/mcp.json", ".config/Code/User/mcp.json"),
        ("darwin", "", "{code}/mcp.json", "Library/Application Support/Code/User/mcp.json"),
        ("windows", "", "{code}/mcp.json", "AppData/Roaming/Code/User/mcp.json"),
        ("darwin", "", "{zed}/settings.json", ".config/zed/settings.json"),
        ("windows", "", "{zed}/settings.json", "AppData/Roaming/Zed/settings.json"),
        ("windows", "", "{claude_state}/.claude.json", ".claude.json"),
        ("windows", "", "{kimi}/mcp.json", ".kimi-code/mcp.json"),
        ("darwin", "", "{pi}/mcp.json", ".pi/agent/mcp.json"),
        ("windows", "APPDATA", "{code}", "moved/Code/User"),
        ("linux", "CLAUDE_CONFIG_DIR", "{claude}/settings.json", "moved/settings.json"),
        ("linux", "CLAUDE_CONFIG_DIR", "{claude_state}/.claude.json", "moved/.claude.json"),
        ("linux", "XDG_CONFIG_HOME", "{config}/opencode/opencode.json", "moved/opencode/opencode.json"),
        ("linux", "CODEX_HOME", "{codex}/config.toml", "moved/config.toml"),
        ("linux", "KIMI_CODE_HOME", "{kimi}/mcp.json", "moved/mcp.json"),
        ("linux", "PI_CODING_AGENT_DIR", "{pi}/mcp.json", "moved/mcp.json"),
    ],
)
def test_each_system_has_its_places_and_variables_move_them(
    machine_of: MachineOf, system: System, variable: str, template: str, path: str
) -> None:
    home = machine_of().home
    machine = machine_of(system, **{variable: str(home / "moved")} if variable else {})
    assert machine.place(template) == home / path
    assert machine_of("linux", XDG_CONFIG_HOME="relative").place("{config}") == home / ".config"


def test_an_agent_is_found_by_its_folder_or_its_program(machine_of: MachineOf, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    machine = machine_of("linux", PATH=str(program.parent))
    (machine.home / ".config" / "zed").mkdir(parents=True)
    found = Setup(machine, tmp_path / "data", Launcher(("engram",))).detected()
    assert [agent.name for agent in found] == ["codex", "zed"]


def test_on_windows_files_go_to_appdata_and_hooks_name_programs_as_every_shell_there_can(
    machine_of: MachineOf, data_dir: Path
) -> None:
    machine = machine_of("windows", APPDATA=str(machine_of().home / "Roaming"))
    python = r"C:\Users\Jo Doe\engram\Scripts\python.exe"
    setup = Setup(machine, data_dir, launcher(machine, executable=python, prefix=r"C:\Users\Jo Doe\engram"))
    before = tree(machine.home)

    setup.set_up(AGENTS["vscode"], "user", Parts())

    server = json.loads((machine.home / "Roaming" / "Code" / "User" / "mcp.json").read_text())["servers"]["engram"]
    assert server == {"type": "stdio", "command": python, "args": ["-P", "-m", "engram_py", "mcp"]}
    hooks = json.loads((machine.home / ".copilot" / "hooks" / "engram.json").read_text())["hooks"]
    assert hooks["Stop"][0]["command"] == (
        '"C:/Users/Jo Doe/engram/Scripts/python.exe" -P -m engram_py hook stop --agent vscode'
    )
    setup.take_out(AGENTS["vscode"], "user")
    assert tree(machine.home) == before


def test_the_script_beside_the_interpreter_is_started_or_python_that_ignores_the_folder_it_is_in(
    machine: Machine, tmp_path: Path
) -> None:
    start = launcher(machine, executable="/usr/bin/python3", prefix=str(tmp_path))
    assert start.server() == ["/usr/bin/python3", "-P", "-m", "engram_py", "mcp"]
    script = tmp_path / "bin" / "engram"
    script.parent.mkdir()
    script.touch()
    assert launcher(machine, executable="/usr/bin/python3", prefix=str(tmp_path)).server() == [str(script), "mcp"]
    other = launcher(machine, data_dir=tmp_path / "a b", executable="/p", prefix=str(tmp_path))
    assert other.server()[-3:] == ["--data-dir", str(tmp_path / "a b"), "mcp"]
    assert other.hook("stop", "codex").endswith(f"hook stop --agent codex --data-dir '{tmp_path / 'a b'}'")


@pytest.mark.parametrize(
    ("prefix", "runner", "words"),
    [
        ("/home/jo/.cache/uv/archive-v0/x1y2", "uvx", ["--from", "engram-py", "engram", "mcp"]),
        ("/home/jo/.local/pipx/.cache/ab12", "pipx", ["run", "--spec", "engram-py", "engram", "mcp"]),
    ],
)
def test_from_an_environment_that_will_not_stay_its_runner_is_registered(
    machine_of: MachineOf, tmp_path: Path, prefix: str, runner: str, words: list[str]
) -> None:
    program = tmp_path / runner
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    machine = machine_of("linux", PATH=str(tmp_path))
    assert launcher(machine, executable=f"{prefix}/bin/python", prefix=prefix).server() == [str(program), *words]


@pytest.mark.parametrize("name", AGENTS)
def test_the_table_names_only_places_that_exist(machine_of: MachineOf, name: str) -> None:
    agent = AGENTS[name]
    for system in ("linux", "darwin", "windows"):
        machine = machine_of(system)
        for scope in agent.servers:
            rows = [*agent.servers[scope].paths]
            rows += [agent.hooks[scope].path] if scope in agent.hooks else []
            rows += [agent.instructions[scope].path] if scope in agent.instructions else []
            below = machine.project if scope == "project" else machine.home
            assert all(machine.place(row).is_relative_to(below) for row in rows)


STDIO = {"transport": "stdio", "enabled": True}


@pytest.mark.parametrize(
    ("name", "path", "key", "entry"),
    [
        ("antigravity", ".gemini/config/mcp_config.json", "mcpServers", {"command": "/e", "args": ["mcp"]}),
        ("kilocode", ".config/kilo/kilo.jsonc", "mcp", {"type": "local", "command": ["/e", "mcp"], "enabled": True}),
        ("kimi", ".kimi-code/mcp.json", "mcpServers", {"command": "/e", "args": ["mcp"]}),
        ("commandcode", ".commandcode/mcp.json", "mcpServers", {"command": "/e", "args": ["mcp"]} | STDIO),
        ("pi", ".pi/agent/mcp.json", "mcpServers", {"command": "/e", "args": ["mcp"], "directTools": True}),
    ],
)
def test_each_agent_is_given_its_server_where_and_as_it_reads_it(
    machine: Machine, data_dir: Path, name: str, path: str, key: str, entry: object
) -> None:
    Setup(machine, data_dir, Launcher(("/e",))).set_up(AGENTS[name], "user", Parts())
    assert json.loads((machine.home / path).read_text())[key]["engram"] == entry
