"""``engram setup`` and ``engram unsetup``, one agent at a time.

The Claude Code plugin is written into the data directory as a marketplace of its own, and installed by ``claude``
itself. Claude Code rewrites its settings then, so what it touches is kept before, and put back after.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from engram_py import __version__
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import SetupError
from engram_py.base.files import real_path
from engram_py.base.times import utc_now
from engram_py.interfaces.setup import file_edits
from engram_py.interfaces.setup.agents import (
    AGENTS,
    ALIASES,
    SERVER_NAME,
    Agent,
    Parts,
    Scope,
    entry,
    hook_items,
    takes_pre_tool,
    wanted,
)
from engram_py.interfaces.setup.machine import (
    MARKETPLACE,
    PLUGIN,
    PLUGIN_FOLDER,
    Launcher,
    Machine,
    OwnPlugin,
    current_launcher,
    own_plugin,
    this_machine,
)
from engram_py.interfaces.setup.manifest import (
    PluginFailedError,
    SetupManifest,
    SetupRefusedError,
    UnusableOptionError,
    digest,
    look,
    opened,
    refusing,
    remove_empty,
    replace,
)
from engram_py.upkeep.hook_log import expect

PLUGIN_USER = "claude-code@user"
PLUGIN_STEP = "the plugin engram"
_TWICE = "A server called engram was registered by hand as well; `claude mcp remove engram` removes that one."


@dataclass(frozen=True, slots=True)
class Step:
    """One change that was, or would be, made: to a file, or to Claude Code's plugins.

    ``replaces``: how the server of our name started that was there before.
    """

    what: str
    kind: str
    diff: str = ""
    replaces: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """The result for one agent."""

    agent: str
    title: str
    scope: Scope
    steps: tuple[Step, ...]
    note: str = ""

    @property
    def changed(self) -> bool:
        return any(step.kind not in ("unchanged", "kept") for step in self.steps)


@dataclass(frozen=True, slots=True)
class Setup:
    """The agents of one machine. ``data_dir`` holds what unsetup needs."""

    machine: Machine
    data_dir: Path
    start: Launcher

    def detected(self) -> list[Agent]:
        """Return the agents that are installed here, judged by their folders and programs."""
        place, program = self.machine.place, self.machine.program
        return [
            agent
            for agent in AGENTS.values()
            if any(place(sign).is_dir() for sign in agent.signs) or any(map(program, agent.programs))
        ]

    def in_use(self) -> list[tuple[str, Scope]]:
        """Return the agents that were set up for this user or in this project."""
        with opened(self.data_dir, reading=True) as manifest:
            users = {user for record in manifest.files.values() for user in record.users}
            plugin = manifest.plugin is not None
        found: list[tuple[str, Scope]] = []
        for name in AGENTS:
            if self._user(name, "user") in users or (plugin and name == "claude-code"):
                found.append((name, "user"))
            if self._user(name, "project") in users:
                found.append((name, "project"))
        return found

    def set_up(self, agent: Agent, scope: Scope, parts: Parts, *, dry_run: bool = False) -> Done:
        """Register server, hooks and instructions; a second time changes nothing.

        Raises SetupError: something stands in the way, such as a plugin of engram that the agent installed itself.
        A file that could not be edited is as it was.
        """
        theirs = own_plugin(agent.name, self.machine) if scope == "user" else None
        if theirs is not None:
            step = f"keep it, or run `{theirs.removal}`"
            raise SetupRefusedError(
                str(theirs.path), f"{agent.title} has engram already, from {theirs.what}", step=step
            )
        user = self._user(agent.name, scope)
        with opened(self.data_dir, reading=dry_run) as manifest:
            if self._by_plugin(agent, scope, parts):
                return self._install_plugin(agent, scope, parts, manifest, dry_run=dry_run)
            files = self._wanted(agent, scope, parts)
            changes = [file_edits.plan_setup(one, manifest) for one in files]
            if not dry_run and user == PLUGIN_USER and manifest.plugin is not None:
                self._plugin().uninstall(manifest)  # plugin and plain registration would be two servers
                changes = [file_edits.plan_setup(one, manifest) for one in files]
            if not dry_run:
                file_edits.apply_setup(changes, manifest, user)
                self._expect_hooks(agent, scope, parts, changed=any(one.kind != "unchanged" for one in changes))
        return Done(agent.name, agent.title, scope, _steps(changes), self._notes(agent, scope, parts))

    def take_out(self, agent: Agent, scope: Scope, *, dry_run: bool = False) -> Done:
        """Put back what was there before, and take our part out of what somebody edited since."""
        user = self._user(agent.name, scope)
        with opened(self.data_dir, reading=dry_run) as manifest:
            plugin = user == PLUGIN_USER and manifest.plugin is not None
            changes = [] if plugin and not _used(manifest, user) else self._plan_take_out(agent, scope, manifest)
            if plugin and not dry_run:
                self._plugin().uninstall(manifest)
            if not dry_run:
                file_edits.apply_unsetup(changes, manifest, user)
                expect(self.data_dir, agent.name, None)
        steps = (Step(PLUGIN_STEP, "removed"),) if plugin else ()
        return Done(agent.name, agent.title, scope, (*steps, *_steps(changes)))

    def left(self) -> list[tuple[Agent, OwnPlugin]]:
        """Return the plugins of engram that agents installed themselves, which unsetup does not remove."""
        found = [(agent, own_plugin(agent.name, self.machine)) for agent in AGENTS.values()]
        return [(agent, plugin) for agent, plugin in found if plugin is not None]

    def _wanted(self, agent: Agent, scope: Scope, parts: Parts) -> list[file_edits.FileEdits]:
        """Return the edits of the agent's files.

        Raises SetupRefusedError for a folder that leads out of the project.
        """
        start = self.start.shared() if scope == "project" else self.start
        files = wanted(agent, scope, self.machine, start, parts)
        project = real_path(self.machine.project)
        for one in files if scope == "project" else ():
            folder = real_path(one.path.parent)
            if not folder.is_relative_to(project):
                raise SetupRefusedError(str(one.path), f"its folder is a link out of the project, to {folder}")
        return files

    def _notes(self, agent: Agent, scope: Scope, parts: Parts) -> str:
        """Return what the user has to do besides, a line each."""
        said = [agent.note, agent.hook_note if parts.hooks and scope in agent.hooks else ""]
        if scope == "project":
            said.append(agent.project_note)
            if not self.machine.program("engram"):
                said.append("`engram` is not on the PATH here: whoever opens this project needs it there.")
            if self.start.options:
                said.append("The shared file names no data directory: each user sets ENGRAM_DATA_DIR.")
        return "\n".join(note for note in said if note)

    def _plan_take_out(self, agent: Agent, scope: Scope, manifest: SetupManifest) -> list[file_edits.SetupChange]:
        files = self._wanted(agent, scope, Parts(pre_tool=True))
        return file_edits.plan_unsetup(files, manifest, self._user(agent.name, scope))

    def _install_plugin(
        self, agent: Agent, scope: Scope, parts: Parts, manifest: SetupManifest, *, dry_run: bool
    ) -> Done:
        plugin = self._plugin()
        files = render(self.start, pre_tool=parts.pre_tool)
        current = plugin.is_current(files, manifest)
        kind = "unchanged" if current else "installed"
        if not dry_run and _used(manifest, PLUGIN_USER):  # registered by hand until now; both would be two servers
            file_edits.apply_unsetup(self._plan_take_out(agent, scope, manifest), manifest, PLUGIN_USER)
        if not (current or dry_run):
            plugin.install(files, manifest)
            self._expect_hooks(agent, scope, parts, changed=True)
        will = "" if current else "".join(f"+ {line}\n" for line in plugin.commands())
        note = _TWICE if plugin.is_also_registered() else ""
        return Done(agent.name, agent.title, scope, (Step(PLUGIN_STEP, kind, will),), note)

    def _expect_hooks(self, agent: Agent, scope: Scope, parts: Parts, *, changed: bool) -> None:
        """Have the doctor say it if these hooks never run."""
        if changed and parts.hooks and scope in agent.hooks:
            expect(self.data_dir, agent.name, utc_now())

    def _by_plugin(self, agent: Agent, scope: Scope, parts: Parts) -> bool:
        """Return whether Claude Code installs it itself. Without hooks it is a plain MCP server."""
        return agent.name == "claude-code" and scope == "user" and parts.hooks and self._plugin().program is not None

    def _plugin(self) -> Plugin:
        return Plugin(self.machine, self.data_dir.joinpath(*PLUGIN_FOLDER), self.machine.program("claude"))

    def _user(self, name: str, scope: Scope) -> str:
        """Return the user key of a file in the manifest; in a project it names the folder."""
        return f"{name}@{self.machine.project}" if scope == "project" else f"{name}@user"


def setup_here(project: Path, data_dir: Path) -> Setup:
    """Return the agents of this machine, and of ``project``."""
    machine = this_machine(project)
    return Setup(machine, data_dir, current_launcher(machine, data_dir))


def _used(manifest: SetupManifest, user: str) -> bool:
    return any(user in record.users for record in manifest.files.values())


def agents_named(names: Sequence[str]) -> list[Agent]:
    """Return the agents of these names, each once. Raises SetupError (unknown_agent)."""
    for name in names:
        if name not in AGENTS and name not in ALIASES:
            raise SetupError(
                f"no agent is called {name[:80]!r}",
                hint=f"it is one of {', '.join(AGENTS)}",
                code="unknown_agent",
            )
    return [AGENTS[name] for name in dict.fromkeys(ALIASES.get(name, name) for name in names)]


def check_options(agent: Agent, scope: Scope, parts: Parts, *, protocol: str | None = None) -> None:
    """Refuse what the agent cannot use. Raises UnusableOptionError."""
    if parts.pre_tool and not parts.hooks:
        raise UnusableOptionError("--pre-tool", "it is a hook, and --no-hooks (as --mcp-only) leaves hooks out")
    if parts.pre_tool and not takes_pre_tool(agent, scope):
        raise UnusableOptionError("--pre-tool", f"{agent.title} has no hook before an edit that reaches its model")
    if protocol and agent.name != "claude-code":
        raise UnusableOptionError("--protocol", f"{agent.title} does not read it; only the plugin for Claude Code does")


def _steps(changes: list[file_edits.SetupChange]) -> tuple[Step, ...]:
    return tuple(Step(str(change.path), change.kind, change.diff(), change.replaces, change.note) for change in changes)


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
        wanted = file_edits.FileEdits(path, "json", tuple(file_edits.Member(member, None) for member in members))
        after = file_edits.walked(wanted, after, taking_out=True, before=original).after
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
