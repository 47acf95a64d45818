"""Files that setup refuses to touch, and where agents keep theirs on each system."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from engram_py.base.errors import SetupError
from engram_py.base.install_hints import install_source
from engram_py.interfaces.setup import manifest as files
from engram_py.interfaces.setup.agents import AGENTS, Parts
from engram_py.interfaces.setup.installing import Setup, agents_named
from engram_py.interfaces.setup.machine import Launcher, Machine, System, launcher
from engram_py.interfaces.setup.manifest import (
    FileState,
    SetupRefusedError,
    opened,
    replace,
)
from tests.support import DEEP, raising

from .conftest import MachineOf, tree


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def refusal(setup: Setup, name: str = "cursor") -> SetupRefusedError:
    before = tree(setup.machine.home)
    with pytest.raises(SetupRefusedError) as caught:
        setup.set_up(AGENTS[name], "user", Parts())
    assert tree(setup.machine.home) == before
    return caught.value


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b'{"mcpServers": {', "Expecting property name", id="cut-off"),
        pytest.param(b"[]", "it does not hold a JSON object", id="a-list"),
        pytest.param(b'{"mcpServers": []}', "mcpServers is not an object", id="servers-are-a-list"),
        pytest.param(b'{"a": "\xff"}', "it is not UTF-8 text", id="latin-1"),
        pytest.param('{"a": 1}'.encode("utf-16"), "it is not UTF-8 text", id="utf-16"),
        pytest.param(b'{"a": "\0"}', "NUL", id="nul"),
        pytest.param(b"SQLite format 3\0", "NUL", id="a-database"),
        pytest.param(b"mcpServers:\n  engram: x\n", "", id="yaml"),
        pytest.param(b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}", "nested too deeply", id="too-deep"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone_with_the_reason(
    setup: Setup, servers: Path, data: bytes, reason: str
) -> None:
    put(servers, data)
    refused = refusal(setup)
    assert refused.path == str(servers)
    assert reason in refused.reason


@pytest.mark.parametrize(
    ("name", "path", "data", "reason"),
    [
        pytest.param("codex", ".codex/config.toml", b"[mcp_servers\n", "Expected", id="broken"),
        pytest.param("codex", ".codex/config.toml", b"a = 1\na = 2\n", "", id="twice"),
        pytest.param("codex", ".codex/config.toml", b"mcp_servers = 3\n", "mcp_servers is not a table", id="a-number"),
        pytest.param("gemini", ".gemini/settings.json", b'{\n  "a": 1, // mine\n}', "line 2 ends with a", id="comma"),
        pytest.param("cursor", ".cursor/hooks.json", b'{"hooks": {"stop": 1}}', "hooks.stop is not a list", id="hooks"),
        pytest.param("cursor", ".cursor", b"", "is not a directory", id="a-file-where-a-folder-belongs"),
        pytest.param("kiro", ".kiro/steering/engram.md", b"mine\n", "another file of this name", id="not-ours"),
    ],
)
def test_what_stands_in_the_way_is_left_alone(setup: Setup, name: str, path: str, data: bytes, reason: str) -> None:
    put(setup.machine.home / path, data)
    assert reason in refusal(setup, name).reason


def test_one_file_in_the_way_means_that_no_file_is_written(setup: Setup) -> None:
    put(setup.machine.home / ".codex" / "config.toml", b"model = 1\n")
    put(setup.machine.home / ".codex" / "AGENTS.md", b"<!-- engram:end -->\n")
    assert "do not form one pair" in refusal(setup, "codex").reason


@pytest.mark.parametrize(
    ("name", "path", "data", "removal"),
    [
        pytest.param(
            "codex", ".codex/config.toml", b'[plugins."engram@engram-py"]\nenabled = true\n',
            "codex plugin remove engram@engram-py", id="codex",
        ),
        pytest.param(
            "gemini", ".gemini/extensions/engram-py/.gemini-extension-install.json", b'{"type": "link"}',
            "gemini extensions uninstall engram-py", id="gemini",
        ),
        pytest.param(
            "gemini", ".gemini/extensions/x/gemini-extension.json", b'{"name": "y", "mcpServers": {"engram": [1]}}',
            "gemini extensions uninstall y", id="another-extension",
        ),
    ],
)  # fmt: skip
def test_an_agent_with_a_plugin_of_engram_is_refused_with_the_command_that_removes_it(
    setup: Setup, name: str, path: str, data: bytes, removal: str
) -> None:
    put(setup.machine.home / path, data)
    refused = refusal(setup, name)
    assert "has engram already, from the " in refused.reason
    assert refused.hint == f"keep it, or run `{removal}`, then run the command again"
    assert [(agent.name, one.removal) for agent, one in setup.left()] == [(name, removal)]
    setup.set_up(AGENTS[name], "project", Parts())  # others open the project as well
    assert setup.set_up(AGENTS["cursor"], "user", Parts()).changed


@pytest.mark.parametrize(
    ("name", "path", "data"),
    [
        ("codex", ".codex/config.toml", b'[plugins."engram@engram-py"]\nenabled = false\n'),
        ("codex", ".codex/config.toml", b'[plugins."other@shop"]\nenabled = true\n'),
        ("gemini", ".gemini/extensions/x/gemini-extension.json", b'{"name": "x", "mcpServers": {"other": {}}}'),
        ("gemini", ".gemini/extensions/x/gemini-extension.json", b"{"),
    ],
)
def test_another_plugin_or_one_that_is_switched_off_is_not_in_the_way(
    setup: Setup, name: str, path: str, data: bytes
) -> None:
    put(setup.machine.home / path, data)
    assert setup.left() == []
    assert setup.set_up(AGENTS[name], "user", Parts()).changed


def test_setup_makes_the_data_directory_for_its_owner_alone(setup: Setup) -> None:
    before = os.umask(0o022)
    try:
        setup.set_up(AGENTS["cursor"], "user", Parts())
    finally:
        os.umask(before)
    made = [setup.data_dir, setup.data_dir / "setup", setup.data_dir / "setup" / "originals"]
    assert [folder.stat().st_mode & 0o777 for folder in made] == [0o700] * 3


def test_a_symbolic_link_is_refused_with_where_it_leads(setup: Setup, servers: Path, tmp_path: Path) -> None:
    target = put(tmp_path / "dotfiles" / "mcp.json", b"{}")
    servers.symlink_to(target)
    assert f"it is a symbolic link to {target}" in refusal(setup).reason
    assert target.read_bytes() == b"{}"
    servers.unlink()
    servers.symlink_to(servers)
    assert "symbolic link" in refusal(setup).reason


def test_in_a_project_a_folder_that_is_a_link_out_of_it_is_refused(setup: Setup) -> None:
    theirs = put(setup.machine.home / ".gemini" / "settings.json", b'{"theme": "x"}')
    (setup.machine.project / ".gemini").symlink_to(theirs.parent, target_is_directory=True)
    before = tree(setup.machine.home, setup.machine.project)
    with pytest.raises(SetupRefusedError, match="out of the project") as refused:
        setup.set_up(AGENTS["gemini"], "project", Parts())
    assert refused.value.path == str(setup.machine.project / ".gemini" / "settings.json")
    with pytest.raises(SetupRefusedError, match="out of the project"):
        setup.take_out(AGENTS["gemini"], "project")
    assert tree(setup.machine.home, setup.machine.project) == before


def test_in_a_project_a_link_to_another_of_its_folders_is_followed(setup: Setup) -> None:
    (setup.machine.project / "config").mkdir()
    (setup.machine.project / ".gemini").symlink_to("config", target_is_directory=True)
    assert setup.set_up(AGENTS["gemini"], "project", Parts()).changed
    assert (setup.machine.project / "config" / "settings.json").is_file()


def test_what_is_no_file_or_read_only_is_refused(setup: Setup, servers: Path) -> None:
    servers.mkdir()
    assert refusal(setup).reason == "it is not a file"
    servers.rmdir()
    os.mkfifo(servers)
    with pytest.raises(SetupRefusedError, match="it is not a file"):
        setup.set_up(AGENTS["cursor"], "user", Parts())
    servers.unlink()

    put(servers, b"{}").chmod(0o444)
    assert refusal(setup).reason == "it is read-only"
    servers.chmod(0o644)
    servers.unlink()
    servers.parent.chmod(0o555)
    try:
        assert "is read-only" in refusal(setup).reason
    finally:
        servers.parent.chmod(0o755)


def test_on_windows_a_folder_that_is_marked_read_only_can_be_written(
    setup: Setup, servers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "WINDOWS", True)
    monkeypatch.setattr("engram_py.interfaces.setup.manifest.os.access", lambda *_: True)
    servers.parent.chmod(0o555)
    try:
        assert files.look(servers) == FileState(None)
    finally:
        servers.parent.chmod(0o755)


def test_a_file_of_ours_that_somebody_edited_is_neither_rewritten_nor_removed(setup: Setup) -> None:
    setup.set_up(AGENTS["kiro"], "user", Parts())
    path = setup.machine.home / ".kiro" / "steering" / "engram.md"
    path.write_text("mine now\n")

    refused = refusal(setup, "kiro")
    assert "was edited" in refused.reason
    assert refused.hint == "move it away, then run the command again"
    setup.take_out(AGENTS["kiro"], "user")
    assert path.read_text() == "mine now\n"


def test_a_file_that_changes_between_reading_and_writing_is_not_overwritten(servers: Path) -> None:
    put(servers, b"new")
    with pytest.raises(SetupRefusedError, match="another program changed it just now"):
        replace(servers, b"ours", found=FileState(b"old"))
    assert servers.read_bytes() == b"new"
    assert [path.name for path in servers.parent.iterdir()] == ["mcp.json"]


def test_unsetup_refuses_what_became_unreadable_and_says_so(setup: Setup, servers: Path) -> None:
    setup.set_up(AGENTS["cursor"], "user", Parts())
    put(servers, b'{"mcpServers": {"engram": ')
    with pytest.raises(SetupRefusedError) as caught:
        setup.take_out(AGENTS["cursor"], "user")
    assert caught.value.path == str(servers)


def test_a_backup_that_was_tampered_with_is_not_put_back(setup: Setup, servers: Path, data_dir: Path) -> None:
    put(servers, b"{}")
    setup.set_up(AGENTS["cursor"], "user", Parts())
    for kept in (data_dir / "setup" / "originals").iterdir():
        kept.write_bytes(b'{"mcpServers": {"evil": {"command": "sh"}}}')
    with pytest.raises(SetupRefusedError, match="not what setup kept there"):
        setup.take_out(AGENTS["cursor"], "user")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"version": 99}', b'{"version": 1, "files": {"/x": 3}}'])
def test_a_manifest_that_cannot_be_read_stops_setup(setup: Setup, data_dir: Path, data: bytes) -> None:
    put(data_dir / "setup" / "manifest.json", data)
    with pytest.raises(SetupRefusedError, match="it cannot be read"):
        setup.set_up(AGENTS["cursor"], "user", Parts())


def test_a_scope_an_agent_does_not_have_and_an_agent_nobody_knows_are_named(setup: Setup) -> None:
    with raising(SetupError, "scope_unavailable", match="Windsurf"):
        setup.set_up(AGENTS["windsurf"], "project", Parts())
    with raising(SetupError, "unknown_agent", match="'emacs'"):
        agents_named(["cursor", "emacs"])
    named = agents_named(["gemini-cli", "vscode-copilot", "antigravity-cli", "gemini"])
    assert [agent.name for agent in named] == ["gemini", "vscode", "antigravity"]


def test_a_second_process_is_told_that_a_setup_is_running(setup: Setup) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as another:
        with opened(setup.data_dir):
            assert another.apply(_try, (setup,)) == "another setup is running"
        assert another.apply(_try, (setup,)) == ""


def _try(setup: Setup) -> str:
    try:
        setup.set_up(AGENTS["cursor"], "user", Parts())
    except SetupRefusedError as exc:
        return exc.reason
    return ""


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
        ("linux", "COPILOT_HOME", "{copilot}/mcp-config.json", "moved/mcp-config.json"),
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
        ("/home/jo/.cache/uv/archive-v0/x1y2", "uvx", ["--from", "SOURCE", "engram", "mcp"]),
        ("/home/jo/.local/pipx/.cache/ab12", "pipx", ["run", "--spec", "SOURCE", "engram", "mcp"]),
    ],
)
def test_from_an_environment_that_will_not_stay_its_runner_is_registered(
    machine_of: MachineOf, tmp_path: Path, prefix: str, runner: str, words: list[str]
) -> None:
    program = tmp_path / runner
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    machine = machine_of("linux", PATH=str(tmp_path))
    assert launcher(machine, executable=f"{prefix}/bin/python", prefix=prefix).server() == [
        str(program),
        *(install_source() if word == "SOURCE" else word for word in words),
    ]


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
        (
            "copilot",
            ".copilot/mcp-config.json",
            "mcpServers",
            {"command": "/e", "args": ["mcp"], "type": "local", "tools": ["*"]},
        ),
        ("amp", ".config/amp/settings.json", "amp.mcpServers", {"command": "/e", "args": ["mcp"]}),
        ("continue", ".continue/mcpServers/engram.json", "mcpServers", {"command": "/e", "args": ["mcp"]}),
        ("droid", ".factory/mcp.json", "mcpServers", {"type": "stdio", "command": "/e", "args": ["mcp"]}),
        ("pi", ".pi/agent/mcp.json", "mcpServers", {"command": "/e", "args": ["mcp"], "directTools": True}),
    ],
)
def test_each_agent_is_given_its_server_where_and_as_it_reads_it(
    machine: Machine, data_dir: Path, name: str, path: str, key: str, entry: object
) -> None:
    Setup(machine, data_dir, Launcher(("/e",))).set_up(AGENTS[name], "user", Parts())
    assert json.loads((machine.home / path).read_text())[key]["engram"] == entry
