"""The stored form of Engram's chunks: the rows that were accepted, until somebody destroys them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Set
from typing import Any

from engram_py.cloud.database import Connection, rows
from engram_py.cloud.deletions import RowKey
from engram_py.sync.merge import version_owner
from engram_py.sync.wire import KEY_LIMIT_CHARS

# The lists of a chunk, in the order in which its rows are counted, and where their rows have their keys.
KINDS = (
    ("sessions", "session", "id"),
    ("observations", "observation", "sync_id"),
    ("prompts", "prompt", "sync_id"),
)
LISTS = (*(name for name, _, _ in KINDS), "mutations")

_HOLDING = """
select chunk_id, payload
from cloud_chunks
where project = %(project)s and (row_keys is null or row_keys && %(keys)s::text[])
order by chunk_id
"""
_REPLACE = """
update cloud_chunks
set payload = %(payload)s, row_keys = %(row_keys)s, sessions = %(sessions)s, memories = %(memories)s,
    prompts = %(prompts)s
where project = %(project)s and chunk_id = %(chunk)s
"""


def accepted_lists(data: dict[str, Any], project: str, refused: Set[int]) -> dict[str, Any]:
    """Return the lists of a chunk without refused rows and rows of other projects."""
    kept, place = {}, 0
    for name in LISTS:
        listed = data.get(name) or []
        staying = [row for index, row in enumerate(listed, place) if index not in refused and isinstance(row, dict)]
        if name == "mutations":
            staying = [row for row in staying if row.get("project", project) == project]
        place += len(listed)
        if name in data:
            kept[name] = None if data[name] is None else staying
    return kept


def without_rows(data: dict[str, Any], gone: Set[tuple[str, str]]) -> dict[str, Any]:
    """Return the lists of a chunk without the texts of destroyed rows, given as (entity, key)."""
    kept = dict(data)
    for name, entity, key in KINDS:
        if data.get(name):
            kept[name] = [row for row in data[name] if (entity, str(row.get(key))) not in gone]
    if data.get("mutations"):
        kept["mutations"] = [row for row in data["mutations"] if row.get("op") == "delete" or not _names(row) & gone]
    return kept


def row_keys(data: dict[str, Any]) -> set[tuple[str, str]]:
    """Return (entity, key) of every row in a chunk, and of the observations whose older texts are in it."""
    return {name for row in _rows(data) for name in row}


def columns_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that describe a chunk."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return {
        "payload": gzip.compress(text.encode(), mtime=0),
        "row_keys": sorted({key for _, key in row_keys(data) if len(key) <= KEY_LIMIT_CHARS}),
        "sessions": len(data.get("sessions") or []),
        "memories": len(data.get("observations") or []),
        "prompts": len(data.get("prompts") or []),
    }


async def remove_rows(connection: Connection, gone: Iterable[RowKey]) -> None:
    """Remove rows that were destroyed from the chunks that hold them. The chunks keep their names."""
    by_project: dict[str, set[tuple[str, str]]] = {}
    for project, entity, key in sorted(gone):
        by_project.setdefault(project, set()).add((entity, key))
    for project, names in by_project.items():
        values = {"project": project, "keys": sorted(key for _, key in names)}
        for row in await rows(connection, _HOLDING, values):
            data = accepted_lists(json.loads(gzip.decompress(bytes(row["payload"]))), project, frozenset())
            replaced = columns_of(without_rows(data, names)) | {"project": project, "chunk": row["chunk_id"]}
            await connection.execute(_REPLACE.encode(), replaced)


def _rows(data: dict[str, Any]) -> Iterator[set[tuple[str, str]]]:
    for name, entity, key in KINDS:
        yield from ({(entity, row[key])} for row in data.get(name) or [] if isinstance(row.get(key), str))
    yield from (_names(row) for row in data.get("mutations") or [])


def _names(row: dict[str, Any]) -> set[tuple[str, str]]:
    entity, key = row.get("entity"), row.get("entity_key")
    if not isinstance(entity, str) or not isinstance(key, str):
        return set()
    return {(entity, key), ("observation", version_owner(key)[0])} if entity == "version" else {(entity, key)}
