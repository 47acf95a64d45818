"""Run an administrator's operation: directly on the database, or through the server's admin routes."""

from __future__ import annotations

import asyncio
import getpass
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from engram_py.interfaces.cli.commands import memory
from engram_py.interfaces.cli.terminal import printable

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
    from engram_py.cloud.accounts import check_pepper
    from engram_py.cloud.admin import Admin
    from engram_py.cloud.database import connected, migrate
    from engram_py.cloud.settings import load_cloud_settings

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
    from engram_py.sync.errors import NotLoggedInError

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
    return printable(str(value)).replace("\n", " ") or "-"


def need_packages() -> None:
    from engram_py.cloud.errors import ServerPackagesMissingError

    for name in ("psycopg", "psycopg_pool", "prometheus_client"):
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            raise ServerPackagesMissingError(name)
