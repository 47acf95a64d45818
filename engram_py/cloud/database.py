"""The PostgreSQL database: connections, migrations, and the audit log."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib import resources
from typing import Any

import anyio
import psycopg
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout, TooManyRequests

from engram_py.base.dataclass import asdict, dataclass
from engram_py.base.lazy import logger_of
from engram_py.cloud.errors import CloudServerError, DatabaseUnavailableError, InvalidCloudSettingError

logger = logger_of(__name__)

Connection = AsyncConnection[DictRow]

CONNECTIONS = 10
WAIT_SECONDS = 10.0
_CONNECT_SECONDS = 5
# A push holds the row that orders all pushes: one that hangs must not hold it for ever.
_LIMITS = """
select
    set_config('statement_timeout', '30s', false),
    set_config('lock_timeout', '15s', false),
    set_config('idle_in_transaction_session_timeout', '30s', false),
    set_config('timezone', 'UTC', false)
"""

# One number of our own for `pg_advisory_lock`: "engram" in ASCII.
MIGRATION_LOCK = 0x656E6772616D

_ENCODING = "select current_setting('server_encoding') as encoding"
_LOCK = "select pg_advisory_xact_lock(%s)"
_LEDGER = """
create table if not exists cloud_migrations (
    name text primary key,
    applied_at timestamptz not null default now()
)
"""
_APPLIED = "select name from cloud_migrations order by name"
_RECORD = "insert into cloud_migrations (name) values (%s)"


def open_pool(url: str) -> AsyncConnectionPool[Connection]:
    """Return a pool that is not open yet. Its connections commit by themselves outside of ``transaction()``."""
    return AsyncConnectionPool(
        url,
        connection_class=Connection,
        kwargs={"autocommit": True, "row_factory": dict_row, "connect_timeout": _CONNECT_SECONDS},
        min_size=1,
        max_size=CONNECTIONS,
        timeout=WAIT_SECONDS,
        open=False,
        configure=_configure,
        name="engram",
    )


@asynccontextmanager
async def pooled_connection(pool: AsyncConnectionPool[Connection]) -> AsyncIterator[Connection]:
    """Lend a live connection of the pool, for as short as possible. Raises DatabaseUnavailableError."""
    with translated_errors():
        connection = await _alive(pool)
        try:
            async with connection:  # which ends what is open, and closes nothing: the pool does
                yield connection
        finally:
            with anyio.CancelScope(shield=True):  # a request that is given up must not take its connection along
                await pool.putconn(connection)


async def _alive(pool: AsyncConnectionPool[Connection]) -> Connection:
    """Return a connection that answers.

    The pool has a check of its own, which waits longer after each dead one: after PostgreSQL was started again, that
    is longer than a request waits.
    """
    for _ in range(CONNECTIONS):
        connection = await pool.getconn()
        try:
            await connection.execute(b"")
            return connection
        except psycopg.OperationalError:
            await pool.putconn(connection)  # which makes another in its place
        except BaseException:
            with anyio.CancelScope(shield=True):
                await pool.putconn(connection)
            raise
    return await pool.getconn()


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    """Open one connection, configured as those of the pool. Raises DatabaseUnavailableError."""
    with translated_errors():
        connection: Connection = await AsyncConnection.connect(
            url, autocommit=True, row_factory=dict_row, connect_timeout=_CONNECT_SECONDS
        )
    async with connection:
        with translated_errors():
            await _configure(connection)
            yield connection


async def _configure(connection: Connection) -> None:
    await connection.execute(_LIMITS)


async def migrate(connection: Connection) -> list[str]:
    """Bring the database up to date and return the migrations that ran. Several processes may call it at once.

    Raises CloudServerError when a newer version has been there, InvalidCloudSettingError when it is not UTF-8.
    """
    files = {file.name: file for file in resources.files(__package__).joinpath("migrations").iterdir()}
    ours = {name.removesuffix(".sql"): files[name] for name in sorted(files) if name.endswith(".sql")}
    done = []
    async with connection.transaction():
        # All of it in one transaction: a server that starts at the same time waits here, and then finds it done.
        await connection.execute("set local lock_timeout = 0")
        await connection.execute("set local statement_timeout = 0")
        if (row := await one(connection, _ENCODING, {})) is None or row["encoding"] != "UTF8":
            raise InvalidCloudSettingError("ENGRAM_DATABASE_URL", expected="the address of a database encoded as UTF8")
        await connection.execute(_LOCK, (MIGRATION_LOCK,))
        await connection.execute(_LEDGER)
        applied = [row["name"] for row in await (await connection.execute(_APPLIED)).fetchall()]
        if unknown := [name for name in applied if name not in ours]:
            raise CloudServerError(
                f"a newer engram created or updated the database (it has {', '.join(unknown)}); it was left untouched",
                hint="upgrade engram-py on this machine",
                code="database_too_new",
            )
        for name, file in ours.items():
            if name not in applied:
                await connection.execute(file.read_text(encoding="utf-8").encode())
                await connection.execute(_RECORD, (name,))
                done.append(name)
    return done


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn a database that is away, full or stuck into DatabaseUnavailableError; what is a bug stays one."""
    try:
        yield
    except (PoolTimeout, TooManyRequests) as exc:
        raise DatabaseUnavailableError("all connections are busy") from exc
    except psycopg.OperationalError as exc:  # its text can name hosts, users and files: it stays in the log
        logger.warning("PostgreSQL: %s", " ".join(str(exc).split())[:500])
        raise DatabaseUnavailableError(_kind(exc)) from exc


def _kind(error: psycopg.Error) -> str:
    match error.sqlstate:
        case None:
            return "no connection"
        case "53100":
            return "its disk is full"
        case "57014" | "55P03":
            return "it took too long"
    return f"SQLSTATE {error.sqlstate}"


async def one(connection: Connection, query: str, values: dict[str, Any]) -> DictRow | None:
    return await (await connection.execute(query.encode(), values)).fetchone()


async def rows(connection: Connection, query: str, values: dict[str, Any]) -> list[DictRow]:
    return await (await connection.execute(query.encode(), values)).fetchall()


# --- the audit log: a line for each request that read or changed something, without texts ---------------------

MOST_AUDIT_LINES = 1_000

_AUDIT = """
insert into cloud_audit_log (actor, action, project, target, outcome, reason_code, entries)
select %(actor)s, line.*
from jsonb_to_recordset(%(lines)s::jsonb)
    as line (action text, project text, target text, outcome text, reason_code text, entries integer)
"""
# The newest lines before one of them (0: of all).
NEWEST_LINES = """
select id, occurred_at, actor, action, project, target, outcome, reason_code, entries
from cloud_audit_log
where (%(user)s = '' or actor = %(user)s)
  and (%(project)s = '' or project = %(project)s)
  and (%(before)s = 0 or id < %(before)s)
order by id desc
limit %(limit)s
"""
_PRUNE_AUDIT = "delete from cloud_audit_log where occurred_at < now() - make_interval(days => %(days)s)"


@dataclass(frozen=True, slots=True)
class AuditLine:
    action: str
    project: str = ""
    target: str = ""
    outcome: str = "done"
    reason_code: str = ""
    entries: int = 0


async def record_audit(connection: Connection, actor: str, lines: Sequence[AuditLine]) -> None:
    if lines:
        values = {"actor": actor, "lines": json.dumps([asdict(line) for line in lines])}
        await connection.execute(_AUDIT.encode(), values)


async def prune_audit(connection: Connection, *, days: int) -> None:
    """Delete lines older than ``days``."""
    await connection.execute(_PRUNE_AUDIT.encode(), {"days": days})
