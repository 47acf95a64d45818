"""The command an agent starts engram with: absolute, still there next week, and deaf to the folder it is started in.

Files of a project are read on other machines as well: there it is the plain name.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from engram_py.interfaces.setup.machine import Machine

# Environments that `uvx` and `pipx run` make, and throw away when they like.
_PASSING = (("uv", "archive-v0"), ("uv", "environments-v2"), ("pipx", ".cache"), (".cache", "pipx"))


@dataclass(frozen=True, slots=True)
class Launcher:
    """How engram is started: a program and its first arguments. ``options`` say which data directory, if need be."""

    words: tuple[str, ...]
    options: tuple[str, ...] = ()
    windows: bool = False

    def shared(self) -> Launcher:
        """The same for files that other machines read too: whatever `engram` is on the PATH there."""
        return Launcher(("engram",), windows=self.windows)

    def server(self) -> list[str]:
        return [*self.words, *self.options, "mcp"]

    def hook(self, event: str, agent: str) -> str:
        """The line a shell runs for a hook: sh, cmd.exe or Git's bash on Windows, which all take forward slashes."""
        switch = ("--pretool", "on") if event == "pre-tool" else ()
        # The hook's own words come first: it starts without the command line's parser, which takes time.
        words = [*self.words, "hook", event, "--agent", agent, *switch, *self.options]
        if not self.windows:
            return shlex.join(words)
        return subprocess.list2cmdline([word.replace("\\", "/") for word in words])


def launcher(machine: Machine, *, data_dir: Path | None = None, executable: str = "", prefix: str = "") -> Launcher:
    """The launcher of the installation that runs now. ``data_dir`` where it is not the default one.

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


def _runner(machine: Machine, folder: Path) -> tuple[str, ...] | None:
    """What made this passing environment, and will make it again; None where it is meant to stay."""
    pairs = list(zip(folder.parts, folder.parts[1:], strict=False))
    if not any(pair in pairs for pair in _PASSING):
        return None
    if "uv" in folder.parts and (uvx := machine.program("uvx")):
        return (uvx, "--from", "engram-py", "engram")
    if "pipx" in folder.parts and (pipx := machine.program("pipx")):
        return (pipx, "run", "--spec", "engram-py", "engram")
    return None
