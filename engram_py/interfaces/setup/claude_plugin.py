"""The Claude Code plugin: written into the data directory as a marketplace of its own, installed by ``claude`` itself.

Claude Code rewrites its settings when it installs a plugin, so what it touches is kept before, and put back after.
"""

from __future__ import annotations

import json
import subprocess
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from engram_py import __version__
from engram_py.dataclass import dataclass
from engram_py.interfaces.setup.agents import AGENTS, SERVER_NAME, entry, hook_items
from engram_py.interfaces.setup.file_edits import FileEdits, Member, walked
from engram_py.interfaces.setup.machine import Launcher, Machine
from engram_py.interfaces.setup.manifest import (
    PluginFailedError,
    SetupManifest,
    SetupRefusedError,
    digest,
    look,
    refusing,
    remove_empty,
    replace,
)

MARKETPLACE = "engram-py"
PLUGIN = f"engram@{MARKETPLACE}"
_SECONDS = 180

# What `claude plugin` writes, seen with 2.1.197, and the members in it that are about our plugin.
_WATCHED: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    ("{claude_state}/.claude.json", ()),
    ("{claude}/settings.json", (("enabledPlugins", PLUGIN), ("extraKnownMarketplaces", MARKETPLACE))),
    ("{claude}/plugins/installed_plugins.json", (("plugins", PLUGIN),)),
    ("{claude}/plugins/known_marketplaces.json", ((MARKETPLACE,),)),
)
_FOLDERS = ("{claude}", "{claude}/backups", "{claude}/plugins", "{claude}/plugins/cache", "{claude}/plugins/data",
            "{claude}/plugins/marketplaces")  # fmt: skip
# What is left of a file that came with our plugin.
_EMPTY = (b"{}", b'{"version": 2, "plugins": {}}', b'{"version": 2}')


def render(start: Launcher, *, pre_tool: bool = False) -> dict[str, bytes]:
    """Return the plugin's files by name, with the command of this installation and a version that changes with them."""
    files = dict(_packaged(resources.files("engram_py") / "plugin"))
    agent = AGENTS["claude-code"]
    files[".mcp.json"] = _json({"mcpServers": {SERVER_NAME: entry(agent.servers["user"], start.server())}})
    items = hook_items(agent.hooks["user"], agent.name, start, pre_tool=pre_tool)
    files["hooks/hooks.json"] = _json({"hooks": {name: [item] for name, item in items.items()}})
    content = _content(files)
    about = json.loads(files[".claude-plugin/plugin.json"])
    # Claude Code keeps a copy per version, so another command needs another version.
    files[".claude-plugin/plugin.json"] = _json(about | {"version": f"{__version__}-{content[:8]}"})
    return files


@dataclass(frozen=True, slots=True)
class Plugin:
    """The Claude Code plugin on one machine. ``program`` is ``claude``, None where it is not installed."""

    machine: Machine
    folder: Path
    program: str | None

    def is_current(self, files: dict[str, bytes], manifest: SetupManifest) -> bool:
        """Return whether exactly this is what Claude Code has."""
        record = manifest.plugin
        if record is None or not record.get("after") or record.get("content") != _content(files):
            return False
        found = [look(self.machine.place(template)).data for template, _ in _WATCHED[1:]]
        return all(data is not None and PLUGIN.encode() in data for data in found[:2]) and self._written() == files

    def install(self, files: dict[str, bytes], manifest: SetupManifest) -> None:
        """Write the plugin and have ``claude`` install it; an earlier version of it goes first.

        Raises PluginFailedError: ``claude`` refused. Nothing of the plugin is left then.
        """
        self.uninstall(manifest)
        manifest.plugin = self._state_before(manifest)
        manifest.save()
        self._write(files)
        try:
            self._run("plugin", "marketplace", "add", str(self.folder))
            self._run("plugin", "install", PLUGIN)
        except PluginFailedError:
            manifest.plugin |= self._state_after(manifest)
            self.uninstall(manifest)
            raise
        manifest.plugin |= {"content": _content(files)} | self._state_after(manifest)
        manifest.save()

    def uninstall(self, manifest: SetupManifest) -> None:
        """Have ``claude`` remove plugin and marketplace, and put back what both of us wrote."""
        record = manifest.plugin
        if record is None:
            return
        now = self._digests()
        if self.program:
            self._run("plugin", "uninstall", PLUGIN, quiet=True)
            self._run("plugin", "marketplace", "remove", MARKETPLACE, quiet=True)
        for template, members in _WATCHED:
            path = self.machine.place(template)
            original = record["before"].get(str(path))
            kept = None if original is None else manifest.kept(original)
            only_ours = now[str(path)] == record.get("after", {}).get(str(path))
            _put_back(path, kept, members, only_ours=only_ours)
        for name in record.get("backups", []):
            Path(name).unlink(missing_ok=True)
        for folder in (self.machine.place("{claude}/plugins/cache") / MARKETPLACE, self.folder):
            _remove_tree(folder)
        remove_empty([Path(folder) for folder in record["folders"]])
        manifest.plugin = None
        manifest.save()

    def is_also_registered(self) -> bool:
        """Return whether somebody added a server of our name themselves."""
        data = look(self.machine.place(_WATCHED[0][0])).data
        try:
            return SERVER_NAME in json.loads(data or b"{}").get("mcpServers", {})
        except (ValueError, AttributeError, TypeError, RecursionError):
            return False

    def commands(self) -> list[str]:
        """Return the commands that ``install`` runs, for people to read."""
        return [f"claude plugin marketplace add {self.folder}", f"claude plugin install {PLUGIN}"]

    def _run(self, *words: str, quiet: bool = False) -> None:
        command = [self.program or "claude", *words]
        inherited = {name: value for name, value in self.machine.environ.items() if name != "CLAUDECODE"}
        environment = {**inherited, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        try:
            done = subprocess.run(
                command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.SubprocessError) as exc:
            raise PluginFailedError(" ".join(["claude", *words]), str(exc)) from exc
        if done.returncode and not quiet:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            raise PluginFailedError(" ".join(["claude", *words]), said or f"exit code {done.returncode}")

    def _state_before(self, manifest: SetupManifest) -> dict[str, Any]:
        before = {}
        for template, _ in _WATCHED:
            path = self.machine.place(template)
            data = look(path).data
            before[str(path)] = None if data is None else manifest.keep(data)
        folders = [self.machine.place(template) for template in _FOLDERS]
        missing = [str(folder) for folder in folders if not folder.exists()]
        return {"before": before, "folders": missing, "had_backups": sorted(self._backups())}

    def _state_after(self, manifest: SetupManifest) -> dict[str, Any]:
        had = (manifest.plugin or {}).get("had_backups", [])
        return {"after": self._digests(), "backups": sorted(self._backups() - set(had))}

    def _backups(self) -> set[str]:
        """Return the copies of .claude.json that Claude Code makes whenever it likes."""
        return {str(path) for path in self.machine.place("{claude}/backups").glob(".claude.json.*")}

    def _digests(self) -> dict[str, str | None]:
        paths = [self.machine.place(template) for template, _ in _WATCHED]
        found = {str(path): look(path).data for path in paths}
        return {path: None if data is None else digest(data) for path, data in found.items()}

    def _written(self) -> dict[str, bytes]:
        paths = [path for path in self.folder.rglob("*") if path.is_file()]
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}

    def _write(self, files: dict[str, bytes]) -> None:
        _remove_tree(self.folder)
        with refusing(self.folder):
            for name, data in files.items():
                path = self.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)


def _put_back(path: Path, original: bytes | None, members: tuple[tuple[str, ...], ...], *, only_ours: bool) -> None:
    """Give the file its bytes from before if nothing but the plugin was added, else take the plugin out of it.

    A running session may have written as well, even while ``claude`` installed the plugin. ``only_ours``: nobody
    wrote the file after that.
    """
    found = look(path)
    after = found.data
    if after is None:
        return
    if not members:  # no part of it is ours to take out, but all of it came with the plugin
        after = original if only_ours else after
    else:
        wanted = FileEdits(path, "json", tuple(Member(member, None) for member in members))
        after = walked(wanted, after, taking_out=True, before=original).after
        if any(_same(after, one) for one in ([original] if original is not None else _EMPTY)):
            after = original
    if after != found.data:
        replace(path, after, found=found)


def _same(one: bytes | None, other: bytes) -> bool:
    try:
        return bool(json.loads(one or b"") == json.loads(other))
    except ValueError:
        return False


def _remove_tree(folder: Path) -> None:
    """Remove a folder that holds copies of ours; a link in its place is not followed."""
    if folder.is_symlink():
        raise SetupRefusedError(str(folder), "it is a symbolic link")
    if folder.is_dir():
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _packaged(folder: Traversable, prefix: str = "") -> list[tuple[str, bytes]]:
    files: list[tuple[str, bytes]] = []
    for one in folder.iterdir():
        if one.is_dir():
            files += _packaged(one, f"{prefix}{one.name}/")
        else:
            files.append((prefix + one.name, one.read_bytes()))
    return files


def _content(files: dict[str, bytes]) -> str:
    return digest(b"".join(name.encode() + b"\0" + files[name] for name in sorted(files)))


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()
