"""``engram off`` and ``engram on``: what hooks may do, everywhere, in a project or in one session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from engram_py.interfaces.cli.support import json_option, memory, refusing, show


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option("--record", is_flag=True, help="Only whether prompts, messages and learnings are kept."),
        click.option("--inject", is_flag=True, help="Only whether agents are given memory unasked."),
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
    """Stop hooks from doing anything; with --record or --inject, only from that. What is kept stays.

    Tools work all the same: what an agent is asked to save is saved. For one agent, set ENGRAM_ENABLED=off (or
    ENGRAM_RECORD, ENGRAM_INJECT) where it is started.
    """
    _turn(asked, on=False, as_json=as_json)


@click.command("on")
@_options
@refusing
def on_command(as_json: bool, **asked: Any) -> None:
    """Let hooks go on; with --record or --inject, with that."""
    _turn(asked, on=True, as_json=as_json)


def _turn(asked: dict[str, Any], *, on: bool, as_json: bool) -> None:
    named = [switch for switch in ("record", "inject") if asked[switch]] or ["enabled"]
    with memory() as app:
        if asked["status"]:
            state = app.switches.state(asked["session_id"])
        else:
            state = app.switches.turn(named, on=on, project=asked["project"], session_id=asked["session_id"])
        show(state, app, as_json=as_json)
