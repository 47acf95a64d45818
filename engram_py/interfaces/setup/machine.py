"""The machine that agents are set up on, the command that starts engram there, and what an agent installed itself."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from engram_py.base.dataclass import dataclass
from engram_py.base.files import expanded, in_home
from engram_py.base.install_hints import install_source

System = Literal["linux", "darwin", "windows"]


# place → the variable that names it, and where it is below the home directory without that.
_MOVABLE = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "codex": ("CODEX_HOME", ".codex"),
    "claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "claude_state": ("CLAUDE_CONFIG_DIR", ""),  # .claude.json lies beside ~/.claude, but inside of CLAUDE_CONFIG_DIR
    "copilot": ("COPILOT_HOME", ".copilot"),
    "kimi": ("KIMI_CODE_HOME", ".kimi-code"),
    "pi": ("PI_CODING_AGENT_DIR", ".pi/agent"),
}


@dataclass(frozen=True, slots=True)
class Machine:
    """The user's files and environment. ``project`` is the folder that ``--scope project`` writes to."""

    system: System
    home: Path
    environ: Mapping[str, str]
    project: Path

    def place(self, template: str) -> Path:
        """Return the path of ``{home}/.cursor/mcp.json`` and the like on this machine."""
        name, _, rest = template.removeprefix("{").partition("}")
        return self._folder(name) / rest.lstrip("/") if rest else self._folder(name)

    def program(self, name: str) -> str | None:
        """Return the absolute path of a program on the PATH, None when there is none."""
        found = shutil.which(name, path=self.environ.get("PATH", ""))
        return str(Path(found).absolute()) if found else None

    def _folder(self, name: str) -> Path:
        if name in _MOVABLE:
            variable, usual = _MOVABLE[name]
            return self._named(variable, self.home / usual)
        match name:
            case "home":
                return self.home
            case "project":
                return self.project
            case "zed":
                return self._roaming() / "Zed" if self.system == "windows" else self._folder("config") / "zed"
            case "goose":
                windows = self.system == "windows"
                return self._roaming() / "Block" / "goose" / "config" if windows else self._folder("config") / "goose"
            case "code":
                return self._application("Code") / "User"
            case "code_insiders":
                return self._application("Code - Insiders") / "User"
        raise ValueError(f"no place is called {name!r}")

    def _application(self, name: str) -> Path:
        match self.system:
            case "windows":
                return self._roaming() / name
            case "darwin":
                return self.home / "Library" / "Application Support" / name
            case "linux":
                return self._folder("config") / name

    def _roaming(self) -> Path:
        return self._named("APPDATA", self.home / "AppData" / "Roaming")

    def _named(self, variable: str, otherwise: Path) -> Path:
        """Return the path in a variable; a relative path is ignored, as the XDG specification asks."""
        value = self.environ.get(variable, "").strip()
        path = expanded(value)
        return path if path.is_absolute() else otherwise


def this_machine(project: Path) -> Machine:
    system: System = "windows" if os.name == "nt" else "darwin" if sys.platform == "darwin" else "linux"
    return Machine(system=system, home=in_home(""), environ=dict(os.environ), project=project)


# The plugin for Claude Code, and the one that agents install from the repository.
MARKETPLACE = "engram-py"
PLUGIN = f"engram@{MARKETPLACE}"
# The folder of setup's own marketplace, in the data directory.
PLUGIN_FOLDER = ("setup", "claude-plugin")


@dataclass(frozen=True, slots=True)
class OwnPlugin:
    """A plugin or extension that brings engram and that the agent installed itself. ``removal`` is the command."""

    path: Path
    what: str
    removal: str


def own_plugin(agent: str, machine: Machine) -> OwnPlugin | None:
    """Return what the agent installed of engram without setup, as Claude Code 2.1, Codex 0.169 and Gemini CLI 0.61
    write it down; None where there is nothing, or its files cannot be read."""
    match agent:
        case "claude-code":
            return _claude_plugin(machine)
        case "codex":
            path = machine.place("{codex}/config.toml")
            there = isinstance(one := _member(path, "plugins", PLUGIN), dict) and one.get("enabled") is not False
            return OwnPlugin(path, f"the plugin {PLUGIN}", f"codex plugin remove {PLUGIN}") if there else None
        case "gemini":
            return _gemini_extension(machine.place("{home}/.gemini/extensions"))
    return None


def _claude_plugin(machine: Machine) -> OwnPlugin | None:
    """Return the marketplace of our name that is not setup's: Claude Code has one of a name, and its plugins."""
    path = machine.place("{claude}/plugins/known_marketplaces.json")
    source = _member(path, MARKETPLACE, "source")
    if not isinstance(source, dict) or Path(str(source.get("path"))).parts[-2:] == PLUGIN_FOLDER:
        return None
    installed = _member(path.with_name("installed_plugins.json"), "plugins", PLUGIN)
    what = f"the plugin {PLUGIN}" if installed else f"the marketplace {MARKETPLACE}"
    return OwnPlugin(path, what, f"claude plugin marketplace remove {MARKETPLACE}")


def _gemini_extension(folder: Path) -> OwnPlugin | None:
    """Return the extension from our repository, or another one with a server of our name."""
    for path in sorted(folder.glob("*/")):
        about = path / "gemini-extension.json"
        if path.name == MARKETPLACE or _member(about, "mcpServers", "engram"):
            name = _member(about, "name") or path.name
            return OwnPlugin(path, f"the extension {name}", f"gemini extensions uninstall {name}")
    return None


def _member(path: Path, *names: str) -> Any:
    """Return a member of a JSON or TOML file, None where that cannot be had."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            import tomllib

            found: Any = tomllib.loads(text)
        else:
            found = json.loads(text)
        for name in names:
            found = found[name]
        return found
    return None


# Environments that `uvx` and `pipx run` make, and throw away when they like.
_PASSING = (("uv", "archive-v0"), ("uv", "environments-v2"), ("pipx", ".cache"), (".cache", "pipx"))


@dataclass(frozen=True, slots=True)
class Launcher:
    """The command that starts engram: program and first arguments. ``options`` name the data directory, if need be."""

    words: tuple[str, ...]
    options: tuple[str, ...] = ()
    windows: bool = False

    def shared(self) -> Launcher:
        """Return the same for files that other machines read too: whatever `engram` is on the PATH there."""
        return Launcher(("engram",), windows=self.windows)

    def server(self) -> list[str]:
        return [*self.words, *self.options, "mcp"]

    def hook(self, event: str, agent: str, *switches: str) -> str:
        """Return the shell line of a hook, for sh, and on Windows for cmd.exe and Git's bash."""
        # The hook's own words come first: it starts without the command line's parser, which takes time.
        words = [*self.words, "hook", event, "--agent", agent, *switches, *self.options]
        if not self.windows:
            return shlex.join(words)
        return subprocess.list2cmdline([word.replace("\\", "/") for word in words])


def launcher(machine: Machine, *, data_dir: Path | None = None, executable: str = "", prefix: str = "") -> Launcher:
    """Return the launcher of the installation that runs now, with ``data_dir`` where it is not the default one.

    The ``engram`` script beside the interpreter is the first choice. ``python -m engram_py`` would import what lies in
    the project the agent works on, so it is only used with ``-P``, and on Windows, where a running script's .exe could
    not be replaced by an upgrade.
    """
    executable = executable or sys.executable
    folder = Path(prefix or sys.prefix)
    options = ("--data-dir", str(data_dir)) if data_dir else ()
    windows = machine.system == "windows"
    passing = _runner(machine, folder)
    if passing:
        return Launcher(passing, options, windows)
    script = folder / "bin" / "engram"
    if not windows and script.is_file():
        return Launcher((str(script),), options)
    return Launcher((executable, "-P", "-m", "engram_py"), options, windows)


def current_launcher(machine: Machine, data_dir: Path) -> Launcher:
    """Return the launcher for ``data_dir``, named unless it is the default: an agent started from a menu does not see
    the variables of this shell."""
    from engram_py.base.settings import load_settings

    plain = {name: value for name, value in machine.environ.items() if name != "ENGRAM_DATA_DIR"}
    return launcher(machine, data_dir=data_dir if data_dir != load_settings(plain).data_dir else None)


def _runner(machine: Machine, folder: Path) -> tuple[str, ...] | None:
    """Return the program that made this temporary environment, None for a permanent one."""
    pairs = list(zip(folder.parts, folder.parts[1:], strict=False))
    if not any(pair in pairs for pair in _PASSING):
        return None
    if "uv" in folder.parts and (uvx := machine.program("uvx")):
        return (uvx, "--from", install_source(), "engram")
    if "pipx" in folder.parts and (pipx := machine.program("pipx")):
        return (pipx, "run", "--spec", install_source(), "engram")
    return None
