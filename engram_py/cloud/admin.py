"""Administration: accounts, tokens, grants, pauses, the audit log. The command and HTTP call the same operations."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from engram_py.cloud import audit
from engram_py.cloud.accounts import EVERY_PROJECT, SHOWN_CHARS, new_token, token_hash
from engram_py.cloud.database import Connection, one, rows
from engram_py.cloud.errors import (
    AccountExistsError,
    InvalidRequestError,
    UnknownAccountError,
    UnknownAddressError,
    UnknownTokenError,
)
from engram_py.sync.wire import PROJECT_LIMIT_CHARS

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
MOST_TOKEN_DAYS = 3_650
MOST_AUDIT_LINES = 1_000
_MOST_REASON_CHARS = 200

_ACCOUNTS = """
select
    principals.name,
    principals.kind,
    principals.role,
    principals.enabled,
    principals.created_at,
    (
        select count(*) from cloud_tokens as tokens
        where tokens.principal_id = principals.id and tokens.revoked_at is null
          and (tokens.expires_at is null or tokens.expires_at > now())
    ) as tokens,
    (select max(last_used_at) from cloud_tokens as tokens where tokens.principal_id = principals.id) as last_used_at
from cloud_principals as principals
order by principals.name
"""
_ADD_ACCOUNT = """
insert into cloud_principals (name, kind, role) values (%(name)s, %(kind)s, %(role)s)
on conflict (name) do nothing
returning id
"""
_ENABLE = """
update cloud_principals set enabled = %(enabled)s, updated_at = now() where name = %(name)s returning name, enabled
"""
_ACCOUNT_ID = "select id from cloud_principals where name = %(name)s"
_TOKENS = """
select
    tokens.id,
    principals.name as account,
    tokens.prefix,
    tokens.name,
    tokens.created_by,
    tokens.created_at,
    tokens.expires_at,
    tokens.last_used_at,
    tokens.revoked_at,
    tokens.revocation_reason
from cloud_tokens as tokens
join cloud_principals as principals on principals.id = tokens.principal_id
where %(name)s = '' or principals.name = %(name)s
order by principals.name, tokens.id
"""
_ISSUE = """
insert into cloud_tokens (principal_id, prefix, token_hash, name, created_by, expires_at)
values (%(principal)s, %(prefix)s, %(hash)s, %(label)s, %(actor)s, %(expires_at)s)
returning id
"""
_REVOKE = """
update cloud_tokens set revoked_at = now(), revoked_by = %(actor)s, revocation_reason = %(reason)s
where id = %(id)s and revoked_at is null
returning prefix
"""
_GRANTS = """
select principals.name as account, grants.project, grants.access, grants.granted_by, grants.created_at
from cloud_project_grants as grants
join cloud_principals as principals on principals.id = grants.principal_id
where (%(name)s = '' or principals.name = %(name)s) and (%(project)s = '' or grants.project = %(project)s)
order by principals.name, grants.project
"""
_GRANT = """
insert into cloud_project_grants (principal_id, project, access, granted_by)
values (%(principal)s, %(project)s, %(access)s, %(actor)s)
on conflict (principal_id, project) do update set access = excluded.access, granted_by = excluded.granted_by
"""
_UNGRANT = """
delete from cloud_project_grants where principal_id = %(principal)s and project = %(project)s returning project
"""
_AUDIT = """
select id, occurred_at, actor, action, project, target, outcome, reason_code, entries
from cloud_audit_log
where (%(name)s = '' or actor = %(name)s)
  and (%(project)s = '' or project = %(project)s)
  and (%(before)s = 0 or id < %(before)s)
order by id desc
limit %(limit)s
"""
_PAUSED = """
select name as project, paused_at, paused_by, paused_reason
from cloud_projects
where paused_at is not null
order by name
"""
_PAUSE = """
insert into cloud_projects (name, paused_at, paused_by, paused_reason)
values (%(project)s, now(), %(actor)s, %(reason)s)
on conflict (name) do update set
    paused_at = excluded.paused_at, paused_by = excluded.paused_by, paused_reason = excluded.paused_reason
"""
_RESUME = """
update cloud_projects set paused_at = null, paused_by = null, paused_reason = null
where name = %(project)s and paused_at is not null
returning name
"""
_RENEW = "update cloud_facts set value = gen_random_uuid()::text where name = 'instance' returning value"

Arguments = dict[str, Any]


class Admin:
    """The operations of an administrator, by the words of the command. ``actor`` goes into the audit log."""

    def __init__(self, connection: Connection, *, actor: str, pepper: str = "") -> None:
        self._connection = connection
        self._actor = actor
        self._pepper = pepper

    async def run(self, operation: str, given: Arguments) -> Any:
        """Do ``users/add`` and the like; what it answers is JSON-ready. Raises a CloudServerError."""
        function = OPERATIONS.get(operation)
        if function is None:
            raise UnknownAddressError(operation)
        async with self._connection.transaction():
            return _plain(await function(self, given))

    async def users(self, given: Arguments) -> Any:
        return await rows(self._connection, _ACCOUNTS, {})

    async def add_user(self, given: Arguments) -> Any:
        name, role = _name(given), _choice(given, "role", ("member", "admin"))
        kind = _choice(given, "kind", ("human", "service"))
        made = await one(self._connection, _ADD_ACCOUNT, {"name": name, "kind": kind, "role": role})
        if made is None:
            raise AccountExistsError(name)
        await self._log("users add", target=name)
        for access in ("read", "write"):
            for project in _texts(given, access):
                await self.grant({"user": name, "project": project, "access": access})
        return {"user": name, "kind": kind, "role": role, **await self._issue(name, given)}

    async def enable(self, given: Arguments, *, enabled: bool = True) -> Any:
        name = _name(given)
        found = await one(self._connection, _ENABLE, {"name": name, "enabled": enabled})
        if found is None:
            raise UnknownAccountError(name)
        await self._log("users enable" if enabled else "users disable", target=name)
        return {"user": name, "enabled": enabled}

    async def tokens(self, given: Arguments) -> Any:
        return await rows(self._connection, _TOKENS, {"name": _text(given, "user")})

    async def add_token(self, given: Arguments) -> Any:
        name = _name(given)
        return {"user": name, **await self._issue(name, given)}

    async def _issue(self, name: str, given: Arguments) -> dict[str, Any]:
        """Return a new token. It is in the answer, and nowhere else ever."""
        days = given.get("expires_in_days")
        if days is not None and (type(days) is not int or not 1 <= days <= MOST_TOKEN_DAYS):
            raise InvalidRequestError("expires_in_days", expected=f"a whole number from 1 to {MOST_TOKEN_DAYS:,}")
        expires = datetime.now(UTC) + timedelta(days=days) if days else None
        token = new_token()
        values = {
            "principal": await self._account(name),
            "prefix": token[:SHOWN_CHARS],
            "hash": token_hash(token, pepper=self._pepper),
            "label": _text(given, "label"),
            "actor": self._actor,
            "expires_at": expires,
        }
        made = await one(self._connection, _ISSUE, values)
        assert made is not None
        await self._log("tokens add", target=f"{name} #{made['id']}")
        return {"token": token, "token_id": made["id"], "expires_at": expires}

    async def revoke(self, given: Arguments) -> Any:
        number = given.get("id")
        if type(number) is not int or not 0 < number < 2**63:
            raise UnknownTokenError(str(number))
        values = {"id": number, "actor": self._actor, "reason": _text(given, "reason")}
        found = await one(self._connection, _REVOKE, values)
        if found is None:
            raise UnknownTokenError(str(number))
        await self._log("tokens revoke", target=f"#{number}")
        return {"id": number, "prefix": found["prefix"], "revoked": True}

    async def grants(self, given: Arguments) -> Any:
        return await rows(self._connection, _GRANTS, {"name": _text(given, "user"), "project": _text(given, "project")})

    async def grant(self, given: Arguments) -> Any:
        name, project = _name(given), _project(given)
        access = _choice(given, "access", ("read", "write"))
        values = {"principal": await self._account(name), "project": project, "access": access, "actor": self._actor}
        await self._connection.execute(_GRANT.encode(), values)
        await self._log(f"grants add {access}", project=project, target=name)
        return {"user": name, "project": project, "access": access}

    async def ungrant(self, given: Arguments) -> Any:
        name, project = _name(given), _project(given)
        values = {"principal": await self._account(name), "project": project}
        found = await one(self._connection, _UNGRANT, values)
        await self._log("grants remove", project=project, target=name)
        return {"user": name, "project": project, "removed": found is not None}

    async def audit(self, given: Arguments) -> Any:
        values = {"name": _text(given, "user"), "project": _text(given, "project")}
        numbers = {"before": _number(given, "before", 0), "limit": _number(given, "limit", 100)}
        numbers["limit"] = max(1, min(numbers["limit"], MOST_AUDIT_LINES))
        return await rows(self._connection, _AUDIT, {**values, **numbers})

    async def paused(self, given: Arguments) -> Any:
        return await rows(self._connection, _PAUSED, {})

    async def pause(self, given: Arguments) -> Any:
        project = _project(given, every=False)
        values = {"project": project, "actor": self._actor, "reason": _text(given, "reason")}
        await self._connection.execute(_PAUSE.encode(), values)
        await self._log("pause", project=project)
        return {"project": project, "paused": True}

    async def resume(self, given: Arguments) -> Any:
        project = _project(given, every=False)
        found = await one(self._connection, _RESUME, {"project": project})
        await self._log("resume", project=project)
        return {"project": project, "paused": False, "was_paused": found is not None}

    async def renew(self, given: Arguments) -> Any:
        """Rename the database after a backup was restored, so that clients send everything again."""
        found = await one(self._connection, _RENEW, {})
        await self._log("instance renew")
        return {"instance": found["value"] if found else ""}

    async def _account(self, name: str) -> int:
        found = await one(self._connection, _ACCOUNT_ID, {"name": name})
        if found is None:
            raise UnknownAccountError(name)
        return int(found["id"])

    async def _log(self, action: str, *, project: str = "", target: str = "") -> None:
        await audit.record(self._connection, self._actor, [audit.Line(action, project, target)])


OPERATIONS: dict[str, Callable[[Admin, Arguments], Awaitable[Any]]] = {
    "users/list": Admin.users,
    "users/add": Admin.add_user,
    "users/enable": Admin.enable,
    "users/disable": partial(Admin.enable, enabled=False),
    "tokens/list": Admin.tokens,
    "tokens/add": Admin.add_token,
    "tokens/revoke": Admin.revoke,
    "grants/list": Admin.grants,
    "grants/add": Admin.grant,
    "grants/remove": Admin.ungrant,
    "audit/list": Admin.audit,
    "pause/list": Admin.paused,
    "pause/add": Admin.pause,
    "pause/remove": Admin.resume,
    "instance/renew": Admin.renew,
}


def _name(given: Arguments) -> str:
    name = given.get("user")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidRequestError("user", expected="1 to 64 letters, digits or . _ @ + -, a letter or digit first")
    return name


def _project(given: Arguments, *, every: bool = True) -> str:
    name = given.get("project")
    usable = isinstance(name, str) and name == name.strip() and name.isprintable()
    if not usable or not 0 < len(str(name)) <= PROJECT_LIMIT_CHARS or (name == EVERY_PROJECT and not every):
        raise InvalidRequestError("project", expected="the name of a project" + (f", or {EVERY_PROJECT}" * every))
    return str(name)


def _choice(given: Arguments, field: str, choices: tuple[str, ...]) -> str:
    value = given.get(field, choices[0])
    if value not in choices:
        raise InvalidRequestError(field, expected=" or ".join(choices))
    return str(value)


def _text(given: Arguments, field: str) -> str:
    value = given.get(field) or ""
    if not isinstance(value, str) or len(value) > _MOST_REASON_CHARS or not value.isprintable():
        raise InvalidRequestError(field, expected=f"at most {_MOST_REASON_CHARS} printable characters")
    return value


def _texts(given: Arguments, field: str) -> list[str]:
    value = given.get(field) or []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InvalidRequestError(field, expected="a list of project names")
    return value


def _number(given: Arguments, field: str, default: int) -> int:
    value = given.get(field)
    if value is None:
        return default
    if type(value) is not int or not 0 <= value < 2**63:
        raise InvalidRequestError(field, expected="a whole number")
    return value


def _plain(value: Any) -> Any:
    """Return the value with its times as text."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        case dict():
            return {key: _plain(inner) for key, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
    return value
