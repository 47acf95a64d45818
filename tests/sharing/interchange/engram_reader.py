"""Reads what we write as Engram does: its own tables, with their constraints, by the rules of its import and its sync.

Spec: engram-behaviour.md 6.1 to 6.3 (chunks) and 10.2 (exports). Nothing here is of this program.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.sharing.interchange.interop import database

_TABLES = {
    "session": "sessions",
    "observation": "observations",
    "prompt": "user_prompts",
    "relation": "memory_relations",
}
_TEXT, _INT, _FLAG, _REAL = (str,), (int,), (bool,), (int, float)
# What Go decodes each field into; null leaves it at its zero value.
_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "session": dict.fromkeys(
        ("id", "project", "ownership_mode", "directory", "started_at", "ended_at", "summary"), _TEXT
    ),
    "observation": {
        **dict.fromkeys(
            (
                "sync_id", "session_id", "type", "title", "content", "tool_name", "project", "scope", "topic_key",
                "last_seen_at", "created_at", "updated_at", "deleted_at", "review_after",
            ),
            _TEXT,
        ),
        **dict.fromkeys(("id", "revision_count", "duplicate_count"), _INT),
        "pinned": _FLAG,
    },
    "prompt": {**dict.fromkeys(("sync_id", "session_id", "content", "project", "created_at"), _TEXT), "id": _INT},
    "relation": {
        **dict.fromkeys(
            (
                "sync_id", "source_id", "target_id", "relation", "reason", "evidence", "judgment_status",
                "marked_by_actor", "marked_by_kind", "marked_by_model", "session_id", "superseded_at",
                "superseded_by_relation_sync_id", "created_at", "updated_at",
            ),
            _TEXT,
        ),
        "id": _INT,
        "confidence": _REAL,
    },
}  # fmt: skip


class RefusedError(Exception):
    """Engram would not read it; nothing of it is kept."""


class Engram:
    """An empty memory of Engram's: ``counts`` has what became of each row it was given, by kind."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.db = sqlite3.connect(database(folder), isolation_level=None)
        self.db.row_factory = sqlite3.Row
        for table in ("memory_relations", "user_prompts", "observations", "sessions"):
            self.db.execute(f"delete from {table}")
        self.db.execute("pragma foreign_keys = on")
        self.counts: Counter[tuple[str, str]] = Counter()
        self.waiting: list[dict[str, Any]] = []

    def all(self, kind: str, columns: str = "*") -> list[sqlite3.Row]:
        return self.db.execute(f"select {columns} from {_TABLES[kind]} order by rowid").fetchall()

    # --- the export ------------------------------------------------------------------------------------------

    def read_export(self, document: dict[str, Any]) -> None:
        """10.2: one transaction, all of it or nothing."""
        if document["version"] not in ("", "0.1.0", "0.2.0"):
            raise RefusedError(f"version {document['version']}")
        with self._whole():
            for stone in document.get("prompt_tombstones") or ():
                self._bury(stone["sync_id"], stone.get("deleted_at"))
            for kind in ("session", "observation", "prompt", "relation"):
                for row in document.get(f"{kind}s") or ():
                    self._read(kind, row)

    def _read(self, kind: str, row: dict[str, Any]) -> None:
        values = _decoded(kind, row)
        if kind == "relation" and values["judgment_status"] != "orphaned" and not self._has_ends(values):
            raise RefusedError(f"relation {values['sync_id']} lacks an end")
        self.counts[kind, self._upsert(kind, values)] += 1

    # --- chunks ----------------------------------------------------------------------------------------------

    def read_folder(self, folder: Path) -> None:
        """6.1: every chunk that the manifest names, the parts of each in the order that depends on nothing later."""
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["version"] in (1, 2)
        for entry in manifest["chunks"]:
            data = gzip.decompress((folder / "chunks" / f"{entry['id']}.jsonl.gz").read_bytes())
            assert entry["id"] == hashlib.sha256(data).hexdigest()[: len(entry["id"])]
            with self._whole():
                self._chunk(json.loads(data))
        for relation in self.waiting:
            self.counts["relation", "added" if self._has_ends(relation) else "waiting"] += 1

    def _chunk(self, chunk: dict[str, Any]) -> None:
        entries = [
            {"entity": kind, "op": "upsert", "payload": row}
            for kind in ("session", "observation", "prompt")
            for row in chunk[f"{kind}s"] or ()
        ]
        for mutation in chunk.get("mutations") or ():
            assert isinstance(mutation["payload"], str)
            if mutation["entity"] not in _TABLES or mutation["op"] not in ("upsert", "delete"):
                raise RefusedError(f"mutation {mutation['entity']} {mutation['op']}")
            entries.append({**mutation, "payload": json.loads(mutation["payload"])})
        for entry in sorted(entries, key=_step):
            self._apply(entry["entity"], entry["op"], entry["payload"])

    def _apply(self, kind: str, op: str, payload: dict[str, Any]) -> None:
        if op == "delete":
            key = payload["id" if kind == "session" else "sync_id"]
            column = "id" if kind == "session" else "sync_id"
            if payload.get("hard_delete") or kind != "observation":
                self.db.execute(f"delete from {_TABLES[kind]} where {column} = ?", (key,))
                self._bury(key, payload.get("deleted_at")) if kind == "prompt" else None
            else:
                sql = "update observations set deleted_at = ? where sync_id = ?"
                self.db.execute(sql, (payload["deleted_at"], key))
            self.counts[kind, "deleted"] += 1
            return
        values = _decoded(kind, payload)
        if kind == "relation" and not self._has_ends(values):
            self.waiting.append(values)
            return
        if kind in ("observation", "prompt"):
            stub = (values["session_id"], values.get("project") or "")
            self.db.execute(
                "insert or ignore into sessions (id, project, directory, started_at) "
                "values (?, ?, '(recovered-missing-session)', '1970-01-01')",
                stub,
            )
        self.counts[kind, self._upsert(kind, values)] += 1

    # --- rows ------------------------------------------------------------------------------------------------

    def _upsert(self, kind: str, values: dict[str, Any]) -> str:
        table, column = _TABLES[kind], "id" if kind == "session" else "sync_id"
        buried = self.db.execute("select 1 from prompt_tombstones where sync_id = ?", (values.get("sync_id"),))
        if kind == "prompt" and buried.fetchone():
            return "buried"
        here = self.db.execute(f"select * from {table} where {column} = ?", (values[column],)).fetchone()
        if here is not None:
            if kind != "observation" or (values["updated_at"] or "") <= here["updated_at"]:
                return "stale"
            self.db.execute(f"delete from {table} where {column} = ?", (values[column],))
        known = {row[1] for row in self.db.execute(f"pragma table_info({table})")}
        known -= {"id"} if kind != "session" else set()
        kept = {name: value for name, value in values.items() if name in known}
        marks = ", ".join("?" for _ in kept)
        self.db.execute(f"insert into {table} ({', '.join(kept)}) values ({marks})", tuple(kept.values()))
        return "added"

    def _has_ends(self, values: dict[str, Any]) -> bool:
        sql = "select count(*) from observations where sync_id in (?, ?)"
        return bool(self.db.execute(sql, (values["source_id"], values["target_id"])).fetchone()[0] == 2)

    def _bury(self, sync_id: str, deleted_at: str | None) -> None:
        sql = "insert or ignore into prompt_tombstones (sync_id, deleted_at) values (?, ?)"
        self.db.execute(sql, (sync_id, deleted_at))
        self.counts["prompt_tombstone", "added"] += 1

    @contextmanager
    def _whole(self) -> Iterator[None]:
        self.db.execute("begin immediate")
        try:
            yield
            self.db.execute("commit")
        except sqlite3.Error as exc:
            self.db.execute("rollback")
            raise RefusedError(str(exc)) from exc
        except BaseException:
            self.db.execute("rollback")
            raise


def _decoded(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    """A row with the fields that Engram knows; one of another type refuses the whole file."""
    for name, types in _FIELDS[kind].items():
        value = row.get(name)
        if value is not None and (not isinstance(value, types) or (isinstance(value, bool) and types is not _FLAG)):
            raise RefusedError(f"{kind}.{name}: {value!r}")
    known = {name: row[name] for name in _FIELDS[kind] if row.get(name) is not None}
    return {**dict.fromkeys(("updated_at",)), **known} if kind == "observation" else known


def _step(entry: dict[str, Any]) -> int:
    kind, op = entry["entity"], entry["op"]
    if op == "upsert":
        return {"session": 0, "relation": 2}.get(kind, 1)
    return 4 if kind == "session" else 3
