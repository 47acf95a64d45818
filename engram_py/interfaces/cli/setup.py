"""``engram setup``, ``unsetup`` and ``protocol-mode``; the help of ``engram hook``, which ``engram_py.__main__``
answers without importing the command line.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from engram_py.base.dataclass import asdict
from engram_py.base.errors import EngramError, InvalidArgumentError
from engram_py.base.files import here, lines_of
from engram_py.base.reasons import Told
from engram_py.base.settings import BY_NAME, Setting, SettingValue, keep_setting, setting_values
from engram_py.base.text.normalize import visible
from engram_py.interfaces.cli.commands import (
    can_ask,
    group,
    json_command,
    memory,
    print_notes,
    print_value,
    settings,
    value_command,
    vectors_option,
    yes_option,
)
from engram_py.interfaces.hook_protocol import EVENTS
from engram_py.interfaces.hooks.entry import LEAST_LIMIT_MS, MOST_LIMIT_MS

if TYPE_CHECKING:
    from engram_py.interfaces.setup.agents import Agent
    from engram_py.interfaces.setup.installing import Done, Setup


_scope_option = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="user: for you, in every folder. project: only for this folder.",
)
_dry_run_option = click.option("--dry-run", is_flag=True, help="Print the changes as a diff; write nothing.")


@click.command("setup")
@click.argument("agents", nargs=-1, help="Agents, such as claude-code; default: list the installed ones and ask.")
@click.option("--all-detected", is_flag=True, help="Set up every installed agent.")
@_scope_option
@click.option("--no-hooks", is_flag=True, help="Register no hooks.")
@click.option("--no-instructions", is_flag=True, help="Write no instructions into AGENTS.md, CLAUDE.md and the like.")
@click.option("--mcp-only", is_flag=True, help="Only the MCP server: --no-hooks and --no-instructions.")
@click.option(
    "--pre-tool", is_flag=True, help="Add a hook that shows the memories about a file before the agent edits it."
)
@click.option(
    "--protocol",
    type=click.Choice(["full", "slim"]),
    help="Only for the plugin of the original Engram: full or slim instructions.",
)
@vectors_option
@_dry_run_option
@yes_option
@json_command
def setup_command(
    agents: tuple[str, ...],
    all_detected: bool,
    scope: Literal["user", "project"],
    no_hooks: bool,
    no_instructions: bool,
    mcp_only: bool,
    pre_tool: bool,
    protocol: str | None,
    vectors: bool | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Set up coding agents: MCP server, hooks, instructions. Running it again changes nothing.

    Files are edited in place, and the old ones are kept; `engram unsetup` restores them byte for byte.
    """
    from engram_py.interfaces.setup.agents import Parts
    from engram_py.interfaces.setup.installing import agents_named, check_options
    from engram_py.interfaces.setup.manifest import keep_protocol_mode

    setup = _setup()
    chosen = agents_named(agents)
    if not chosen and dry_run:
        chosen = setup.detected()
    if not chosen:
        chosen = _choose_agents(setup, all_detected=all_detected, ask=not yes, as_json=as_json)
    parts = Parts(hooks=not (no_hooks or mcp_only), instructions=not (no_instructions or mcp_only), pre_tool=pre_tool)
    done, failures = [], []
    for agent in chosen:
        try:
            if agents:  # of all that are here, each is given what it can use
                check_options(agent, scope, parts, protocol=protocol)
            done.append(setup.set_up(agent, scope, parts, dry_run=dry_run))
            if protocol and agent.name == "claude-code" and not dry_run:
                keep_protocol_mode(setup.data_dir, agent.name, protocol)
        except EngramError as exc:  # one agent's broken file does not keep engram from the others
            failures.append(exc)
    restart = "" if as_json or dry_run else _restart([one for one in done if one.changed])
    if done and not (as_json or dry_run or failures):
        from engram_py.interfaces.cli.documents import index_documents

        restart = "\n".join(filter(None, (_offered(setup.data_dir), restart, index_documents())))
    _report(done, failures, as_json=as_json, dry_run=dry_run, last=restart)
    if not dry_run and (vectors is not None or (done and not as_json)):
        from engram_py.interfaces.cli.vectors import offer_vectors

        offer_vectors(vectors, ask=not yes)


def _restart(changed: list[Done]) -> str:
    """Return the line about the next step, empty where nothing changed."""
    from engram_py.interfaces.setup.installing import PLUGIN_STEP
    from engram_py.interfaces.wording.phrases import joined

    if not changed:
        return ""
    said = f"Restart {joined([one.title for one in changed])} to use Engram. "
    said += 'Then ask: "What do you remember about this project?"'
    commands = any(step.what == PLUGIN_STEP for one in changed for step in one.steps)
    return f"{said} In Claude Code also: /engram:recall, /engram:save and /engram:forget." if commands else said


def _offered(data_dir: Path) -> str:
    """Return the line about encryption, empty where the memory is encrypted."""
    from engram_py.base.database.driver import KEY_STATE

    said = "The memory is a plain file that you alone can read; `engram encrypt` encrypts it."
    return "" if (data_dir / KEY_STATE).exists() else said


@click.command("unsetup")
@click.argument("agents", nargs=-1, help="The agents to remove engram from.")
@click.option("--all", "everything", is_flag=True, help="Every agent that was set up, in this folder and for you.")
@_scope_option
@_dry_run_option
@json_command
def unsetup_command(
    agents: tuple[str, ...], everything: bool, scope: Literal["user", "project"], dry_run: bool, as_json: bool
) -> None:
    """Remove engram from coding agents and restore their files byte for byte. The memory stays.

    If you edited a file since, only engram's lines are removed.
    """
    from engram_py.interfaces.setup.agents import AGENTS
    from engram_py.interfaces.setup.installing import agents_named

    setup = _setup()
    chosen = [(agent, scope) for agent in agents_named(agents)]
    if everything:
        chosen = [(AGENTS[name], where) for name, where in setup.in_use()]
        if not chosen:
            nothing = "Nothing to take out: no agent was set up for you or in this folder."
            said = "\n".join([nothing, *_left(setup)])
            print_value({"agents": [], "errors": [], "dry_run": dry_run}, said, as_json=as_json)
    elif not chosen:
        used = ", ".join(f"{name} ({where})" for name, where in setup.in_use()) or "none"
        raise click.UsageError(f"name an agent, or pass --all. Already set up: {used}")
    done, failures = [], []
    for agent, where in chosen:
        try:
            done.append(setup.take_out(agent, where, dry_run=dry_run))
        except EngramError as exc:
            failures.append(exc)
    last = "\n".join(_left(setup)) if everything and done and not dry_run else ""
    _report(done, failures, as_json=as_json, dry_run=dry_run, last=last)
    if everything and not dry_run:
        _stop_page()


def _left(setup: Setup) -> list[str]:
    """Return a line for each plugin of engram that an agent installed itself: who leaves has to remove it too."""
    left = setup.left()
    return [
        visible(f"{agent.title} still has engram from {one.what}: `{one.removal}` removes it.") for agent, one in left
    ]


def _stop_page() -> None:
    """End the server of the page: who leaves wants nothing of it to go on."""
    from engram_py.interfaces.cli.servers import STARTED, stop_server
    from engram_py.interfaces.web.access import Access

    if not (settings().data_dir / STARTED).exists():
        return
    with memory(embedder="") as app:
        port = stop_server(app.settings.data_dir, app.browsing.instance(), Access(app.settings.data_dir).bearer())
    if port is not None:
        click.echo(f"Stopped the server of `engram open` on port {port}.", err=True)


@value_command("protocol-mode")
@click.argument("agent", help="The agent's name in `engram setup`.")
def protocol_mode_command(agent: str) -> tuple[object, str]:
    """Print `full` or `slim`: whether the hooks of the original Engram's plugin explain the memory at each start.

    Set it with `engram setup AGENT --protocol slim`, or with ENGRAM_DEFER_MEMORY=1 for one session. The hooks of
    `engram setup` never explain it.
    """
    from engram_py.interfaces.setup.manifest import protocol_mode

    now = settings()
    mode = "slim" if now.defer_memory else protocol_mode(now.data_dir, agent)
    return {"agent": agent, "mode": mode}, mode


def _setup() -> Setup:
    from engram_py.interfaces.setup.installing import setup_here

    return setup_here(here(), settings().data_dir)


def _choose_agents(setup: Setup, *, all_detected: bool, ask: bool, as_json: bool) -> list[Agent]:
    """Show the agents that are here, and return those the user wants."""
    from engram_py.interfaces.setup.agents import AGENTS

    found = setup.detected()
    if all_detected and not ask and found:
        return found
    used = {name for name, _ in setup.in_use()}
    if as_json:
        names = [agent.name for agent in found]
        print_value({"detected": names, "set_up": sorted(used), "known": list(AGENTS)}, "", as_json=True)
        return []
    left = {agent.name: f" (has engram from {one.what})" for agent, one in setup.left()}
    states = left | dict.fromkeys(used, " (set up)")
    for agent in found:
        click.echo(visible(f"{agent.name:<12} {agent.title}{states.get(agent.name, '')}"))
    if not found:
        click.echo(f"No coding agent was found here. Known: {', '.join(AGENTS)}.")
        return []
    if not can_ask():
        click.echo("Set one up with `engram setup NAME`, all of them with `engram setup --all-detected --yes`.")
        return []
    if all_detected:
        from engram_py.interfaces.wording.phrases import amount

        return found if click.confirm(f"Set up {amount(len(found), 'agent')}?") else []
    return [agent for agent in found if click.confirm(f"Set up {agent.title}?", default=agent.name not in states)]


def _report(done: list[Done], failures: list[EngramError], *, as_json: bool, dry_run: bool, last: str = "") -> None:
    from engram_py.interfaces.wording.render import error_text, error_values

    if as_json and (done or failures):
        whole = {"agents": [asdict(one) for one in done], "errors": [error_values(one, "cli") for one in failures]}
        print_value(whole | {"dry_run": dry_run}, "", as_json=True)
    elif not as_json:
        for one in done:
            click.echo(visible(_description(one, dry_run=dry_run)))
        if last:
            click.echo(last)
    for failure in failures:
        click.echo(f"engram: {error_text(failure, 'cli')}", err=True)
    if failures:
        sys.exit(1)


@click.command("hook", context_settings={"ignore_unknown_options": True})
@click.argument("event", required=False, default="", metavar="EVENT", help=f"One of {', '.join(EVENTS)}.")
@click.option("--agent", default="", metavar="NAME", help="The agent, such as claude-code, codex, gemini or cursor.")
@click.option(
    "--limit-ms",
    type=int,
    metavar="N",
    help=f"Answer within this time, {LEAST_LIMIT_MS} to {MOST_LIMIT_MS:,} ms; default: 2,000 for user-prompt "
    "and tool-failed, 1,000 for pre-tool and post-tool, else 5,000.",
)
@click.option("--pretool", metavar="on|off", help="Whether pre-tool shows memories; default: ENGRAM_HOOK_PRETOOL.")
@click.pass_context
def hook_command(ctx: click.Context, event: str, agent: str, limit_ms: int | None, pretool: str | None) -> None:
    """Answer an agent's hook: the event is JSON on stdin, the text for the agent goes to stdout.

    It always exits with 0 and in time. hooks.log has the reason if a hook printed nothing; `engram doctor` reads it.
    """
    from engram_py.interfaces.hooks.entry import main

    words = [event, f"--agent={agent}"]
    words += [f"--limit-ms={limit_ms}"] if limit_ms else []
    words += [f"--pretool={pretool}"] if pretool else []
    data_dir = ctx.find_root().obj
    words += [f"--data-dir={click.format_filename(data_dir)}"] if data_dir else []
    main(words)


_name = click.argument("name", help="The setting, such as gate or ENGRAM_GATE.")

config_command = group(
    "config",
    "List the settings of this machine, show one, or set one; by default it lists them.",
    alone="list",
)


@value_command("list", of=config_command)
def list_command() -> tuple[object, str]:
    """List every setting with its value and its source. Secrets are hidden."""
    found = setting_values(settings().data_dir)
    lines = [("setting", "value", "from"), *((one.setting.name, one.shown or "-", one.source) for one in found)]
    wide = [max(len(line[place]) for line in lines) for place in (0, 1)]
    text = "\n".join(f"{name:{wide[0]}}  {value:{min(wide[1], 40)}}  {source}" for name, value, source in lines)
    return [_facts(one) for one in found], text


@value_command("get", _name, of=config_command)
def get_command(name: str) -> tuple[object, str]:
    """Print the value of a setting; a secret is hidden."""
    found = _value(settings().data_dir, _setting(name))
    return _facts(found), found.shown


@value_command("set", _name, of=config_command)
@click.argument("value", required=False, help="The new value: on, off, a number or a text.")
@click.option("--unset", is_flag=True, help="Remove the setting from config.json.")
def set_command(name: str, value: str | None, unset: bool) -> tuple[object, str]:
    """Write a setting into config.json. Running servers and agents use it after a restart.

    A number outside its range is set to the nearest limit, with a note.
    """
    if unset == (value is not None):
        raise click.UsageError("give a VALUE, or --unset")
    setting, folder = _setting(name), settings().data_dir
    kept, notes = _checked(setting, value)
    keep_setting(folder, setting.name, kept)
    found = _value(folder, setting)
    if found.source == setting.variable:
        notes.append(f"{setting.variable} overrides this value. Unset it in the environment of your agents.")
    print_notes(notes)
    return _facts(found), f"{setting.name}: {found.shown or '-'} ({found.source})"


def _setting(name: str) -> Setting:
    """Return the setting of a name, a key or a variable. Raises InvalidArgumentError."""
    wanted = name.strip().lower().removeprefix("engram_")
    if wanted in BY_NAME and BY_NAME[wanted].place != "project":
        return BY_NAME[wanted]
    near = get_close_matches(wanted, BY_NAME, n=1)
    hint = f", such as {near[0]}" if near and BY_NAME[near[0]].place != "project" else ""
    raise InvalidArgumentError("setting", name, expected=f"one of `engram config list`{hint}")


def _checked(setting: Setting, value: str | None) -> tuple[Any, list[Told]]:
    """Return what to write into the file, and how it was moved into its range. Raises InvalidArgumentError."""
    if not setting.key:
        step = f"set {setting.variable} where engram starts"
        raise InvalidArgumentError("setting", said=f"only a variable sets {setting.name}", step=step)
    if value is None:
        return None, []
    held, said = setting.take(value, setting.name)
    if held is None:
        raise InvalidArgumentError(setting.name, value, expected=setting.accepted)
    return held, [said] if said else []


def _value(folder: Path, setting: Setting) -> SettingValue:
    return next(one for one in setting_values(folder) if one.setting is setting)


def _facts(one: SettingValue) -> dict[str, object]:
    setting = one.setting
    facts = {"name": setting.name, "variable": setting.variable, "value": one.value, "source": one.source}
    return facts | {"default": setting.default, "accepts": setting.accepted, "help": setting.help}


def _description(done: Done, *, dry_run: bool) -> str:
    """Return what was done, or would be, a line for each step."""
    lines = [f"{done.title} ({done.scope})" + ("" if done.changed else ": nothing to change")]
    for step in done.steps:
        if dry_run and step.diff:
            lines.append(step.diff.rstrip("\n"))
        elif done.changed:
            lines.append(f"  {'would be ' if dry_run else ''}{step.kind}: {step.what}")
        if step.replaces:
            verb = "would replace" if dry_run else "replaced"
            lines.append(f"  {verb} your server engram ({step.replaces}); `engram unsetup` restores it")
        if step.note:
            lines.append(f"  {step.note}")
    if done.changed and not dry_run and done.note:
        lines += [f"  {note}" for note in lines_of(done.note)]
    return "\n".join(lines)
