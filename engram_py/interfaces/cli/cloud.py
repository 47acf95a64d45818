"""``engram cloud``: the group of its commands, for users of a server and for those who run one."""

from __future__ import annotations

import click

from engram_py.interfaces.cli.lazy import LazyGroup
from engram_py.interfaces.cli.support import json_option, pass_json_on

# command → (module, what `engram cloud --help` says of it). The first half is for whoever uses a server, the second
# for whoever runs one: it alone needs the packages of the extra `server`.
COMMANDS: dict[str, tuple[str, str]] = {
    "login": ("cloud_client", "Connect this machine to a server."),
    "logout": ("cloud_client", "Forget the server's token."),
    "status": ("cloud_client", "Show what is sent, what waits, and why."),
    "enroll": ("cloud_client", "Send a project to the server from now on."),
    "unenroll": ("cloud_client", "Stop sending a project."),
    "serve": ("cloud_server", "Run the team's server on PostgreSQL."),
    "users": ("cloud_server", "List, add, enable and disable accounts."),
    "tokens": ("cloud_server", "List, add and revoke tokens."),
    "grants": ("cloud_server", "List, add and remove what an account may read or write."),
    "audit": ("cloud_server", "Show who did what."),
    "pause": ("cloud_server", "Stop writes to a project, or list those stopped."),
    "resume": ("cloud_server", "Resume a paused project."),
    "restored": ("cloud_server", "Have every machine send again, after a backup was put back."),
}


@click.group("cloud", cls=LazyGroup, table=COMMANDS)
@json_option
@click.pass_context
def cloud_command(ctx: click.Context, as_json: bool) -> None:
    """Share memory through a server: connect this machine to one, or run one for a team."""
    pass_json_on(ctx, as_json=as_json)
