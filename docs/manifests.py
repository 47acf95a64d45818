"""Writes what agents and registries read to install engram from this repository: ``make docs`` after a change.

Everything comes from ``[project]`` in pyproject.toml, the version of the package and the tables of ``engram setup``.
``make bundle`` packs the same into an .mcpb file.
"""

from __future__ import annotations

import json
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from engram_py import __version__
from engram_py.interfaces.mcp.profiles import PROFILES, declared
from engram_py.interfaces.mcp.protocol import SUMMARY
from engram_py.interfaces.setup.agents import AGENTS, PROTOCOL, SERVER_NAME, entry, hook_items
from engram_py.interfaces.setup.installing import render
from engram_py.interfaces.setup.machine import MARKETPLACE, Launcher

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY: str = PROJECT["urls"]["Repository"]
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

PLUGIN = "plugins/engram"
SKILL = "skills/engram-memory/SKILL.md"
# A plugin runs on machines that it does not know: `engram` may be another program there, `engram-py` is not.
START = Launcher(("engram-py",))
# Without the command hooks fail, and Claude Code leaves the server out for 15 minutes after its first failure.
NEEDS = "Install the command engram-py first: `uv tool install .` in a clone of its repository."
DESCRIPTION = f"{SUMMARY} {NEEDS}"

Value = dict[str, Any]


def files() -> dict[str, bytes]:
    """Return every generated file by its path in the repository."""
    values = {
        ".claude-plugin/marketplace.json": _claude_marketplace(),
        ".agents/plugins/marketplace.json": _codex_marketplace(),
        ".cursor-plugin/marketplace.json": _marketplace(PLUGIN),
        f"{PLUGIN}/.codex-plugin/plugin.json": _codex_plugin(),
        f"{PLUGIN}/.codex-plugin/mcp.json": _servers("codex"),
        f"{PLUGIN}/.codex-plugin/hooks.json": _hooks("codex"),
        f"{PLUGIN}/.cursor-plugin/plugin.json": _cursor_plugin(),
        f"{PLUGIN}/.cursor-plugin/mcp.json": _servers("cursor"),
        f"{PLUGIN}/.cursor-plugin/hooks.json": {"version": 1} | _hooks("cursor"),
        "gemini-extension.json": _gemini_extension(),
        "hooks/hooks.json": _hooks("gemini"),  # where Gemini CLI looks in an extension
        "server.json": _registry_entry(),
    }
    skill = (resources.files("engram_py") / "plugin" / SKILL).read_bytes()
    texts = {SKILL: skill, "plugins/gemini/GEMINI.md": PROTOCOL.encode()}
    return {name: _json(value) for name, value in values.items()} | _claude_plugin() | texts


def _claude_plugin() -> dict[str, bytes]:
    """Return the plugin as ``engram setup`` installs it, with the plain command and the version of the package."""
    made = {f"{PLUGIN}/{name}": data for name, data in render(START).items() if not name.endswith("marketplace.json")}
    name = f"{PLUGIN}/.claude-plugin/plugin.json"
    return made | {name: _json(json.loads(made[name]) | _about() | {"author": _author()})}


def _about() -> Value:
    return {
        "name": SERVER_NAME,
        "version": __version__,
        "description": DESCRIPTION,
        "homepage": REPOSITORY,
        "repository": REPOSITORY,
        "license": PROJECT["license"],
        "keywords": PROJECT["keywords"],
    }


def _author() -> Value:
    return {"name": PROJECT["authors"][0]["name"]}


def _marketplace(source: str) -> Value:
    return {
        "name": MARKETPLACE,
        "owner": _author(),
        "metadata": {"description": "The engram memory, from its repository."},
        "plugins": [{"name": SERVER_NAME, "source": source, "description": DESCRIPTION}],
    }


def _claude_marketplace() -> Value:
    return _marketplace(f"./{PLUGIN}")


def _codex_marketplace() -> Value:
    return {
        "name": MARKETPLACE,
        "interface": {"displayName": "Engram"},
        "plugins": [
            {
                "name": SERVER_NAME,
                "source": {"source": "local", "path": f"./{PLUGIN}"},
                "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                "category": "Productivity",
            }
        ],
    }


def _codex_plugin() -> Value:
    shown = {
        "displayName": "Engram",
        "shortDescription": DESCRIPTION,
        "developerName": _author()["name"],
        "category": "Productivity",
        "websiteURL": REPOSITORY,
    }
    return _about() | _parts("codex") | {"author": _author(), "interface": shown}


def _cursor_plugin() -> Value:
    return _about() | _parts("cursor") | {"displayName": "Engram", "author": _author(), "commands": "./commands/"}


def _parts(host: str) -> Value:
    """Return where a host finds the parts: hooks and servers are its own, since each has events of its own."""
    own = f"./.{host}-plugin"
    return {"skills": "./skills/", "mcpServers": f"{own}/mcp.json", "hooks": f"{own}/hooks.json"}


def _servers(host: str) -> Value:
    return {"mcpServers": {SERVER_NAME: entry(AGENTS[host].servers["user"], START.server())}}


def _hooks(host: str) -> Value:
    items = hook_items(AGENTS[host].hooks["user"], host, START)
    return {"hooks": {name: [item] for name, item in items.items()}}


def _gemini_extension() -> Value:
    about = {"name": PROJECT["name"], "version": __version__, "description": DESCRIPTION}
    return about | {"contextFileName": "plugins/gemini/GEMINI.md"} | _servers("gemini")


def _registry_entry() -> Value:
    """Return the entry of the MCP registry, which asks for the line ``mcp-name: …`` in README.md."""
    package = {
        "registryType": "pypi",
        "registryBaseUrl": "https://pypi.org",
        "identifier": PROJECT["name"],
        "version": __version__,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "environmentVariables": [
            {"name": "ENGRAM_DATA_DIR", "description": "The folder of the memory, instead of the usual one."},
            {"name": "ENGRAM_PROJECT", "description": "The project, instead of the one of the folder."},
        ],
    }
    return {
        "$schema": SCHEMA,
        "name": registry_name(),
        "title": "Engram",
        "description": SUMMARY,
        "version": __version__,
        "repository": {"url": REPOSITORY, "source": "github"},
        "websiteUrl": REPOSITORY,
        "packages": [package],
    }


def registry_name() -> str:
    """Return the name in the MCP registry, which belongs to the owner of the repository."""
    owner, _, name = urlsplit(REPOSITORY).path.strip("/").partition("/")
    return f"io.github.{owner}/{name}"


# --- the bundle -------------------------------------------------------------------------------------------

_BUNDLED = ("pyproject.toml", "README.md", "LICENSE", "engram_py", "migrations")
_NOT_BUNDLED = ("__pycache__", ".DS_Store")


def bundle_manifest() -> Value:
    """Return the manifest of the .mcpb: the host brings uv, and uv brings Python and what the package needs."""
    tools = declared()
    return {
        "manifest_version": "0.4",
        "name": PROJECT["name"],
        "display_name": "Engram",
        "version": __version__,
        "description": SUMMARY,
        "author": _author(),
        "repository": {"type": "git", "url": REPOSITORY},
        "homepage": REPOSITORY,
        "documentation": PROJECT["urls"]["Documentation"],
        "support": PROJECT["urls"]["Issues"],
        "license": PROJECT["license"],
        "keywords": PROJECT["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "engram_py/__main__.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--no-dev", "--directory", "${__dirname}", "engram-py", "mcp"],
            },
        },
        "tools": [{"name": name, "description": str(tools[name].title)} for name in PROFILES["core"]],
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": PROJECT["requires-python"]},
        },
    }


def write_bundle(folder: Path) -> Path:
    """Write the bundle into ``folder``. The same tree makes the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{PROJECT['name']}-{__version__}.mcpb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        _pack(packed, "manifest.json", _json(bundle_manifest()))
        for file in _bundled():
            _pack(packed, file.relative_to(ROOT).as_posix(), file.read_bytes())
    return path


def _bundled() -> Iterator[Path]:
    for name in _BUNDLED:
        top = ROOT / name
        found = sorted(top.rglob("*")) if top.is_dir() else [top]
        yield from (one for one in found if one.is_file() and not set(one.parts) & set(_NOT_BUNDLED))


def _pack(packed: zipfile.ZipFile, name: str, data: bytes) -> None:
    about = zipfile.ZipInfo(name)  # of 1980, whenever it is made
    about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    packed.writestr(about, data)


def _json(value: Value) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def write() -> None:
    """Write every generated file into the repository."""
    for name, data in files().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    if sys.argv[1:] == ["bundle"]:
        print(write_bundle(ROOT / "dist"))  # noqa: T201
    else:
        write()
