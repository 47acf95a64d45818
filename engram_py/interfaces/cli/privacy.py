"""``engram off`` and ``engram on`` switch hooks; ``engram clear`` destroys what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engram_py.interfaces.cli.commands import OBSERVATION_ID, group, prints_result, yes_option
from engram_py.interfaces.cli.terminal import can_ask, printable
from engram_py.observations.listing import Listing

if TYPE_CHECKING:
    from engram_py.app import Engram


def _switch(name: str, help: str) -> click.Command:
    """Return the command that switches hooks ``on`` or ``off``."""

    @click.command(name, help=help)
    @click.option("--record", is_flag=True, help="Only the recording of prompts, messages and learnings.")
    @click.option("--inject", is_flag=True, help="Only the injection of memory into prompts.")
    @click.option("--project", metavar="NAME", help="In this project; default: everywhere.")
    @click.option("--session", "session_id", metavar="ID", help="In this session; `engram sessions` lists them.")
    @click.option("--status", is_flag=True, help="Change nothing; say what is on and off.")
    @prints_result
    def run(app: Engram, status: bool, project: str | None, session_id: str | None, **parts: bool) -> object:
        if status:
            return app.switches.state(session_id)
        named = [part for part in ("record", "inject") if parts[part]] or ["enabled"]
        return app.switches.turn(named, on=name == "on", project=project, session_id=session_id)

    return run


off_command = _switch(
    "off",
    """Switch hooks off; with --record or --inject, only that part. Saved memory stays.

    Tools still work: an agent that is asked to save saves. For one agent, set ENGRAM_ENABLED=off (or
    ENGRAM_RECORD, ENGRAM_INJECT) where it is started.
    """,
)
on_command = _switch("on", "Switch hooks on; with --record or --inject, only that part.")


@click.command("trust")
@click.argument("ids", nargs=-1, metavar="[ID...]", type=OBSERVATION_ID, help="Observations that become yours.")
@click.option("--author", metavar="NAME", help="All that this author wrote and will write.")
@click.option(
    "--project", metavar="NAME", is_flag=False, flag_value="", help="All sources of a project; default: here."
)
@click.option("--stop", is_flag=True, help="Trust --author or --project no longer.")
@prints_result
def trust_command(app: Engram, ids: tuple[int, ...], author: str | None, project: str | None, stop: bool) -> object:
    """Make what came from elsewhere your own: from a repository's .engram, a team's server, an import file.

    Until then agents see it apart, in its own project, as not checked. Without arguments the authors are listed.
    """
    if ids and (author or project is not None or stop):
        raise click.UsageError("give ids, or --author or --project")
    if stop and author is None and project is None:
        raise click.UsageError("--stop goes with --author or --project")
    if ids:
        with app.store.transaction():
            accepted = [app.observations.accept(one) for one in ids]
        return accepted[0] if len(accepted) == 1 else Listing("accepted", tuple(accepted))
    if author is not None:
        return app.trust.author(author, project=project or None, trusted=not stop)
    return app.trust.arrivals() if project is None else app.trust.project(project or None, trusted=not stop)


_everywhere = click.option("--everywhere", is_flag=True, help="Also on the machines and the server it syncs with.")

clear_command = group(
    "clear",
    "Destroy memory. The command shows what and how much, and asks. Run `engram backup` first for a copy.",
)


@clear_command.command("turns")
@click.option("--project", metavar="NAME", help="Only of this project.")
@click.option("--session", "session_id", metavar="ID", help="Only of this session.")
@yes_option
@prints_result
def turns_command(app: Engram, **asked: Any) -> object:
    """Destroy the raw messages that hooks kept of conversations. Observations and prompts stay."""
    return _clear(app, "turns", **asked)


@clear_command.command("project")
@click.argument("project", metavar="NAME", help="As `engram projects` lists it.")
@_everywhere
@yes_option
@prints_result
def project_command(app: Engram, **asked: Any) -> object:
    """Destroy a project: observations with their history, prompts, sessions, raw messages, verdicts."""
    return _clear(app, "project", **asked)


@clear_command.command("everything")
@_everywhere
@yes_option
@prints_result
def everything_command(app: Engram, **asked: Any) -> object:
    """Destroy the whole memory. Settings, switches, logins and backups stay."""
    return _clear(app, "everything", **asked)


def _clear(app: Engram, what: str, *, yes: bool, **asked: Any) -> object:
    from engram_py.interfaces.wording.privacy import clearing

    found = app.clearing.look(what, **asked)
    if any(found.counts.values()) and not yes:
        for line in clearing(found):
            click.echo(printable(line), err=True)
        if not can_ask():
            raise click.UsageError("there is no terminal to ask: pass --yes to destroy it")
        if not click.confirm("Destroy it?", err=True):
            click.echo("Nothing was destroyed.", err=True)
            return None
    return app.clearing.clear(what, **asked)
