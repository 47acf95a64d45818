"""``engram cloud``: its group, the commands for users of a server, and ``engram sync --cloud``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from engram_py.interfaces.cli.commands import LazyGroup, group, prints_result
from engram_py.interfaces.cli.terminal import can_ask, progress_bars, show
from engram_py.sync.autosync.table import TARGET

if TYPE_CHECKING:
    from engram_py.app import Engram

_LONGEST_TOKEN = 10_000

# command → (module, what `engram cloud --help` says of it). The first half is for whoever uses a server, the second
# for whoever runs one: it alone needs the packages of the extra `server`.
COMMANDS: dict[str, tuple[str, str]] = {
    "login": ("cloud", "Connect this machine to a server."),
    "logout": ("cloud", "Forget the server's token."),
    "status": ("cloud", "Show what is sent, what waits, and why."),
    "enroll": ("cloud", "Send a project to the server from now on."),
    "unenroll": ("cloud", "Stop sending a project."),
    "serve": ("cloud_admin", "Run the team's server on PostgreSQL."),
    "users": ("cloud_admin", "List, add, enable and disable accounts."),
    "tokens": ("cloud_admin", "List, add and revoke tokens."),
    "grants": ("cloud_admin", "List, add and remove what an account may read or write."),
    "audit": ("cloud_admin", "Show who did what."),
    "pause": ("cloud_admin", "Stop writes to a project, or list those stopped."),
    "resume": ("cloud_admin", "Resume a paused project."),
    "restored": ("cloud_admin", "Have every machine send again, after a backup was put back."),
}


cloud_command = group(
    "cloud",
    "Share memory through a server: connect this machine to one, or run one for a team.",
    cls=LazyGroup,
    table=COMMANDS,
)


@click.command("login")
@click.option("--server", help="Its address; default: ENGRAM_CLOUD_SERVER or cloud_server.")
@click.option("--token", help="Only `-`: read the token from standard input. Without it you are asked.")
@click.option("--insecure", is_flag=True, help="Allow unencrypted http:// to another machine.")
@prints_result
def login_command(app: Engram, server: str | None, token: str | None, insecure: bool) -> object:
    """Connect this machine to a server. The token is tried first, then kept in the keychain or a private file.

    Nothing of the memory is sent before `engram cloud enroll` names a project.
    """
    address = server or app.settings.cloud_server
    if not address:
        raise click.UsageError("say which server: --server https://HOST")
    return app.autosync.account.login(address, _token(token, address), insecure=insecure)


@click.command("logout")
@prints_result
def logout_command(app: Engram) -> object:
    """Delete the server's token. Projects stay enrolled for the next login to the same server."""
    return app.autosync.account.logout()


@click.command("status")
@click.option("--retry", is_flag=True, help="Retry the rows that were set aside, then sync.")
@prints_result
def status_command(app: Engram, retry: bool) -> object:
    """Show the state of sync: pending changes, refused rows, next step. Only --retry asks the server."""
    if retry:
        app.autosync.retry()
    return app.autosync.status()


@click.command("enroll")
@click.argument("projects", nargs=-1, metavar="PROJECT...", help="Projects, by name.")
@click.option("--all", "everything", is_flag=True, help="Every project that the server grants.")
@click.option("--trust/--no-trust", default=None, help="What comes from the server counts as your own, or never does.")
@prints_result
def enroll_command(app: Engram, projects: tuple[str, ...], everything: bool, trust: bool | None) -> object:
    """Sync projects with the server from now on, with everything saved so far.

    You are asked once, at a terminal, whether you trust whoever writes there; until then agents see what comes from
    the server apart, as not checked.
    """
    if not projects and not everything:
        raise click.UsageError("name the projects, or pass --all")
    enrolled = app.autosync.account.enroll(projects, everything=everything)
    if trust is None and can_ask() and not app.trust.is_decided(TARGET):
        trust = click.confirm("Is what comes from this server your own, or of people you trust?", err=True)
    if trust is not None:
        app.trust.source(TARGET, trusted=trust)
    return enrolled


@click.command("unenroll")
@click.argument("projects", nargs=-1, required=True, metavar="PROJECT...", help="Projects, by name.")
@prints_result
def unenroll_command(app: Engram, projects: tuple[str, ...]) -> object:
    """Stop syncing projects. The server keeps what it has."""
    return app.autosync.account.unenroll(projects)


def _token(token: str | None, address: str) -> str:
    if token not in (None, "-"):
        message = "a token on the command line is seen by every user of this machine: pass --token - and pipe it in"
        raise click.UsageError(message)
    if token is None and can_ask():
        return str(click.prompt(f"Token for {address}", hide_input=True, err=True))
    if token is None:
        raise click.UsageError("there is no terminal to ask for the token: pass --token - and pipe it in")
    return sys.stdin.readline(_LONGEST_TOKEN) if sys.stdin is not None else ""


def sync_cloud(app: Engram, *, as_json: bool) -> None:
    """Sync with the server now and print the result; exit code 1 when it failed or another process syncs."""
    with progress_bars() as report:
        done = app.autosync.sync_now(progress=report)
    show(done, app.settings, as_json=as_json)
    if done.outcome != "done":
        sys.exit(1)
