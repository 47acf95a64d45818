"""Give replicas the rows after a cursor, and Engram's chunks, which they also push."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from psycopg.rows import DictRow

from engram_py.base.asgi import json_object
from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex
from engram_py.cloud import deletions
from engram_py.cloud.accounts import Caller, instance, readable, rights, scope, visible
from engram_py.cloud.database import AuditLine, Connection, one, record_audit, rows
from engram_py.cloud.errors import (
    CloudServerError,
    InvalidBodyError,
    InvalidRequestError,
    PolicyForbiddenError,
    SyncPausedError,
)
from engram_py.cloud.pushing import Pushed, push
from engram_py.cloud.validation import EntryBatch, check_json, parse_entries
from engram_py.sharing.sync.mutation import PROJECT_LIMIT_CHARS

MOST_PULLED = 1_000
# A page holds at least one row and then stops about here, however large the rows are.
PAGE_BYTES = 4 * 1024 * 1024
_SNAPSHOT = "set transaction isolation level repeatable read, read only"

# First the places, from the index alone, then the rows. That the grant is there is asked in the query that finds them:
# no mistake elsewhere can give them away.
_PAGE = """
with picked as (
    select found.project, found.seq
    from unnest(%(projects)s::text[]) as asked (name)
    cross join lateral (
        select project, seq
        from cloud_mutations
        where project = asked.name
          and seq > %(since)s
          and exists (
              select 1 from cloud_project_grants
              where principal_id = %(principal)s and project in (asked.name, %(every)s)
          )
        order by seq
        limit %(limit)s
    ) as found
    order by found.seq
    limit %(limit)s
),
measured as (
    select
        kept.*,
        sum(kept.payload_bytes) over (order by kept.seq) - kept.payload_bytes as bytes_before
    from picked
    join cloud_mutations as kept on kept.project = picked.project and kept.seq = picked.seq
)
select seq, project, entity, entity_key, op, payload, occurred_at
from measured
where bytes_before < %(bytes)s
order by seq
"""


@dataclass(frozen=True, slots=True)
class PulledRows:
    """Rows as JSON text, and how many of each project. ``latest_seq`` is the next cursor."""

    entries: tuple[str, ...]
    counts: Counter[str]
    has_more: bool
    latest_seq: int
    instance: str


async def pull_rows(
    connection: Connection, caller: Caller, *, since: int, limit: int = MOST_PULLED, asked: Sequence[str] = ()
) -> PulledRows:
    """Return the next rows. Raises PolicyForbiddenError when the caller may read none of the projects it asked for."""
    async with connection.transaction():
        await connection.execute(_SNAPSHOT)  # both queries see one moment: no row is between cursor and page
        projects = await readable(connection, caller, asked)
        newer = [project.name for project in projects if project.latest_seq > since]
        values = scope(caller, projects=newer, since=since, limit=min(limit, MOST_PULLED), bytes=PAGE_BYTES)
        page = await rows(connection, _PAGE, values) if newer else []
        source = await instance(connection)
    latest = max((project.latest_seq for project in projects), default=0)
    counts = Counter(str(row["project"]) for row in page)
    has_more = bool(page) and page[-1]["seq"] < latest
    cursor = page[-1]["seq"] if has_more else latest
    return PulledRows(tuple(_entry(row) for row in page), counts, has_more, cursor, source)


async def record_pull(connection: Connection, caller: Caller, counts: Counter[str]) -> None:
    """Log how many rows of each project were read; nothing for an empty poll."""
    lines = [AuditLine("pull", name, entries=count) for name, count in sorted(counts.items())]
    await record_audit(connection, caller.name, lines)


def _entry(row: DictRow) -> str:
    """Return the JSON of a row; its payload is JSON already, as it came."""
    head = {name: row[name] for name in ("seq", "project", "entity", "entity_key", "op", "occurred_at")}
    return json.dumps(head, ensure_ascii=False, separators=(",", ":"))[:-1] + f',"payload":{row["payload"]}}}'


# --- Engram's chunks ------------------------------------------------------------------------------------------

_CHUNK_ID = regex(r"[0-9a-f]{8,64}")
_MOST_NAME_CHARS = 200

_GRANTED = """
exists (
    select 1 from cloud_project_grants as grants
    where grants.principal_id = %(principal)s and grants.project in (chunks.project, %(every)s)
)
"""
_LIST = f"""
select chunk_id as id, created_by, client_created_at as created_at, sessions, memories, prompts
from cloud_chunks as chunks
where chunks.project = any(%(projects)s::text[]) and {_GRANTED}
order by chunks.created_at, chunks.project, chunks.chunk_id
"""
_READ = f"""
select payload
from cloud_chunks as chunks
where chunks.chunk_id = %(chunk)s and chunks.project = any(%(projects)s::text[]) and {_GRANTED}
order by project
limit 1
"""
_KNOW_PROJECT = "insert into cloud_projects (name) values (%(project)s) on conflict (name) do nothing"
_STORE = """
insert into cloud_chunks (
    project, chunk_id, sha256, payload, row_keys, created_by, client_created_at, sessions, memories, prompts
)
values (
    %(project)s, %(chunk)s, %(sha256)s, %(payload)s, %(row_keys)s, %(created_by)s, %(created_at)s,
    %(sessions)s, %(memories)s, %(prompts)s
)
on conflict (project, chunk_id) do nothing
"""
_SAME = "select sha256 from cloud_chunks where project = %(project)s and chunk_id = %(chunk)s"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A parsed chunk. ``data`` is its content; ``batch`` holds its rows as mutations."""

    chunk_id: str
    project: str
    created_at: str
    data: dict[str, Any]
    batch: EntryBatch


def parse_chunk(body: bytes) -> Chunk:
    """Raises InvalidBodyError, InvalidRequestError."""
    value = json_object(body, InvalidBodyError)
    if reason := check_json(value):
        raise InvalidRequestError("the chunk", expected=f"JSON that can be kept: {reason}")
    chunk_id, project, data = value.get("chunk_id"), value.get("project"), value.get("data")
    if not isinstance(chunk_id, str) or not _CHUNK_ID.fullmatch(chunk_id):
        raise InvalidRequestError("chunk_id", expected="8 to 64 hex digits")
    if not isinstance(project, str) or not project.strip() or len(project) > PROJECT_LIMIT_CHARS:
        raise InvalidRequestError("project", expected="the name of a project")
    if not isinstance(data, dict):
        raise InvalidRequestError("data", expected="a chunk: {sessions, observations, prompts, mutations}")
    lists = {name: _list(data, name) for name in deletions.LISTS}
    created_at = value.get("client_created_at")
    return Chunk(
        chunk_id,
        project,
        created_at[:_MOST_NAME_CHARS] if isinstance(created_at, str) else "",
        data,
        parse_entries(_entries(project, lists)),
    )


def _list(data: dict[str, Any], name: str) -> list[Any]:
    value = data.get(name)  # Go writes an empty list as null
    if value is not None and not isinstance(value, list):
        raise InvalidRequestError(f"data.{name}", expected="a list")
    return value or []


def _entries(project: str, lists: dict[str, list[Any]]) -> list[object]:
    entries: list[object] = []
    for name, entity, key in deletions.KINDS:
        for payload in lists[name]:
            named = payload.get(key) if isinstance(payload, dict) else None
            entries.append(
                {"project": project, "entity": entity, "entity_key": named, "op": "upsert", "payload": payload}
            )
    for entry in lists["mutations"]:
        entries.append({"project": project, **entry} if isinstance(entry, dict) else entry)
    return entries


async def push_chunk(connection: Connection, caller: Caller, chunk: Chunk) -> Pushed:
    """Keep a chunk and take its rows, both or neither.

    Raises PolicyForbiddenError, SyncPausedError, CloudServerError (chunk_conflict).
    """
    async with connection.transaction():
        allowed = await rights(connection, caller, [chunk.project])
        right = allowed.get(chunk.project)
        if right is None or not right.writes:
            raise PolicyForbiddenError(f"write to {chunk.project}")
        if right.paused:
            raise SyncPausedError(chunk.project, right.paused_reason)
        # The rows first: they take the lock that orders all pushes, and two pushes must take locks in one order.
        pushed = await push(connection, caller, chunk.batch, action="push chunk")
        await _store(connection, caller, chunk, {refusal.index for refusal in pushed.rejected})
        return pushed


async def _store(connection: Connection, caller: Caller, chunk: Chunk, refused: set[int]) -> None:
    data = deletions.accepted_lists(chunk.data, chunk.project, refused)
    named = {(chunk.project, entity, key) for entity, key in deletions.row_keys(data)}
    gone = {(entity, key) for _, entity, key in await deletions.destroyed(connection, named)}
    sent = json.dumps(chunk.data, ensure_ascii=False, separators=(",", ":"))
    values = {
        **deletions.columns_of(deletions.without_rows(data, gone)),
        "project": chunk.project,
        "chunk": chunk.chunk_id,
        "sha256": hashlib.sha256(sent.encode()).hexdigest(),  # the same chunk pushed again is the same
        "created_by": caller.name,  # never whom the client says
        "created_at": chunk.created_at,
    }
    await connection.execute(_KNOW_PROJECT.encode(), values)
    await connection.execute(_STORE.encode(), values)
    same = await one(connection, _SAME, values)
    if same is None or same["sha256"] != values["sha256"]:
        raise CloudServerError(
            f"chunk {chunk.chunk_id} exists with other content",
            hint="use another id for the new content",
            code="chunk_conflict",
            status=409,
        )


async def manifest(connection: Connection, caller: Caller, asked: Sequence[str]) -> dict[str, Any]:
    """Return Engram's list of chunks. Raises PolicyForbiddenError."""
    projects = [project.name for project in await readable(connection, caller, asked)]
    return {"version": 1, "chunks": await rows(connection, _LIST, scope(caller, projects=projects))}


async def read_chunk(connection: Connection, caller: Caller, chunk_id: str, asked: Sequence[str]) -> bytes:
    """Return a chunk as gzip of its JSON. Raises CloudServerError (chunk_not_found), also where the caller may not."""
    projects = [project.name for project in await visible(connection, caller, asked)]
    row = await one(connection, _READ, scope(caller, projects=projects, chunk=chunk_id))
    if row is None:
        raise CloudServerError(
            f"no chunk {chunk_id[:80]!r}", hint="GET /sync/pull lists the chunks", code="chunk_not_found", status=404
        )
    await record_audit(connection, caller.name, [AuditLine("pull chunk", target=chunk_id)])
    return bytes(row["payload"])
