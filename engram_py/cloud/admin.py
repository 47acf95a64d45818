"""Administration: accounts, tokens, grants, pauses, the audit log. The command and HTTP call the same operations."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from engram_py.base.lazy import regex
from engram_py.cloud.accounts import SHOWN_CHARS, new_token, token_hash
from engram_py.cloud.database import MOST_AUDIT_LINES, NEWEST_LINES, AuditLine, Connection, one, record_audit, rows
from engram_py.cloud.errors import CloudServerError, InvalidRequestError, UnknownAccountError, UnknownAddressError
from engram_py.cloud.validation import EVERY_PROJECT
from engram_py.sharing.sync.mutation import PROJECT_LIMIT_CHARS

_NAME = regex(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
MOST_TOKEN_DAYS = 3_650

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
where %(user)s = '' or principals.name = %(user)s
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
where (%(user)s = '' or principals.name = %(user)s) and (%(project)s = '' or grants.project = %(project)s)
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

# What only gives rows, filtered by the arguments.
_LISTS = {
    "users/list": _ACCOUNTS,
    "tokens/list": _TOKENS,
    "grants/list": _GRANTS,
    "audit/list": NEWEST_LINES,
    "pause/list": _PAUSED,
}


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("a text with characters that cannot be printed")
    return text


Text = Annotated[str, Field(max_length=200), AfterValidator(_printable)]
Number = Annotated[int, Field(ge=0, lt=2**63)]


class AdminArguments(BaseModel):
    """The arguments of all operations: each uses some of them."""

    model_config = ConfigDict(strict=True, frozen=True)

    user: Text = ""
    project: Text = ""
    access: Literal["read", "write"] = "read"
    role: Literal["member", "admin"] = "member"
    kind: Literal["human", "service"] = "human"
    read: list[str] = []
    write: list[str] = []
    expires_in_days: Annotated[int, Field(ge=1, le=MOST_TOKEN_DAYS)] | None = None
    label: Text = ""
    reason: Text = ""
    id: Number = 0
    before: Number = 0
    limit: Number = 100

    def account(self) -> str:
        """Return the name of an account. Raises InvalidRequestError."""
        if not _NAME.fullmatch(self.user):
            raise InvalidRequestError("user", expected="1 to 64 letters, digits or . _ @ + -, a letter or digit first")
        return self.user

    def named_project(self, *, every: bool = False) -> str:
        """Return the name of a project, or ``*`` where that may stand for all. Raises InvalidRequestError."""
        usable = self.project == self.project.strip() and 0 < len(self.project) <= PROJECT_LIMIT_CHARS
        if not usable or (self.project == EVERY_PROJECT and not every):
            raise InvalidRequestError("project", expected="the name of a project" + (f", or {EVERY_PROJECT}" * every))
        return self.project


class Admin:
    """The operations of an administrator, by the words of the command. ``actor`` goes into the audit log."""

    def __init__(self, connection: Connection, *, actor: str, pepper: str = "") -> None:
        self._connection = connection
        self._actor = actor
        self._pepper = pepper

    async def run(self, operation: str, given: Mapping[str, Any]) -> Any:
        """Run an operation such as ``users/add``; return a JSON-ready answer. Raises a CloudServerError."""
        if operation not in _LISTS and operation not in OPERATIONS:
            raise UnknownAddressError(operation)
        try:
            arguments = AdminArguments(**{name: value for name, value in given.items() if value is not None})
        except ValidationError as exc:
            first = exc.errors(include_url=False, include_input=False)[0]
            raise InvalidRequestError(str(first["loc"][0]), expected=f"valid ({first['msg']})") from exc
        async with self._connection.transaction():
            if operation in _LISTS:
                limit = max(1, min(arguments.limit, MOST_AUDIT_LINES))
                filters = {"user": arguments.user, "project": arguments.project, "before": arguments.before}
                return _json_ready(await rows(self._connection, _LISTS[operation], {**filters, "limit": limit}))
            return _json_ready(await OPERATIONS[operation](self, arguments))

    async def add_user(self, given: AdminArguments) -> Any:
        name = given.account()
        values = {"name": name, "kind": given.kind, "role": given.role}
        if await one(self._connection, _ADD_ACCOUNT, values) is None:
            raise CloudServerError(
                f"account {name!r} exists already",
                hint="`engram cloud tokens add NAME` gives it another token",
                code="account_exists",
                status=409,
            )
        await self._log("users add", target=name)
        grants = [*(("read", project) for project in given.read), *(("write", project) for project in given.write)]
        for access, project in grants:
            await self.grant(AdminArguments.model_validate({"user": name, "project": project, "access": access}))
        return {"user": name, "kind": given.kind, "role": given.role, **await self._issue(name, given)}

    async def enable(self, given: AdminArguments, *, enabled: bool = True) -> Any:
        name = given.account()
        row = await one(self._connection, _ENABLE, {"name": name, "enabled": enabled})
        if row is None:
            raise UnknownAccountError(name)
        await self._log("users enable" if enabled else "users disable", target=name)
        return {"user": name, "enabled": enabled}

    async def add_token(self, given: AdminArguments) -> Any:
        return {"user": given.account(), **await self._issue(given.account(), given)}

    async def _issue(self, name: str, given: AdminArguments) -> dict[str, Any]:
        """Return a new token. It is in the answer, and nowhere else ever."""
        days, token = given.expires_in_days, new_token()
        expires = datetime.now(UTC) + timedelta(days=days) if days else None
        values = {
            "principal": await self._account(name),
            "prefix": token[:SHOWN_CHARS],
            "hash": token_hash(token, pepper=self._pepper),
            "label": given.label,
            "actor": self._actor,
            "expires_at": expires,
        }
        made = await one(self._connection, _ISSUE, values)
        assert made is not None
        await self._log("tokens add", target=f"{name} #{made['id']}")
        return {"token": token, "token_id": made["id"], "expires_at": expires}

    async def revoke(self, given: AdminArguments) -> Any:
        values = {"id": given.id, "actor": self._actor, "reason": given.reason}
        row = await one(self._connection, _REVOKE, values)
        if row is None:
            raise CloudServerError(
                f"no token {str(given.id)[:20]!r}",
                hint="`engram cloud tokens list` shows their numbers",
                code="unknown_token",
                status=404,
            )
        await self._log("tokens revoke", target=f"#{given.id}")
        return {"id": given.id, "prefix": row["prefix"], "revoked": True}

    async def grant(self, given: AdminArguments) -> Any:
        name, project, access = given.account(), given.named_project(every=True), given.access
        values = {"principal": await self._account(name), "project": project, "access": access, "actor": self._actor}
        await self._connection.execute(_GRANT.encode(), values)
        await self._log(f"grants add {access}", project=project, target=name)
        return {"user": name, "project": project, "access": access}

    async def ungrant(self, given: AdminArguments) -> Any:
        name, project = given.account(), given.named_project(every=True)
        row = await one(self._connection, _UNGRANT, {"principal": await self._account(name), "project": project})
        await self._log("grants remove", project=project, target=name)
        return {"user": name, "project": project, "removed": row is not None}

    async def pause(self, given: AdminArguments) -> Any:
        project = given.named_project()
        values = {"project": project, "actor": self._actor, "reason": given.reason}
        await self._connection.execute(_PAUSE.encode(), values)
        await self._log("pause", project=project)
        return {"project": project, "paused": True}

    async def resume(self, given: AdminArguments) -> Any:
        project = given.named_project()
        row = await one(self._connection, _RESUME, {"project": project})
        await self._log("resume", project=project)
        return {"project": project, "paused": False, "was_paused": row is not None}

    async def renew(self, given: AdminArguments) -> Any:
        """Rename the database after a backup was restored, so that clients send everything again."""
        row = await one(self._connection, _RENEW, {})
        await self._log("instance renew")
        return {"instance": row["value"] if row else ""}

    async def _account(self, name: str) -> int:
        row = await one(self._connection, "select id from cloud_principals where name = %(name)s", {"name": name})
        if row is None:
            raise UnknownAccountError(name)
        return int(row["id"])

    async def _log(self, action: str, *, project: str = "", target: str = "") -> None:
        await record_audit(self._connection, self._actor, [AuditLine(action, project, target)])


OPERATIONS: dict[str, Callable[[Admin, AdminArguments], Awaitable[Any]]] = {
    "users/add": Admin.add_user,
    "users/enable": Admin.enable,
    "users/disable": partial(Admin.enable, enabled=False),
    "tokens/add": Admin.add_token,
    "tokens/revoke": Admin.revoke,
    "grants/add": Admin.grant,
    "grants/remove": Admin.ungrant,
    "pause/add": Admin.pause,
    "pause/remove": Admin.resume,
    "instance/renew": Admin.renew,
}


def _json_ready(value: Any) -> Any:
    return json.loads(json.dumps(value, default=_utc))


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
