"""The settings of the team's server, which name its first accounts, and the accounts: their tokens, the projects each
sees, what it may do there, and which rows it may replace.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from engram_py.base.dataclass import dataclass, field, fields
from engram_py.base.settings import BY_NAME, DEFAULTS
from engram_py.cloud.database import Connection, one, rows
from engram_py.cloud.deletions import key_columns
from engram_py.cloud.errors import (
    AuthRequiredError,
    DatabaseNotSetError,
    InvalidCloudSettingError,
    PolicyForbiddenError,
)
from engram_py.cloud.validation import EVERY_PROJECT, Incoming, Rejected
from engram_py.sharing.sync.mutation import version_owner

# Below it a token could be guessed by trying.
SHORTEST_TOKEN = 24


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """The settings. ``admin_token`` and ``member_token`` are accounts from the environment; the second may use
    ``member_projects``."""

    database_url: str = field(repr=False)
    host: str = DEFAULTS["cloud_host"]
    port: int = DEFAULTS["cloud_port"]
    max_push_bytes: int = DEFAULTS["cloud_max_push_bytes"]
    pepper: str = field(default="", repr=False)
    admin_token: str = field(default="", repr=False)
    member_token: str = field(default="", repr=False)
    member_projects: tuple[str, ...] = ()
    audit_days: int = DEFAULTS["cloud_audit_days"]


def load_cloud_settings(environ: Mapping[str, str] | None = None) -> CloudSettings:
    """Raises DatabaseNotSetError, InvalidCloudSettingError."""
    given = os.environ if environ is None else environ
    url = _setting(given, "database_url")
    if not url:
        raise DatabaseNotSetError
    projects = _setting(given, "cloud_allowed_projects").split(",")
    return CloudSettings(
        url,
        host=_setting(given, "cloud_host"),
        port=_setting(given, "cloud_port"),
        max_push_bytes=_setting(given, "cloud_max_push_bytes"),
        pepper=_setting(given, "cloud_token_pepper"),
        admin_token=_token(given, "cloud_admin"),
        member_token=_token(given, "cloud_token"),
        member_projects=tuple(dict.fromkeys(name.strip() for name in projects if name.strip())),
        audit_days=_setting(given, "cloud_audit_days"),
    )


def _setting(given: Mapping[str, str], name: str) -> Any:
    setting = BY_NAME[name]
    text = given.get(setting.variable, "").strip()
    if not text:
        return setting.default
    value, problem = setting.take(text, setting.variable)
    if problem:
        raise InvalidCloudSettingError(setting.variable, expected=setting.accepted)
    return value


def _token(given: Mapping[str, str], name: str) -> str:
    token: str = _setting(given, name)
    if token and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
        expected = f"at least {SHORTEST_TOKEN} ASCII characters without blanks"
        raise InvalidCloudSettingError(BY_NAME[name].variable, expected=expected)
    return token


PREFIX = "engram_"
# What is kept of a token to tell it from others: of its 256 bits, these give away 36.
SHOWN_CHARS = len(PREFIX) + 6

# Accounts that the environment brings; no account that somebody adds can have a colon in its name.
ENV_ADMIN, ENV_MEMBER = "env:admin", "env:member"

_FIND = """
select
    tokens.id as token_id,
    tokens.token_hash,
    tokens.prefix as token_prefix,
    tokens.expires_at,
    tokens.revoked_at,
    tokens.last_used_at is null or tokens.last_used_at < now() - interval '1 minute' as stale,
    principals.id as principal_id,
    principals.name,
    principals.kind,
    principals.role,
    principals.enabled
from cloud_tokens as tokens
join cloud_principals as principals on principals.id = tokens.principal_id
where tokens.token_hash = %(hash)s
"""

# Once a minute is enough to see which token is still in use, and costs no write for each request.
_TOUCH = """
update cloud_tokens set last_used_at = now() where id = %(token)s
"""

# A token that is refused is asked with again and again: one line a minute says so.
_REFUSED = """
insert into cloud_audit_log (actor, action, outcome, reason_code)
select %(actor)s, 'auth', 'denied', %(reason)s
where not exists (
    select 1 from cloud_audit_log
    where actor = %(actor)s and action = 'auth' and reason_code = %(reason)s
      and occurred_at > now() - interval '1 minute'
)
"""

_KEEP_ENV = """
insert into cloud_principals (name, kind, role) values (%(name)s, 'service', %(role)s)
on conflict (name) do update set role = excluded.role, enabled = true, updated_at = now()
returning id
"""
_DROP_ENV_TOKENS = """
delete from cloud_tokens
where principal_id = (select id from cloud_principals where name = %(name)s) and token_hash <> %(hash)s
"""
_KEEP_FROM_ENV = """
insert into cloud_tokens (principal_id, prefix, token_hash, name, created_by)
values (%(principal)s, 'env', %(hash)s, 'from the environment', 'env')
on conflict (token_hash) do nothing
"""
_DROP_GRANTS = "delete from cloud_project_grants where principal_id = %(principal)s and project <> all(%(projects)s)"
_KEEP_GRANTS = """
insert into cloud_project_grants (principal_id, project, access, granted_by)
select %(principal)s, project, 'write', 'env' from unnest(%(projects)s::text[]) as given (project)
on conflict (principal_id, project) do update set access = 'write'
"""
_KEEP_PEPPER = "insert into cloud_facts (name, value) values ('pepper', %(mark)s) on conflict (name) do nothing"
_PEPPER = "select value from cloud_facts where name = 'pepper'"
_HAS_VALID = """
select exists (
    select 1
    from cloud_tokens as tokens
    join cloud_principals as principals on principals.id = tokens.principal_id
    where principals.enabled and tokens.revoked_at is null
      and (tokens.expires_at is null or tokens.expires_at > now())
) as found
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """The account that a token belongs to."""

    principal_id: int
    name: str
    kind: str
    role: str
    token_id: int
    token_prefix: str
    expires_at: datetime | None

    @property
    def is_admin(self) -> bool:
        return self.role == "admin"


def new_token() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def token_hash(token: str, *, pepper: str) -> str:
    """Return the stored hash of a token. 256 random bits need no slow hash; the pepper protects a stolen table."""
    raw = token.encode("utf-8", "surrogateescape")
    return hmac.new(pepper.encode(), raw, hashlib.sha256).hexdigest() if pepper else hashlib.sha256(raw).hexdigest()


def bearer(header: str) -> str:
    """Return the token of an ``Authorization`` header. Raises AuthRequiredError."""
    scheme, _, token = header.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or len(token) > 512:
        raise AuthRequiredError
    return token


async def authenticate(connection: Connection, token: str, *, pepper: str) -> Caller:
    """Return the account of a token. Raises AuthRequiredError, with the reason for a token that was valid once."""
    wanted = token_hash(token, pepper=pepper)
    row = await one(connection, _FIND, {"hash": wanted})
    if row is None or not hmac.compare_digest(row["token_hash"], wanted):
        raise AuthRequiredError
    reason = _refusal(row["revoked_at"], row["expires_at"], enabled=row["enabled"])
    if reason:
        code = reason.rpartition(" ")[2]
        await connection.execute(_REFUSED.encode(), {"actor": row["name"], "reason": code})
        raise AuthRequiredError(reason)
    if row["stale"]:
        await connection.execute(_TOUCH.encode(), {"token": row["token_id"]})
    return Caller(**{field.name: row[field.name] for field in fields(Caller)})


def _refusal(revoked_at: datetime | None, expires_at: datetime | None, *, enabled: bool) -> str:
    if revoked_at is not None:
        return "this token was revoked"
    if expires_at is not None and expires_at <= datetime.now(UTC):
        return "this token has expired"
    return "" if enabled else "this account is disabled"


async def apply_environment(connection: Connection, settings: CloudSettings) -> None:
    """Make the accounts of ENGRAM_CLOUD_ADMIN and ENGRAM_CLOUD_TOKEN what the environment says now, or end them."""
    async with connection.transaction():
        await _apply_account(connection, ENV_ADMIN, "admin", settings.admin_token, (), settings.pepper)
        projects = settings.member_projects
        await _apply_account(connection, ENV_MEMBER, "member", settings.member_token, projects, settings.pepper)


async def _apply_account(
    connection: Connection, name: str, role: str, token: str, projects: tuple[str, ...], pepper: str
) -> None:
    kept = token_hash(token, pepper=pepper) if token else ""
    await connection.execute(_DROP_ENV_TOKENS.encode(), {"name": name, "hash": kept})
    if not token:
        return
    row = await one(connection, _KEEP_ENV, {"name": name, "role": role})
    assert row is not None
    values = {"principal": row["id"], "hash": kept, "projects": list(projects)}
    await connection.execute(_KEEP_FROM_ENV.encode(), values)
    await connection.execute(_DROP_GRANTS.encode(), values)
    await connection.execute(_KEEP_GRANTS.encode(), values)


async def check_pepper(connection: Connection, pepper: str) -> None:
    """Refuse another pepper than the hashes that are there were made with: no token would be taken, and none made.

    Raises InvalidCloudSettingError.
    """
    mark = token_hash("the pepper of this database", pepper=pepper)
    await connection.execute(_KEEP_PEPPER.encode(), {"mark": mark})
    row = await one(connection, _PEPPER, {})
    if row is None or not hmac.compare_digest(row["value"], mark):
        raise InvalidCloudSettingError(
            "ENGRAM_CLOUD_TOKEN_PEPPER",
            said="ENGRAM_CLOUD_TOKEN_PEPPER differs from the value that this database was created with",
            step="restore the old value; to use another one (all tokens end), run this SQL: delete from cloud_facts "
            "where name = 'pepper'",
        )


async def any_valid_token(connection: Connection) -> bool:
    """Return whether any token would be accepted."""
    row = await one(connection, _HAS_VALID, {})
    return bool(row and row["found"])


# --- what an account may see and do ---------------------------------------------------------------------------

# The projects that are named in a grant, and under a grant of `*` all there are. For a project that is named and
# that `*` covers too, the further right counts.
_VISIBLE = """
with named as (
    select project as name from cloud_project_grants where principal_id = %(principal)s and project <> %(every)s
    union
    select name from cloud_projects
    where exists (
        select 1 from cloud_project_grants where principal_id = %(principal)s and project = %(every)s
    )
)
select
    named.name,
    (
        select case when bool_or(grants.access = 'write') then 'write' else 'read' end
        from cloud_project_grants as grants
        where grants.principal_id = %(principal)s and grants.project in (named.name, %(every)s)
    ) as access,
    coalesce(projects.latest_seq, 0) as latest_seq,
    projects.paused_at is not null as paused,
    coalesce(projects.paused_reason, '') as paused_reason
from named
left join cloud_projects as projects on projects.name = named.name
where %(asked)s::text[] is null or named.name = any(%(asked)s)
order by named.name
"""

# What may be done in projects that need not be there yet.
_RIGHTS = """
select
    asked.name,
    bool_or(grants.access = 'write') as writes,
    bool_or(projects.paused_at is not null) as paused,
    max(coalesce(projects.paused_reason, '')) as paused_reason
from unnest(%(asked)s::text[]) as asked (name)
join cloud_project_grants as grants
    on grants.principal_id = %(principal)s and grants.project in (asked.name, %(every)s)
left join cloud_projects as projects on projects.name = asked.name
group by asked.name
order by asked.name
"""

_EVERY = "select access from cloud_project_grants where principal_id = %(principal)s and project = %(every)s"
_INSTANCE = "select value from cloud_facts where name = 'instance'"


@dataclass(frozen=True, slots=True)
class Project:
    """A project as one account sees it."""

    name: str
    access: str
    latest_seq: int
    paused: bool
    paused_reason: str


@dataclass(frozen=True, slots=True)
class Right:
    writes: bool
    paused: bool
    paused_reason: str


def scope(caller: Caller, **values: Any) -> dict[str, Any]:
    """Return the values of a query that asks for grants of the caller."""
    return {"principal": caller.principal_id, "every": EVERY_PROJECT, **values}


async def visible(connection: Connection, caller: Caller, asked: Sequence[str] = ()) -> list[Project]:
    """Return the projects that the caller may read, restricted to ``asked`` unless that is empty."""
    listed = await rows(connection, _VISIBLE, scope(caller, asked=list(asked) or None))
    return [Project(**row) for row in listed]


async def readable(connection: Connection, caller: Caller, asked: Sequence[str]) -> list[Project]:
    """Return the projects of ``visible``. Raises PolicyForbiddenError when none of ``asked`` may be read."""
    projects = await visible(connection, caller, asked)
    if asked and not projects:
        raise PolicyForbiddenError(f"read {', '.join(sorted(set(asked))[:5])}")
    return projects


async def rights(connection: Connection, caller: Caller, asked: Sequence[str]) -> dict[str, Right]:
    """Return the caller's rights in the projects ``asked`` for; projects without a grant are missing."""
    listed = await rows(connection, _RIGHTS, scope(caller, asked=list(dict.fromkeys(asked))))
    return {row["name"]: Right(row["writes"], row["paused"], row["paused_reason"]) for row in listed}


async def every(connection: Connection, caller: Caller) -> str:
    """Return the caller's access to all projects, also future ones; '' when there is none."""
    row = await one(connection, _EVERY, scope(caller))
    return str(row["access"]) if row else ""


async def instance(connection: Connection) -> str:
    """Return the id of this database, which changes when another takes its place."""
    row = await one(connection, _INSTANCE, {})
    return str(row["value"]) if row else ""


# --- which rows it may replace --------------------------------------------------------------------------------

# Kinds with random keys: to be told that one is taken, somebody has to know it. The keys of sessions are chosen, and an
# answer about them would tell what others work on.
_OWNED = frozenset({"observation", "version", "prompt", "relation"})
_REASON = "a row with this key is in a project that this account may not write to; save it again as a new one"

# A row that its project holds too has moved there before, with the consent of who may write to both.
_FOREIGN = """
with found as (
    select
        asked.place,
        exists (
            select 1 from cloud_mutations as kept
            where kept.project = asked.project
                and kept.entity = asked.entity and kept.entity_key = asked.entity_key
        ) as here,
        exists (
            select 1 from cloud_mutations as kept
            where kept.entity_key = asked.entity_key and kept.entity = asked.entity
                and kept.project <> asked.project
                and not exists (
                    select 1 from cloud_project_grants as grants
                    where grants.principal_id = %(principal)s and grants.access = 'write'
                        and grants.project in (kept.project, %(every)s)
                )
        ) as elsewhere
    from unnest(%(places)s::integer[], %(projects)s::text[], %(entities)s::text[], %(keys)s::text[])
        as asked (place, project, entity, entity_key)
)
select place from found group by place having bool_or(elsewhere) and not bool_or(here) order by place
"""


async def split_own_rows(
    connection: Connection, caller: Caller, given: Sequence[Incoming]
) -> tuple[list[Incoming], list[Rejected]]:
    """Split pushed rows into those the caller may replace and refusals. Call under the lock of all pushes.

    Every machine holds a row once, whatever its project: pushed under another project with a later clock, a row would
    move there on the machines of those who read both.
    """
    asked = [(row, entity, key) for row in given for entity, key in _names(row)]
    columns = key_columns([(row.mutation.project, entity, key) for row, entity, key in asked])
    values = scope(caller, places=[row.index for row, _, _ in asked], **columns)
    strange = {row["place"] for row in await rows(connection, _FOREIGN, values)} if asked else set()
    refused = [
        Rejected(row.index, row.mutation.entity, row.mutation.entity_key, "not_yours", _REASON)
        for row in given
        if row.index in strange
    ]
    return [row for row in given if row.index not in strange], refused


def _names(row: Incoming) -> list[tuple[str, str]]:
    """Return the row's (entity, key), and for an older text also its observation's."""
    entity, key = row.mutation.entity, row.mutation.entity_key
    if entity not in _OWNED:
        return []
    owner = [("observation", version_owner(key)[0])] if entity == "version" else []
    return [(entity, key), *owner]
