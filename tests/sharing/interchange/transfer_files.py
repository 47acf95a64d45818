"""What the transfer tests share: memories to move between, export files, and a digest of every table."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engram_py import Draft, Engram
from engram_py.memory.observations.values import Change
from engram_py.sharing.interchange.results import Counts, Imported

OpenAt = Callable[[str], Engram]

# Differs between two memories that hold the same: whose it is, when it was written, local numbers.
_LOCAL = {"id", "clock", "origin", "device", "exported_at", "signature"}
_KINDS = ("sessions", "observations", "prompts", "relations")


def observation(**fields: Any) -> dict[str, Any]:
    """An observation as Engram 0.2.0 writes one."""
    return {
        "id": 7, "sync_id": "obs-00000000000000aa", "session_id": "s1", "type": "manual", "title": "Chose SQLite",
        "content": "One file, no daemon.", "tool_name": None, "project": "widgets", "scope": "project",
        "topic_key": None, "revision_count": 1, "duplicate_count": 1, "last_seen_at": None, "pinned": False,
        "review_after": None, "created_at": "2026-01-02 03:04:05", "updated_at": "2026-01-02 03:04:05",
        "deleted_at": None,
    } | fields  # fmt: skip


def relation(**fields: Any) -> dict[str, Any]:
    return {
        "id": 1, "sync_id": "rel-00000000000000cc", "source_id": "obs-00000000000000aa",
        "target_id": "obs-00000000000000bb", "relation": "supersedes", "reason": "newer", "evidence": None,
        "confidence": 0.9, "judgment_status": "judged", "marked_by_actor": "agent", "marked_by_kind": "agent",
        "marked_by_model": "m-1", "session_id": "s1", "superseded_at": None, "created_at": "2026-01-02 03:04:05",
        "updated_at": "2026-01-02 03:04:05",
    } | fields  # fmt: skip


def prompt(**fields: Any) -> dict[str, Any]:
    return {
        "source_inbox_id": None, "id": 3, "sync_id": "prompt-00000000000000dd", "session_id": "s1",
        "content": "make it faster", "project": "widgets", "created_at": "2026-01-02 03:04:05",
    } | fields  # fmt: skip


def session(**fields: Any) -> dict[str, Any]:
    return {
        "id": "s1", "project": "widgets", "ownership_mode": "shared", "directory": "/work/widgets",
        "started_at": "2026-01-02 03:04:05", "ended_at": None, "summary": None,
    } | fields  # fmt: skip


def export(version: str = "0.2.0", **lists: Any) -> dict[str, Any]:
    """A whole export; what is not given is null, as Go writes an empty list."""
    empty: dict[str, Any] = dict.fromkeys(_KINDS)
    return {"version": version, "exported_at": "2026-01-03 00:00:00", **empty, "prompt_tombstones": None} | lists


def write(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def imported(app: Engram, tmp_path: Path, document: object, *, trusted: bool = False) -> Imported:
    return app.transfer.import_file(write(tmp_path / "export.json", document), trusted=trusted)


def counts(result: Imported, kind: str = "observations") -> tuple[int, int, int, int]:
    found: Counts = getattr(result, kind)
    return found.new, found.newer, found.skipped, found.invalid


def digest(app: Engram) -> str:
    """One hash over every row of every ordinary table."""
    tables = app.store.rows("select name from sqlite_master where type = 'table' and sql not like '%fts5%'")
    hashed = hashlib.sha256()
    for name in sorted(row[0] for row in tables):
        rows = sorted(repr(tuple(row)) for row in app.store.rows(f'select * from "{name}"'))
        hashed.update("\n".join([name, *rows]).encode())
    return hashed.hexdigest()


def portable(document: dict[str, Any]) -> Any:
    """An export without what belongs to the machine that wrote it."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(one) for key, one in value.items() if key not in _LOCAL}
        return [strip(one) for one in value] if isinstance(value, list) else value

    rows = copy.deepcopy(document)
    for kind in _KINDS:  # "id" is a session's identity, of the others a local number
        if kind != "sessions":
            rows[kind] = strip(rows[kind])
    return rows | {"exported_at": None, "engram_py": strip(rows["engram_py"])}


def furnish(app: Engram) -> None:
    """Something of everything a memory can hold."""
    app.sessions.start("s-1")
    decision = app.save(
        Draft(
            "Chose short tokens", "Fifteen minutes.", "decision", topic_key="decision/tokens", aliases=("jwt", "ttl")
        ),
        session_id="s-1",
    )
    app.save(Draft("Chose shorter tokens", "Five minutes.", "decision", topic_key="decision/tokens"), session_id="s-1")
    fix = app.save(Draft("Fixed midnight logins", "Compare in UTC.", "bugfix", origin="user"))
    app.observations.update(fix.id, Change(content="Compare in UTC, always."))
    app.observations.pin(fix.id)
    app.relations.compare(decision.id, fix.id, "related", confidence=0.8, reasoning="both about expiry")
    hidden = app.save(Draft("A mistake", "Not so."))
    app.observations.delete(hidden.id)
    destroyed = app.save(Draft("Burn this", "Nobody reads it again."))
    app.observations.delete(destroyed.id, hard=True)
    app.save(Draft("Prefers tabs", "In Go and C.", "preference", scope="personal"))
    app.prompts.save("why do logins fail", session_id="s-1")
    unwanted = app.prompts.save("forget this one", session_id="s-1")
    app.prompts.delete(unwanted.id)
    app.merging.alias("gadgets", "widgets")
    app.sessions.end("s-1", summary="Tokens are short now.")
