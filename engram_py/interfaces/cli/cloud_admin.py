"""``engram cloud serve``, and the commands for its accounts: each runs directly on the database, or through the
server's admin routes.
"""

from __future__ import annotations

import asyncio
import getpass
import importlib.util
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from engram_py.base.install_hints import install_hint
from engram_py.base.text.normalize import visible
from engram_py.interfaces.cli.commands import group, memory, refusing, value_command

_SECONDS = 30.0
# The server's own hint is about grants of projects, and no grant makes an admin.
_NOT_AN_ADMIN = "this needs an admin's token, or run it on the server's machine with ENGRAM_DATABASE_URL"


def administered(operation: str, given: Mapping[str, Any] | None = None) -> Any:
    """Run an administrator's operation and return its answer. Raises a CloudServerError."""
    arguments = {name: value for name, value in (given or {}).items() if value is not None}
    if os.environ.get("ENGRAM_DATABASE_URL", "").strip():
        return asyncio.run(_directly(operation, arguments))
    return _remotely(operation, arguments)


async def _directly(operation: str, given: dict[str, Any]) -> Any:
    need_packages()
    from engram_py.cloud.accounts import check_pepper, load_cloud_settings
    from engram_py.cloud.admin import Admin
    from engram_py.cloud.database import connected, migrate

    settings = load_cloud_settings()
    async with connected(settings.database_url) as connection:
        await migrate(connection)
        await check_pepper(connection, settings.pepper)
        return await Admin(connection, actor=f"local:{_me()}", pepper=settings.pepper).run(operation, given)


def _me() -> str:
    try:
        return getpass.getuser()[:60]
    except (OSError, KeyError):  # a user id without a name
        return "somebody"


def _remotely(operation: str, given: dict[str, Any]) -> Any:
    import httpx

    from engram_py.cloud.errors import ServerAnswerError

    address, token = _login()
    try:
        answer = httpx.post(
            f"{address}/admin/{operation}",
            json=given,
            headers={"Authorization": f"Bearer {token}"},
            timeout=_SECONDS,
            follow_redirects=False,  # the token is for this address
        )
        value = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as exc:
        raise ServerAnswerError(address, type(exc).__name__) from exc
    if answer.status_code != httpx.codes.OK:
        error = value.get("error") if isinstance(value, dict) else None
        told = error if isinstance(error, dict) else {}
        hint = _NOT_AN_ADMIN if answer.status_code == httpx.codes.FORBIDDEN else str(told.get("hint", ""))
        raise ServerAnswerError(address, str(told.get("message") or answer.status_code), hint=hint)
    return value


def _login() -> tuple[str, str]:
    """Return the server this machine is logged in to, and the token. Raises DatabaseNotSetError without one."""
    from engram_py.cloud.errors import DatabaseNotSetError
    from engram_py.sharing.sync.errors import NotLoggedInError

    with memory() as app:
        try:
            return app.autosync.credentials()
        except NotLoggedInError as exc:
            raise DatabaseNotSetError from exc


def listed(operation: str, columns: str, given: Mapping[str, Any] | None = None, *, empty: str) -> tuple[object, str]:
    """Run an operation that lists, and return its rows, and as text those ``columns`` (separated by blanks)."""
    rows: Sequence[Mapping[str, Any]] = administered(operation, given)
    if not rows:
        return rows, empty
    names = columns.split()
    lines = [names, *([_cell(row.get(name)) for name in names] for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(names))]
    padded = ("  ".join(map(str.ljust, line, widths)) for line in lines)
    return rows, "\n".join(line.rstrip() for line in padded)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return visible(str(value)).replace("\n", " ") or "-"


def need_packages() -> None:
    from engram_py.cloud.errors import CloudServerError

    for name in ("psycopg", "psycopg_pool", "prometheus_client"):
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            raise CloudServerError(
                f"the package {name} is not installed",
                hint=f"run `{install_hint('server')}`",
                code="server_packages_missing",
            )


_account = click.argument("user", metavar="NAME", help="The account's name.")
_account_filter = click.argument("user", metavar="[NAME]", default="", help="Only of this account.")


@click.command("serve")
@click.option(
    "--host", help="Address to listen on; default: ENGRAM_CLOUD_HOST, else 127.0.0.1. Put a TLS proxy in front."
)
@click.option("--port", type=click.IntRange(0, 65_535), help="The port; default: ENGRAM_CLOUD_PORT, else 8080.")
@refusing
def serve_command(host: str | None, port: int | None) -> None:
    """Run the team's server on the PostgreSQL database that ENGRAM_DATABASE_URL names.

    It creates the tables in an empty database. On SIGTERM or Ctrl-C it finishes open requests, then exits.
    """
    need_packages()
    from engram_py.base.settings import is_loopback
    from engram_py.cloud.accounts import load_cloud_settings
    from engram_py.cloud.routes import build_cloud_application
    from engram_py.cloud.server import prepare
    from engram_py.interfaces.http.server import listen, run_until_told, server_of

    settings = load_cloud_settings()
    host = settings.host if host is None else host
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # it warns of each retry; a request says it once
    if done := asyncio.run(prepare(settings, open_to="" if is_loopback(host) else host)):
        click.echo(f"Prepared the database: {', '.join(done)}.", err=True)
    with listen(host, settings.port if port is None else port, None) as listening:
        started = f"engram cloud serves {listening.shown}; Ctrl-C ends it."
        server = server_of(build_cloud_application(settings))
        run_until_told(server, listening.socket, started=lambda: click.echo(started, err=True))


users_command = group(
    "users",
    """List, add, enable and disable accounts; by default it lists them.

    Works on the database that ENGRAM_DATABASE_URL names; without it, on the server this machine is logged in to.
    """,
    alone="list",
)


@value_command("list", of=users_command)
def list_users() -> tuple[object, str]:
    """List the accounts."""
    return listed("users/list", "name kind role enabled tokens last_used_at", empty="No accounts yet.")


@value_command("add", _account, of=users_command)
@click.option("--admin", is_flag=True, help="Make it an administrator of accounts, grants and pauses.")
@click.option("--service", is_flag=True, help="Mark it as a program, not a person.")
@click.option("--read", multiple=True, metavar="PROJECT", help="A project it may read; * for all. May be repeated.")
@click.option(
    "--write", multiple=True, metavar="PROJECT", help="A project it may read and write; * for all. May be repeated."
)
@click.option(
    "--expires", "expires_in_days", type=int, metavar="DAYS", help="Days until its token expires; default: never."
)
def add_user(
    user: str, admin: bool, service: bool, read: tuple[str, ...], write: tuple[str, ...], **given: Any
) -> tuple[object, str]:
    """Add an account and print its token. The token is shown only once."""
    role, kind = "admin" if admin else "member", "service" if service else "human"
    given |= {"user": user, "role": role, "kind": kind, "read": list(read), "write": list(write)}
    made = administered("users/add", given)
    if not (read or write):
        click.echo(f"{user} sees no project yet: engram cloud grants add {user} PROJECT --write", err=True)
    return _token(made)


@value_command("disable", _account, of=users_command)
def disable_user(user: str) -> tuple[object, str]:
    """Refuse all tokens of an account. Its data stays."""
    return administered("users/disable", {"user": user}), f"{user} is disabled."


@value_command("enable", _account, of=users_command)
def enable_user(user: str) -> tuple[object, str]:
    """Accept an account's tokens again."""
    return administered("users/enable", {"user": user}), f"{user} is enabled."


tokens_command = group("tokens", "List, add and revoke tokens; by default it lists them.", alone="list")


@value_command("list", _account_filter, of=tokens_command)
def list_tokens(user: str) -> tuple[object, str]:
    """List tokens by number and first characters; only hashes are stored."""
    columns = "id account prefix name expires_at last_used_at revoked_at"
    return listed("tokens/list", columns, {"user": user}, empty="No tokens.")


@value_command("add", _account, of=tokens_command)
@click.option("--label", help="A label, such as the machine's name.")
@click.option("--expires", "expires_in_days", type=int, metavar="DAYS", help="Days until it expires; default: never.")
def add_token(**given: Any) -> tuple[object, str]:
    """Add a token to an account and print it. The token is shown only once."""
    return _token(administered("tokens/add", given))


@value_command("revoke", of=tokens_command)
@click.argument("number", metavar="ID", type=int, help="Its number in `engram cloud tokens list`.")
@click.option("--reason", help="The reason, stored with it.")
def revoke_token(number: int, reason: str | None) -> tuple[object, str]:
    """Revoke a token; its next request is refused."""
    done = administered("tokens/revoke", {"id": number, "reason": reason})
    return done, f"Token {number} ({done['prefix']}...) is revoked."


grants_command = group(
    "grants",
    "List, add and remove grants (which account may read or write what); by default it lists them.",
    alone="list",
)


@value_command("list", _account_filter, of=grants_command)
def list_grants(user: str) -> tuple[object, str]:
    """List the grants."""
    return listed("grants/list", "account project access granted_by created_at", {"user": user}, empty="No grants.")


@value_command("add", _account, of=grants_command)
@click.argument("project", help="The project; * for all, future ones included.")
@click.option("--write", is_flag=True, help="Allow reading and writing; without it, reading.")
def add_grant(user: str, project: str, write: bool) -> tuple[object, str]:
    """Let an account read a project, or with --write also change it."""
    access = "write" if write else "read"
    done = administered("grants/add", {"user": user, "project": project, "access": access})
    return done, f"{user} may {'read and write' if write else 'read'} {project}."


@value_command("remove", _account, of=grants_command)
@click.argument("project", help="The project, as `engram cloud grants list` shows it.")
def remove_grant(user: str, project: str) -> tuple[object, str]:
    """Remove a grant. Data that the account's machines have stays there."""
    done = administered("grants/remove", {"user": user, "project": project})
    said = f"{user} has no grant of {project} any more." if done["removed"] else f"{user} had no grant of {project}."
    return done, said


@value_command("audit")
@click.option("--user", help="Only of this account.")
@click.option("--project", help="Only of this project.")
@click.option("--before", type=int, metavar="ID", help="Only entries older than this one.")
@click.option("--limit", type=int, default=50, show_default=True, help="Most entries.")
def audit_command(**filters: Any) -> tuple[object, str]:
    """Show the audit log, latest first. It has no text of observations."""
    columns = "id occurred_at actor action project target outcome reason_code entries"
    return listed("audit/list", columns, filters, empty="Nothing happened yet.")


@value_command("pause")
@click.argument("project", metavar="[PROJECT]", required=False, help="The project; default: list the paused projects.")
@click.option("--reason", help="The reason, which pushing machines show.")
def pause_command(project: str | None, reason: str | None) -> tuple[object, str]:
    """Stop writes to a project. Reading continues; machines keep their changes until it resumes."""
    if project is None:
        return listed("pause/list", "project paused_at paused_by paused_reason", empty="No project is paused.")
    done = administered("pause/add", {"project": project, "reason": reason})
    return done, f"{project} is paused; engram cloud resume {project} ends it."


@value_command("resume")
@click.argument("project", help="A paused project.")
def resume_command(project: str) -> tuple[object, str]:
    """Resume a paused project."""
    done = administered("pause/remove", {"project": project})
    return done, f"{project} is resumed." if done["was_paused"] else f"{project} was not paused."


@value_command("restored")
def restored_command() -> tuple[object, str]:
    """Make every machine sync everything again, after you restored the database from a backup.

    Otherwise changes sent after the backup stay missing, because the machines do not send them twice.
    """
    done = administered("instance/renew")
    return done, "Every machine will exchange everything once more."


def _token(made: Mapping[str, Any]) -> tuple[object, str]:
    click.echo(f"The token of {made['user']}, which is shown this once:", err=True)
    return made, made["token"]
