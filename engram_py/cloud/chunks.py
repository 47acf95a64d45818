"""Engram's chunks: their rows are pushed like any others, and the accepted part is stored as it came."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from engram_py.asgi import json_object
from engram_py.cloud import audit, deletions
from engram_py.cloud.access import readable, rights, scope, visible
from engram_py.cloud.accounts import Caller
from engram_py.cloud.database import Connection, one, rows
from engram_py.cloud.errors import (
    ChunkConflictError,
    ChunkNotFoundError,
    InvalidBodyError,
    InvalidRequestError,
    PolicyForbiddenError,
    SyncPausedError,
)
from engram_py.cloud.pushing import Pushed, push
from engram_py.cloud.validation import Batch, check_json, parse_entries
from engram_py.dataclass import dataclass
from engram_py.sync.wire import PROJECT_LIMIT_CHARS

_CHUNK_ID = re.compile(r"[0-9a-f]{8,64}")
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
    batch: Batch


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

    Raises PolicyForbiddenError, SyncPausedError, ChunkConflictError.
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
        await _store(connection, caller, chunk, {one.index for one in pushed.rejected})
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
        raise ChunkConflictError(chunk.chunk_id)


async def manifest(connection: Connection, caller: Caller, asked: Sequence[str]) -> dict[str, Any]:
    """Return Engram's list of chunks. Raises PolicyForbiddenError."""
    projects = [project.name for project in await readable(connection, caller, asked)]
    return {"version": 1, "chunks": await rows(connection, _LIST, scope(caller, projects=projects))}


async def read_chunk(connection: Connection, caller: Caller, chunk_id: str, asked: Sequence[str]) -> bytes:
    """Return a chunk as gzip of its JSON. Raises ChunkNotFoundError, also for one the caller may not read."""
    projects = [project.name for project in await visible(connection, caller, asked)]
    found = await one(connection, _READ, scope(caller, projects=projects, chunk=chunk_id))
    if found is None:
        raise ChunkNotFoundError(chunk_id)
    await audit.record(connection, caller.name, [audit.Line("pull chunk", target=chunk_id)])
    return bytes(found["payload"])
