"""Writes the memory as Engram's JSON, which Engram reads too."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal, TextIO

from engram_py.errors import DataDirError
from engram_py.models.health import Exported
from engram_py.models.times import parse_time
from engram_py.services.journal import Journal
from engram_py.services.projects import Projects
from engram_py.store.database import Row, Store
from engram_py.store.filesystem import create_private_file
from engram_py.store.observations import projects_json

ExportVersion = Literal["0.1.0", "0.2.0"]

_IN_PROJECT = "(:projects is null or project in (select value from json_each(:projects)))"

_OBSERVATION = (
    "id", "sync_id", "session_id", "type", "title", "content", "tool_name", "project", "scope", "topic_key",
    "revision_count", "duplicate_count", "last_seen_at", "created_at", "updated_at", "deleted_at",
)  # fmt: skip
_OWN_OBSERVATION = (
    "aliases", "origin", "lifecycle", "salience", "access_count", "last_accessed_at", "expires_at", "git_branch",
    "git_commit", "created_at", "updated_at", "last_seen_at", "deleted_at", "clock",
)  # fmt: skip
_RELATION = (
    "id", "sync_id", "source_id", "target_id", "relation", "reason", "evidence", "confidence", "judgment_status",
    "marked_by_actor", "marked_by_kind", "marked_by_model", "session_id", "superseded_at", "created_at", "updated_at",
)  # fmt: skip
_TIMES = frozenset(
    {"created_at", "updated_at", "deleted_at", "last_seen_at", "started_at", "ended_at", "superseded_at"}
)


class Exporting:
    """Exports everything, or one project."""

    _store: Store
    _journal: Journal
    _projects: Projects

    def export(
        self, target: Path | TextIO, *, project: str | None = None, version: ExportVersion = "0.2.0"
    ) -> Exported:
        """Write an export; a file appears whole or not at all, readable by its owner alone.

        ``0.1.0`` has no pins and no relations; ``0.2.0`` has, and our own columns in a block Engram ignores.
        """
        document = self.document(project=project, version=version)
        text = json.dumps(document, ensure_ascii=False, indent=1)
        if isinstance(target, Path):
            _write_whole(target, text)
        else:
            target.write(text + "\n")
        return Exported(
            path=str(target) if isinstance(target, Path) else "-",
            version=version,
            bytes=len(text.encode()) + 1,
            sessions=len(document["sessions"]),
            observations=len(document["observations"]),
            prompts=len(document["prompts"]),
            relations=len(document.get("relations", ())),
        )

    def document(self, *, project: str | None = None, version: ExportVersion = "0.2.0") -> dict[str, Any]:
        """The export as JSON-ready values."""
        reads = projects_json(self._projects.for_read(project).reads) if project else None
        with self._store.transaction():  # one consistent moment
            observations = self._table("observations", reads)
            prompts = self._table("user_prompts", reads)
            used = {row["session_id"] for row in (*observations, *prompts)}
            sessions = [row for row in self._table("sessions", None) if reads is None or row["id"] in used]
            relations = self._table("memory_relations", reads)
            document: dict[str, Any] = {
                "version": version,
                "exported_at": self._journal.now(),
                "sessions": [_session(row, version) for row in sessions],
                "observations": [_observation(row, version) for row in observations],
                "prompts": [_prompt(row, version) for row in prompts],
            }
            if version == "0.2.0":
                document["relations"] = [_pick(row, _RELATION) for row in relations]
                document["prompt_tombstones"] = self._prompt_tombstones(reads)
                document["engram_py"] = self._own_block(observations, sessions, reads)
        return document

    def _table(self, name: str, reads: str | None) -> list[Row]:
        order = "started_at, id" if name == "sessions" else "id"
        return self._store.rows(f"select * from {name} where {_IN_PROJECT} order by {order}", projects=reads)

    def _prompt_tombstones(self, reads: str | None) -> list[dict[str, Any]]:
        sql = f"select * from tombstones where entity = 'prompt' and {_IN_PROJECT} order by entity_key"
        return [
            {
                "sync_id": row["entity_key"],
                "session_id": row["session_id"],
                "project": row["project"],
                "deleted_at": engram_time(row["deleted_at"]),
            }
            for row in self._store.rows(sql, projects=reads)
        ]

    def _own_block(self, observations: list[Row], sessions: list[Row], reads: str | None) -> dict[str, Any]:
        versions = self._store.rows(
            f"""
            select observations.sync_id, v.version, v.title, v.content, v.created_at, v.clock
            from observation_versions as v join observations on observations.id = v.observation_id
            where {_IN_PROJECT.replace("project in", "observations.project in")}
            order by observations.id, v.version
            """,
            projects=reads,
        )
        tombstones = self._store.rows(
            f"select * from tombstones where entity <> 'prompt' and {_IN_PROJECT} order by entity, entity_key",
            projects=reads,
        )
        aliases = self._store.rows(f"select alias, project from project_aliases where {_IN_PROJECT}", projects=reads)
        return {
            "format": 1,
            "device": self._journal.device(),
            "observations": {row["sync_id"]: {name: row[name] for name in _OWN_OBSERVATION} for row in observations},
            "sessions": {
                row["id"]: {name: row[name] for name in ("agent", "started_at", "ended_at", "updated_at", "clock")}
                for row in sessions
            },
            "versions": [dict(row) for row in versions],
            "aliases": {row["alias"]: row["project"] for row in aliases},
            "tombstones": [dict(row) for row in tombstones],
        }


def engram_time(text: str | None) -> str | None:
    """A time as Engram writes it: ``YYYY-MM-DD HH:MM:SS`` in UTC."""
    moment = parse_time(text)
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"


def _pick(row: Row, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: engram_time(row[name]) if name in _TIMES else row[name] for name in names}


def _session(row: Row, version: str) -> dict[str, Any]:
    names = ("id", "project", "directory", "started_at", "ended_at", "summary")
    return _pick(row, names if version == "0.1.0" else (*names, "ownership_mode"))


def _observation(row: Row, version: str) -> dict[str, Any]:
    values = _pick(row, _OBSERVATION)
    if version != "0.1.0":
        values |= {"pinned": bool(row["pinned"]), "review_after": engram_time(row["review_after"])}
    return values


def _prompt(row: Row, version: str) -> dict[str, Any]:
    values = _pick(row, ("id", "sync_id", "session_id", "content", "project", "created_at"))
    return values if version == "0.1.0" else values | {"source_inbox_id": None}


def _write_whole(target: Path, text: str) -> None:
    beside = target.with_name(f".{target.name}.part")
    try:
        create_private_file(beside)
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except OSError as exc:
        beside.unlink(missing_ok=True)
        raise DataDirError(str(target.parent), exc.strerror or str(exc)) from exc
