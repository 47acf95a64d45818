"""Behaves as ``claude plugin`` 2.1.197 was seen to (tests/clients runs the real one): rewrites settings as it likes.

With STAND_IN_REFUSES in the environment, ``plugin install`` fails as it does on settings that are not JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

HOME = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path(os.environ["HOME"]) / ".claude")
STATE = Path(os.environ.get("CLAUDE_CONFIG_DIR") or os.environ["HOME"]) / ".claude.json"
PLUGINS = HOME / "plugins"


def main(words: list[str]) -> int:
    with (Path(os.environ["HOME"]).parent / "claude-was-asked").open("a") as log:
        log.write(" ".join(words) + "\n")
    if "CLAUDECODE" in os.environ:
        sys.stderr.write("Claude Code cannot be started inside of another session\n")
        return 1
    if not STATE.exists():
        STATE.parent.mkdir(parents=True, exist_ok=True)
        STATE.write_text('{"machineID": "1"}')
        (HOME / "backups").mkdir(parents=True, exist_ok=True)
        (HOME / "backups" / ".claude.json.backup.1").write_text("{}")
    match words[1:]:
        case ["marketplace", "add", folder]:
            name = json.loads((Path(folder) / ".claude-plugin" / "marketplace.json").read_text())["name"]
            source = {"source": {"source": "directory", "path": folder}}
            change(HOME / "settings.json", ("extraKnownMarketplaces", name), source)
            change(PLUGINS / "known_marketplaces.json", (name,), source)
            (PLUGINS / "marketplaces").mkdir(exist_ok=True)
        case ["install", plugin]:
            if "STAND_IN_REFUSES" in os.environ:
                sys.stderr.write("Failed to update settings\n")
                return 1
            copy = PLUGINS / "cache" / plugin.partition("@")[2] / "engram" / "1"
            known = json.loads((PLUGINS / "known_marketplaces.json").read_text())
            source = known[plugin.partition("@")[2]]["source"]["path"]
            shutil.copytree(source, copy, dirs_exist_ok=True)
            change(HOME / "settings.json", ("enabledPlugins", plugin), True)
            change(PLUGINS / "installed_plugins.json", ("plugins", plugin), [{"installPath": str(copy)}])
        case ["uninstall", plugin]:
            change(HOME / "settings.json", ("enabledPlugins", plugin), None)
            change(PLUGINS / "installed_plugins.json", ("plugins", plugin), None)
        case ["marketplace", "remove", name]:
            change(HOME / "settings.json", ("extraKnownMarketplaces", name), None)
            change(PLUGINS / "known_marketplaces.json", (name,), None)
            change(HOME / "settings.json", ("enabledPlugins", f"engram@{name}"), None)
            change(PLUGINS / "installed_plugins.json", ("plugins", f"engram@{name}"), None)
    return 0


def change(path: Path, member: tuple[str, ...], value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = json.loads(path.read_text()) if path.exists() else {}
    inner = whole
    for name in member[:-1]:
        inner = inner.setdefault(name, {})
    if value is None:
        inner.pop(member[-1], None)
    else:
        inner[member[-1]] = value
    if path.name == "installed_plugins.json":
        whole["version"] = 2
    path.write_text(json.dumps(whole, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
