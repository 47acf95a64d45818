"""The Claude Code plugin: what it holds, and that installing and removing it leaves no trace."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from engram_py.interfaces.mcp.profiles import PROFILES
from engram_py.interfaces.setup.agents import AGENTS, Parts
from engram_py.interfaces.setup.installing import Setup, render
from engram_py.interfaces.setup.machine import MARKETPLACE, PLUGIN, Launcher, Machine
from engram_py.interfaces.setup.manifest import PluginFailedError, SetupRefusedError

from .conftest import tree

CLAUDE = AGENTS["claude-code"]
PACKAGED = Path(str(resources.files("engram_py") / "plugin"))
MARKETS = "known_marketplaces.json"
SETTINGS = '{\n    "model": "opus",\n  "enabledPlugins": {"other@shop": true}, "env": {}\n}'


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with a ``claude`` on its PATH."""
    home, program = tmp_path / "home", tmp_path / "bin" / "claude"
    (home / ".claude").mkdir(parents=True)
    (home / "widgets").mkdir()
    program.parent.mkdir()
    stand_in = Path(__file__).with_name("claude_stand_in.py")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{stand_in}" "$@"\n')
    program.chmod(0o755)
    environ = {"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": str(home)}
    return Machine("linux", home, environ, home / "widgets")


@pytest.fixture
def settings(machine: Machine) -> Path:
    """Claude Code's settings, as somebody wrote them."""
    path = machine.home / ".claude" / "settings.json"
    path.write_text(SETTINGS)
    return path


@pytest.fixture
def moved(setup: Setup, machine: Machine) -> Setup:
    """Another installation of engram on the same machine."""
    return Setup(machine, setup.data_dir, Launcher(("/elsewhere/engram",)))


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """The commands ``claude`` was run with, a line each."""
    return tmp_path / "claude-was-asked"


def installed(setup: Setup) -> dict[str, object]:
    return dict(
        json.loads((setup.machine.home / ".claude" / "plugins" / "installed_plugins.json").read_text())["plugins"]
    )


# --- what is in it ---------------------------------------------------------------------------------------


def test_the_packaged_files_are_what_is_installed_but_for_command_and_version() -> None:
    rendered = render(Launcher(("engram",)))
    for name, data in rendered.items():
        packaged = (PACKAGED / name).read_bytes()
        if name == ".claude-plugin/plugin.json":
            assert json.loads(packaged).keys() == json.loads(data).keys()
        else:
            assert data == packaged, f"write {name} again"


def test_the_installed_plugin_runs_this_installation() -> None:
    rendered = render(Launcher(("/opt/e n/engram",), ("--data-dir", "/d")))
    server = json.loads(rendered[".mcp.json"])["mcpServers"]["engram"]
    assert (server["command"], server["args"]) == ("/opt/e n/engram", ["--data-dir", "/d", "mcp"])
    assert server["alwaysLoad"] is True
    hooks = json.loads(rendered["hooks/hooks.json"])["hooks"]
    [start] = hooks["SessionStart"]
    command = "'/opt/e n/engram' hook session-start --agent claude-code --data-dir /d"
    assert start["matcher"] == "startup|resume|clear|compact"
    assert start["hooks"] == [{"type": "command", "command": command, "timeout": 15}]
    told = "'/opt/e n/engram' hook pre-tool --agent claude-code"
    assert hooks["PreToolUse"][0]["hooks"][0]["command"] == f"{told} --data-dir /d"
    assert hooks["PostToolUse"][0]["matcher"] == hooks["PreToolUse"][0]["matcher"]
    assert hooks["PostToolUseFailure"][0]["matcher"] == "Bash"
    version = ".claude-plugin/plugin.json"
    assert len({render(Launcher((word,)))[version] for word in ("/a", "/b", "/a")}) == 2
    assert (
        b"pre-tool --agent claude-code --pretool on" in render(Launcher(("engram",)), pre_tool=True)["hooks/hooks.json"]
    )


def test_the_skill_costs_less_than_600_tokens_and_what_is_always_shown_less_than_60() -> None:
    skill = (PACKAGED / "skills" / "engram-memory" / "SKILL.md").read_text(encoding="utf-8")
    described = re.findall(r"^description: (.*)$", skill, re.MULTILINE)[0]
    assert len(skill.encode()) / 4 < 600
    assert len(described.encode()) / 4 < 60


def test_skill_and_commands_name_only_tools_that_exist() -> None:
    texts = [path.read_text(encoding="utf-8") for path in PACKAGED.rglob("*.md")]
    named = {name for text in texts for name in re.findall(r"\bmem_[a-z_]+", text)}
    assert {"mem_search", "mem_save", "mem_delete"} <= named
    assert named <= set(PROFILES["core"])
    assert {path.stem for path in (PACKAGED / "commands").iterdir()} == {"recall", "save", "forget"}


# --- installing it ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("settings")
def test_setup_has_claude_install_the_plugin_once_and_unsetup_brings_every_byte_back(setup: Setup, asked: Path) -> None:
    before = tree(setup.machine.home)

    done = setup.set_up(CLAUDE, "user", Parts())

    assert [step.kind for step in done.steps] == ["installed"]
    assert list(installed(setup)) == [PLUGIN]
    assert asked.read_text().splitlines() == [
        f"plugin marketplace add {setup.data_dir / 'setup' / 'claude-plugin'}",
        f"plugin install {PLUGIN}",
    ]
    assert not setup.set_up(CLAUDE, "user", Parts()).changed
    assert len(asked.read_text().splitlines()) == 2
    setup.take_out(CLAUDE, "user")
    assert tree(setup.machine.home) == before
    assert not (setup.data_dir / "setup" / "claude-plugin").exists()


@pytest.mark.usefixtures("settings")
def test_another_installation_replaces_the_plugin_and_the_first_state_comes_back(
    setup: Setup, machine: Machine, moved: Setup
) -> None:
    before = tree(machine.home)
    setup.set_up(CLAUDE, "user", Parts())
    assert moved.set_up(CLAUDE, "user", Parts()).changed

    copy = next((machine.home / ".claude" / "plugins" / "cache" / MARKETPLACE).rglob(".mcp.json"))
    assert "/elsewhere/engram" in copy.read_text()
    moved.take_out(CLAUDE, "user")
    assert tree(machine.home) == before


def test_the_plugin_of_another_marketplace_of_our_name_is_in_the_way_until_it_is_removed(
    setup: Setup, machine: Machine, tmp_path: Path
) -> None:
    folder = tmp_path / "clone" / ".claude-plugin"
    folder.mkdir(parents=True)
    (folder / "marketplace.json").write_text(json.dumps({"name": MARKETPLACE}))
    claude = ("plugin", "marketplace", "add", str(folder.parent)), ("plugin", "install", PLUGIN)
    for words in claude:
        subprocess.run([str(machine.program("claude")), *words], env=dict(machine.environ), check=True)
    before = tree(machine.home)
    for parts in (Parts(), Parts(hooks=False)):
        with pytest.raises(SetupRefusedError, match=f"has engram already, from the plugin {PLUGIN}$") as refused:
            setup.set_up(CLAUDE, "user", parts)
    assert not setup.take_out(CLAUDE, "user").changed
    assert tree(machine.home) == before

    [removal] = re.findall("`claude (.*)`", str(refused.value.hint))
    subprocess.run([str(machine.program("claude")), *removal.split()], env=dict(machine.environ), check=True)

    assert setup.set_up(CLAUDE, "user", Parts()).changed
    assert setup.left() == []


@pytest.mark.parametrize("when", ["while claude installs", "after setup", "between two versions"])
def test_a_setting_that_somebody_changed_keeps_the_change_and_loses_the_plugin(
    setup: Setup, settings: Path, moved: Setup, tmp_path: Path, when: str
) -> None:
    if when == "while claude installs":
        program = tmp_path / "bin" / "claude"
        granting = f"sed -i.bak s/opus/sonnet/ '{settings}' && rm '{settings}.bak'"
        program.write_text(program.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{granting}\n"))
    setup.set_up(CLAUDE, "user", Parts())
    settings.write_text(settings.read_text().replace("opus", "sonnet"))
    if when == "between two versions":
        moved.set_up(CLAUDE, "user", Parts())

    setup.take_out(CLAUDE, "user")

    assert json.loads(settings.read_text()) == {**json.loads(SETTINGS), "model": "sonnet"}


@pytest.mark.parametrize("there", ["settings", "a folder", "nothing"])
@pytest.mark.parametrize("claude_is_gone", [False, True])
def test_files_that_were_only_written_again_come_back_as_they_were_or_go(
    setup: Setup, machine: Machine, tmp_path: Path, there: str, claude_is_gone: bool
) -> None:
    if there == "settings":
        (machine.home / ".claude" / "settings.json").write_text(SETTINGS)
    elif there == "nothing":
        (machine.home / ".claude").rmdir()
    before = tree(setup.machine.home)
    setup.set_up(CLAUDE, "user", Parts())
    for path in (setup.machine.home / ".claude").rglob("*.json"):
        path.write_text(json.dumps(json.loads(path.read_text())))
    if claude_is_gone:
        (tmp_path / "bin" / "claude").unlink()
    setup.take_out(CLAUDE, "user")
    assert tree(setup.machine.home) == before


def test_other_plugins_that_came_meanwhile_stay(setup: Setup) -> None:
    setup.set_up(CLAUDE, "user", Parts())
    plugins = setup.machine.home / ".claude" / "plugins"
    both = {name: json.loads((plugins / name).read_text()) for name in ("installed_plugins.json", MARKETS)}
    both["installed_plugins.json"]["plugins"]["new@shop"] = []
    both[MARKETS]["shop"] = 1
    for name, whole in both.items():
        (plugins / name).write_text(json.dumps(whole))

    setup.take_out(CLAUDE, "user")

    assert installed(setup) == {"new@shop": []}
    assert json.loads((plugins / MARKETS).read_text()) == {"shop": 1}


@pytest.mark.usefixtures("settings")
def test_when_claude_refuses_its_words_are_passed_on_and_nothing_is_left(setup: Setup, machine: Machine) -> None:
    before = tree(machine.home)
    refused = Machine("linux", machine.home, {**machine.environ, "STAND_IN_REFUSES": "1"}, machine.project)
    refusing = Setup(refused, setup.data_dir, setup.start)
    with pytest.raises(PluginFailedError, match="Failed to update settings"):
        refusing.set_up(CLAUDE, "user", Parts())
    assert tree(machine.home) == before


def test_what_was_registered_by_hand_makes_room_for_the_plugin_and_the_other_way_round(
    setup: Setup, machine: Machine
) -> None:
    without = Machine("linux", machine.home, {"HOME": str(machine.home), "PATH": ""}, machine.project)
    before = tree(machine.home)
    Setup(without, setup.data_dir, setup.start).set_up(CLAUDE, "user", Parts())
    assert "engram" in (machine.home / ".claude.json").read_text()

    setup.set_up(CLAUDE, "user", Parts())
    assert "engram" not in (machine.home / ".claude.json").read_text()
    assert list(installed(setup)) == [PLUGIN]

    setup.set_up(CLAUDE, "user", Parts(hooks=False))
    assert not (machine.home / ".claude" / "plugins").exists()
    assert "engram" in (machine.home / ".claude.json").read_text()
    setup.take_out(CLAUDE, "user")
    assert tree(machine.home) == before


def test_the_folder_of_claude_config_dir_is_used(setup: Setup, machine: Machine, tmp_path: Path) -> None:
    other = tmp_path / "claude-config"
    environ = {**machine.environ, "CLAUDE_CONFIG_DIR": str(other), "CLAUDECODE": "1"}  # from within a session
    moved = Machine("linux", machine.home, environ, machine.project)
    before = tree(machine.home)
    Setup(moved, setup.data_dir, setup.start).set_up(CLAUDE, "user", Parts())
    assert PLUGIN in (other / "settings.json").read_text()
    assert tree(machine.home) == before


def test_a_server_that_was_registered_by_hand_is_left_and_mentioned(setup: Setup) -> None:
    state = setup.machine.home / ".claude.json"
    state.write_text('{"mcpServers": {"engram": {"command": "engram", "args": ["mcp"]}}}')
    assert "claude mcp remove engram" in setup.set_up(CLAUDE, "user", Parts()).note
    assert "engram" in state.read_text()
