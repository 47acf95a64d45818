"""``engram setup`` and ``engram unsetup``, one agent at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engram_py.dataclass import dataclass
from engram_py.files import real_path
from engram_py.interfaces.setup.agents import AGENTS, ALIASES, Agent, Parts, Scope, takes_pre_tool, wanted
from engram_py.interfaces.setup.claude_plugin import Plugin, render
from engram_py.interfaces.setup.file_edits import (
    FileEdits,
    SetupChange,
    apply_setup,
    apply_unsetup,
    plan_setup,
    plan_unsetup,
)
from engram_py.interfaces.setup.machine import Launcher, Machine, current_launcher, this_machine
from engram_py.interfaces.setup.manifest import (
    SetupManifest,
    SetupRefusedError,
    UnknownAgentError,
    UnusableOptionError,
    opened,
)
from engram_py.times import utc_now
from engram_py.upkeep.hook_log import expect

PLUGIN_USER = "claude-code@user"
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

        Raises SetupError: something stands in the way. A file that could not be edited is as it was.
        """
        user = self._user(agent.name, scope)
        with opened(self.data_dir, reading=dry_run) as manifest:
            if self._by_plugin(agent, scope, parts):
                return self._install_plugin(agent, scope, parts, manifest, dry_run=dry_run)
            files = self._wanted(agent, scope, parts)
            changes = [plan_setup(one, manifest) for one in files]
            if not dry_run and user == PLUGIN_USER and manifest.plugin is not None:
                self._plugin().uninstall(manifest)  # plugin and plain registration would be two servers
                changes = [plan_setup(one, manifest) for one in files]
            if not dry_run:
                apply_setup(changes, manifest, user)
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
                apply_unsetup(changes, manifest, user)
                expect(self.data_dir, agent.name, None)
        steps = (Step("the plugin engram", "removed"),) if plugin else ()
        return Done(agent.name, agent.title, scope, (*steps, *_steps(changes)))

    def _wanted(self, agent: Agent, scope: Scope, parts: Parts) -> list[FileEdits]:
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
                said.append("Which data directory is yours is not written into a shared file: set ENGRAM_DATA_DIR.")
        return "\n".join(note for note in said if note)

    def _plan_take_out(self, agent: Agent, scope: Scope, manifest: SetupManifest) -> list[SetupChange]:
        files = self._wanted(agent, scope, Parts(pre_tool=True))
        return plan_unsetup(files, manifest, self._user(agent.name, scope))

    def _install_plugin(
        self, agent: Agent, scope: Scope, parts: Parts, manifest: SetupManifest, *, dry_run: bool
    ) -> Done:
        plugin = self._plugin()
        files = render(self.start, pre_tool=parts.pre_tool)
        current = plugin.is_current(files, manifest)
        kind = "unchanged" if current else "installed"
        if not dry_run and _used(manifest, PLUGIN_USER):  # registered by hand until now; both would be two servers
            apply_unsetup(self._plan_take_out(agent, scope, manifest), manifest, PLUGIN_USER)
        if not (current or dry_run):
            plugin.install(files, manifest)
            self._expect_hooks(agent, scope, parts, changed=True)
        will = "" if current else "".join(f"+ {line}\n" for line in plugin.commands())
        note = _TWICE if plugin.is_also_registered() else ""
        return Done(agent.name, agent.title, scope, (Step("the plugin engram", kind, will),), note)

    def _expect_hooks(self, agent: Agent, scope: Scope, parts: Parts, *, changed: bool) -> None:
        """Have the doctor say it if these hooks never run."""
        if changed and parts.hooks and scope in agent.hooks:
            expect(self.data_dir, agent.name, utc_now())

    def _by_plugin(self, agent: Agent, scope: Scope, parts: Parts) -> bool:
        """Return whether Claude Code installs it itself. Without hooks it is a plain MCP server."""
        return agent.name == "claude-code" and scope == "user" and parts.hooks and self._plugin().program is not None

    def _plugin(self) -> Plugin:
        return Plugin(self.machine, self.data_dir / "setup" / "claude-plugin", self.machine.program("claude"))

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
    """Return the agents of these names, each once. Raises UnknownAgentError."""
    for name in names:
        if name not in AGENTS and name not in ALIASES:
            raise UnknownAgentError(name, list(AGENTS))
    return [AGENTS[name] for name in dict.fromkeys(ALIASES.get(name, name) for name in names)]


def check_options(agent: Agent, scope: Scope, parts: Parts, *, protocol: str | None = None) -> None:
    """Refuse what the agent cannot use. Raises UnusableOptionError."""
    if parts.pre_tool and not parts.hooks:
        raise UnusableOptionError("--pre-tool", "it is a hook, and --no-hooks (as --mcp-only) leaves hooks out")
    if parts.pre_tool and not takes_pre_tool(agent, scope):
        raise UnusableOptionError("--pre-tool", f"{agent.title} has no hook before an edit that its model hears of")
    if protocol and agent.name != "claude-code":
        raise UnusableOptionError("--protocol", f"no hook of Engram's asks for the mode of {agent.title}")


def _steps(changes: list[SetupChange]) -> tuple[Step, ...]:
    return tuple(Step(str(change.path), change.kind, change.diff(), change.replaces, change.note) for change in changes)
