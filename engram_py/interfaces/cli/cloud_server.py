"""``engram cloud serve``, and the commands for its accounts."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping
from typing import Any

import click

from engram_py.interfaces.cli.cloud_admin import administered, need_packages, print_rows
from engram_py.interfaces.cli.support import group, json_command, print_value, refusing

_account = click.argument("user", metavar="NAME", help="The account's name.")
_account_filter = click.argument("user", metavar="[NAME]", default="", help="Of this account only.")


@click.command("serve")
@click.option("--host", help="Default: ENGRAM_CLOUD_HOST, else 127.0.0.1. Behind a proxy that does TLS.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Default: ENGRAM_CLOUD_PORT, else 8080.")
@refusing
def serve_command(host: str | None, port: int | None) -> None:
    """Run the team's server on the PostgreSQL database that ENGRAM_DATABASE_URL names.

    It brings an empty database up by itself. SIGTERM and Ctrl-C end it after the requests it is working on.
    """
    need_packages()
    from engram_py.cloud.routes import build_cloud_application
    from engram_py.cloud.server import prepare
    from engram_py.cloud.settings import load_cloud_settings
    from engram_py.interfaces.http.loop import server_of
    from engram_py.interfaces.http.sockets import listen
    from engram_py.sync.autosync.login import is_loopback

    settings = load_cloud_settings()
    host = settings.host if host is None else host
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # it warns of each retry; a request says it once
    if done := asyncio.run(prepare(settings, open_to="" if is_loopback(host) else host)):
        click.echo(f"Prepared the database: {', '.join(done)}.", err=True)
    with listen(host, settings.port if port is None else port, None) as listening:
        started = f"engram cloud serves {listening.shown}; Ctrl-C ends it."
        server = server_of(build_cloud_application(settings), started=lambda: click.echo(started, err=True))
        server.run(sockets=[listening.socket])


users_command = group(
    "users",
    """List, add, enable and disable accounts; alone it lists them.

    Works on the database that ENGRAM_DATABASE_URL names; without it, on the server this machine is logged in to.
    """,
    alone="list",
)


@users_command.command("list")
@json_command
def list_users(as_json: bool) -> None:
    """List the accounts."""
    found = administered("users/list")
    print_rows(found, "name kind role enabled tokens last_used_at", as_json=as_json, empty="No accounts yet.")


@users_command.command("add")
@_account
@click.option("--admin", is_flag=True, help="An administrator: accounts, grants and pauses.")
@click.option("--service", is_flag=True, help="A program, not a person.")
@click.option("--read", multiple=True, metavar="PROJECT", help="A project it may read; * for every one. Repeatable.")
@click.option("--write", multiple=True, metavar="PROJECT", help="The same, to read and write.")
@click.option("--expires", "expires_in_days", type=int, metavar="DAYS", help="When its token ends; default: never.")
@json_command
def add_user(
    user: str, admin: bool, service: bool, read: tuple[str, ...], write: tuple[str, ...], as_json: bool, **given: Any
) -> None:
    """Make an account and print its token. It is shown this once: only a hash is stored."""
    role, kind = "admin" if admin else "member", "service" if service else "human"
    given |= {"user": user, "role": role, "kind": kind, "read": list(read), "write": list(write)}
    _print_token(administered("users/add", given), as_json=as_json)
    if not (read or write):
        click.echo(f"It sees no project yet: engram cloud grants add {user} PROJECT --write", err=True)


@users_command.command("disable")
@_account
@json_command
def disable_user(user: str, as_json: bool) -> None:
    """Refuse all tokens of an account. Its data stays."""
    print_value(administered("users/disable", {"user": user}), f"{user} is disabled.", as_json=as_json)


@users_command.command("enable")
@_account
@json_command
def enable_user(user: str, as_json: bool) -> None:
    """Accept an account's tokens again."""
    print_value(administered("users/enable", {"user": user}), f"{user} is enabled.", as_json=as_json)


tokens_command = group("tokens", "List, add and revoke tokens; alone it lists them.", alone="list")


@tokens_command.command("list")
@_account_filter
@json_command
def list_tokens(user: str, as_json: bool) -> None:
    """List tokens by number and first characters; only hashes are stored."""
    found = administered("tokens/list", {"user": user})
    columns = "id account prefix name expires_at last_used_at revoked_at"
    print_rows(found, columns, as_json=as_json, empty="No tokens.")


@tokens_command.command("add")
@_account
@click.option("--label", help="Its use, such as the machine's name.")
@click.option("--expires", "expires_in_days", type=int, metavar="DAYS", help="When it ends; default: never.")
@json_command
def add_token(as_json: bool, **given: Any) -> None:
    """Make another token for an account and print it. It is shown this once."""
    _print_token(administered("tokens/add", given), as_json=as_json)


@tokens_command.command("revoke")
@click.argument("number", metavar="ID", type=int, help="Its number in `engram cloud tokens list`.")
@click.option("--reason", help="The reason, stored with it.")
@json_command
def revoke_token(number: int, reason: str | None, as_json: bool) -> None:
    """End a token, from its next request on."""
    done = administered("tokens/revoke", {"id": number, "reason": reason})
    print_value(done, f"Token {number} ({done['prefix']}...) is revoked.", as_json=as_json)


grants_command = group("grants", "List, add and remove what accounts may read or write; alone it lists.", alone="list")


@grants_command.command("list")
@_account_filter
@json_command
def list_grants(user: str, as_json: bool) -> None:
    """List the grants."""
    found = administered("grants/list", {"user": user})
    print_rows(found, "account project access granted_by created_at", as_json=as_json, empty="No grants.")


@grants_command.command("add")
@_account
@click.argument("project", help="The project; * for every one, those to come included.")
@click.option("--write", is_flag=True, help="Allow reading and writing; without it, reading.")
@json_command
def add_grant(user: str, project: str, write: bool, as_json: bool) -> None:
    """Let an account read a project, or with --write also change it."""
    access = "write" if write else "read"
    done = administered("grants/add", {"user": user, "project": project, "access": access})
    print_value(done, f"{user} may {'read and write' if write else 'read'} {project}.", as_json=as_json)


@grants_command.command("remove")
@_account
@click.argument("project", help="The project, as it was granted.")
@json_command
def remove_grant(user: str, project: str, as_json: bool) -> None:
    """Remove a grant. Data that the account's machines have stays there."""
    done = administered("grants/remove", {"user": user, "project": project})
    said = f"{user} has no grant of {project} any more." if done["removed"] else f"{user} had no grant of {project}."
    print_value(done, said, as_json=as_json)


@click.command("audit")
@click.option("--user", help="Of this account only.")
@click.option("--project", help="Of this project only.")
@click.option("--before", type=int, metavar="ID", help="Lines older than this one.")
@click.option("--limit", type=int, default=50, show_default=True, help="Most lines.")
@json_command
def audit_command(as_json: bool, **filters: Any) -> None:
    """Show the audit log, latest first. It contains no text of observations."""
    found = administered("audit/list", filters)
    columns = "id occurred_at actor action project target outcome reason_code entries"
    print_rows(found, columns, as_json=as_json, empty="Nothing happened yet.")


@click.command("pause")
@click.argument("project", metavar="[PROJECT]", required=False, help="Without it, list the paused projects.")
@click.option("--reason", help="Shown to those who push.")
@json_command
def pause_command(project: str | None, reason: str | None, as_json: bool) -> None:
    """Stop writes to a project. Reading continues; machines keep their changes until it resumes."""
    if project is None:
        found = administered("pause/list")
        print_rows(found, "project paused_at paused_by paused_reason", as_json=as_json, empty="No project is paused.")
        return
    done = administered("pause/add", {"project": project, "reason": reason})
    print_value(done, f"{project} is paused; engram cloud resume {project} ends it.", as_json=as_json)


@click.command("resume")
@click.argument("project", help="A paused project.")
@json_command
def resume_command(project: str, as_json: bool) -> None:
    """Resume a paused project."""
    done = administered("pause/remove", {"project": project})
    print_value(done, f"{project} goes on." if done["was_paused"] else f"{project} was not paused.", as_json=as_json)


@click.command("restored")
@json_command
def restored_command(as_json: bool) -> None:
    """Tell every machine to sync everything again, after the database was restored from a backup.

    Without this, changes pushed after the backup are missing here: the machines believe they were sent.
    """
    done = administered("instance/renew")
    print_value(done, "Every machine will exchange everything once more.", as_json=as_json)


def _print_token(made: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_value(made, "", as_json=True)
        return
    click.echo(f"The token of {made['user']}, which is shown this once:", err=True)
    click.echo(made["token"])
