"""The machine that agents are set up on, as a value: a test describes a Windows one without being on it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

System = Literal["linux", "darwin", "windows"]


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a person's files are. ``project`` is the folder that ``--scope project`` writes to."""

    system: System
    home: Path
    environ: Mapping[str, str]
    project: Path

    def place(self, template: str) -> Path:
        """The path of ``{home}/.cursor/mcp.json`` and the like on this machine."""
        name, _, rest = template.removeprefix("{").partition("}")
        return self._folder(name) / rest.lstrip("/") if rest else self._folder(name)

    def program(self, name: str) -> str | None:
        """The absolute path of a program on the PATH, None when there is none."""
        found = shutil.which(name, path=self.environ.get("PATH", ""))
        return str(Path(found).absolute()) if found else None

    def _folder(self, name: str) -> Path:
        match name:
            case "home":
                return self.home
            case "project":
                return self.project
            case "config":
                return self._named("XDG_CONFIG_HOME", self.home / ".config")
            case "codex":
                return self._named("CODEX_HOME", self.home / ".codex")
            case "claude":
                return self._named("CLAUDE_CONFIG_DIR", self.home / ".claude")
            case "claude_state":  # .claude.json lies beside ~/.claude, but inside of CLAUDE_CONFIG_DIR
                return self._named("CLAUDE_CONFIG_DIR", self.home)
            case "kimi":
                return self._named("KIMI_CODE_HOME", self.home / ".kimi-code")
            case "pi":
                return self._named("PI_CODING_AGENT_DIR", self.home / ".pi" / "agent")
            case "zed":
                return self._roaming() / "Zed" if self.system == "windows" else self._folder("config") / "zed"
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
        """What a variable names; a relative path is ignored, as the XDG specification asks."""
        value = self.environ.get(variable, "").strip()
        return Path(value) if value and Path(value).is_absolute() else otherwise


def this_machine(project: Path) -> Machine:
    system: System = "windows" if os.name == "nt" else "darwin" if sys.platform == "darwin" else "linux"
    return Machine(system=system, home=Path.home(), environ=dict(os.environ), project=project)
