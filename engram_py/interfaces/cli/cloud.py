"""``engram cloud``: one group, two halves. A command's module is imported when it runs."""

from __future__ import annotations

import importlib

import click

from engram_py.interfaces.cli.support import json_option

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
    "resume": ("cloud_server", "Let a paused project go on."),
    "restored": ("cloud_server", "Have every machine send again, after a backup was put back."),
}


class _Commands(click.Group):
    """Finds a command's module on demand; ``--help`` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"engram_py.interfaces.cli.{COMMANDS[name][0]}")
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as exc:  # click knows only the commands that were imported
            raise click.exceptions.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx) from exc


@click.group("cloud", cls=_Commands)
@json_option
@click.pass_context
def cloud_command(ctx: click.Context, as_json: bool) -> None:
    """Share memory through a server: connect this machine to one, or run one for a team."""
    if as_json and ctx.invoked_subcommand is not None:
        ctx.default_map = {ctx.invoked_subcommand: {"as_json": True}}
