"""``engram off`` and ``engram on`` switch hooks; ``engram clear`` destroys what is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from engram_py.interfaces.cli.support import can_ask, json_option, memory, pass_json_on, printable, refusing, show


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option("--record", is_flag=True, help="Only the recording of prompts, messages and learnings."),
        click.option("--inject", is_flag=True, help="Only the injection of memory into prompts."),
        click.option("--project", metavar="NAME", help="In this project; default: everywhere."),
        click.option("--session", "session_id", metavar="ID", help="In this session; `engram sessions` lists them."),
        click.option("--status", is_flag=True, help="Change nothing; say what is on and off."),
        json_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command("off")
@_options
@refusing
def off_command(as_json: bool, **asked: Any) -> None:
    """Switch hooks off; with --record or --inject, only that part. Saved memory stays.

    Tools still work: an agent that is asked to save saves. For one agent, set ENGRAM_ENABLED=off (or
    ENGRAM_RECORD, ENGRAM_INJECT) where it is started.
    """
    _turn(asked, on=False, as_json=as_json)


@click.command("on")
@_options
@refusing
def on_command(as_json: bool, **asked: Any) -> None:
    """Switch hooks on; with --record or --inject, only that part."""
    _turn(asked, on=True, as_json=as_json)


def _turn(asked: dict[str, Any], *, on: bool, as_json: bool) -> None:
    named = [switch for switch in ("record", "inject") if asked[switch]] or ["enabled"]
    with memory() as app:
        if asked["status"]:
            state = app.switches.state(asked["session_id"])
        else:
            state = app.switches.turn(named, on=on, project=asked["project"], session_id=asked["session_id"])
        show(state, app, as_json=as_json)


_yes = click.option("--yes", is_flag=True, help="Do not ask.")
_everywhere = click.option("--everywhere", is_flag=True, help="Also on the machines and the server it syncs with.")


@click.group("clear")
@json_option
@click.pass_context
def clear_command(ctx: click.Context, as_json: bool) -> None:
    """Destroy memory. The command shows what and how much, and asks. Run `engram backup` first for a copy."""
    pass_json_on(ctx, as_json=as_json)


@clear_command.command("turns")
@click.option("--project", metavar="NAME", help="Only of this project.")
@click.option("--session", "session_id", metavar="ID", help="Only of this session.")
@_yes
@json_option
@refusing
def turns_command(**asked: Any) -> None:
    """Destroy the raw messages that hooks kept of conversations. Observations and prompts stay."""
    _clear("turns", **asked)


@clear_command.command("project")
@click.argument("project", metavar="NAME", help="As `engram projects` lists it.")
@_everywhere
@_yes
@json_option
@refusing
def project_command(**asked: Any) -> None:
    """Destroy a project: observations with their history, prompts, sessions, raw messages, verdicts."""
    _clear("project", **asked)


@clear_command.command("everything")
@_everywhere
@_yes
@json_option
@refusing
def everything_command(**asked: Any) -> None:
    """Destroy the whole memory. Settings, switches, logins and backups stay."""
    _clear("everything", **asked)


def _clear(what: str, *, yes: bool, as_json: bool, **asked: Any) -> None:
    from engram_py.interfaces.wording_privacy import clearing

    with memory() as app:
        found = app.clearing.look(what, **asked)
        if any(found.counts.values()) and not yes:
            for line in clearing(found):
                click.echo(printable(line), err=True)
            if not can_ask():
                raise click.UsageError("there is no terminal to ask: pass --yes to destroy it")
            if not click.confirm("Destroy it?", err=True):
                click.echo("Nothing was destroyed.", err=True)
                return
        show(app.clearing.clear(what, **asked), app, as_json=as_json)
