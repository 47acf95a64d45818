"""Sources in SQLite files: claude-mem's and Engram's own. Columns that a version lacks are left out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from engram_py.database.connection import ForeignDatabase, open_foreign
from engram_py.interchange.import_rows import sync_id_of
from engram_py.interchange.source_draft import Source, joined, moment, text_of
from engram_py.interchange.values import (
    InvalidSourceError,
    ObservationIn,
    OwnTombstone,
    OwnVersion,
    PromptIn,
    PromptTombstoneIn,
    RelationIn,
    SessionIn,
    first_problem,
)


def read_claude_mem(source: Source) -> None:
    """Read claude-mem's ``~/.claude-mem/claude-mem.db``: observations, session summaries and prompts."""
    _read(source, {"observations", "session_summaries"}, _claude_mem)


def read_engram(source: Source) -> None:
    """Read the database of Engram itself, ``~/.engram/engram.db``, while it may be in use."""
    if (source.path / "manifest.json").is_file():
        raise InvalidSourceError(str(source.path), source.kind, "it is a sync folder: `engram sync --import` reads it")
    with suppress(OSError), source.path.open("rb") as file:
        if file.read(1) == b"{":
            raise InvalidSourceError(str(source.path), source.kind, "it is an export: `engram import FILE` reads it")
    _read(source, {"sessions", "observations", "user_prompts"}, _engram)


def _read(source: Source, needed: set[str], take: Callable[[Source, ForeignDatabase], None]) -> None:
    try:
        with open_foreign(source.path) as db:
            missing = needed - db.tables()
            if missing:
                raise InvalidSourceError(str(source.path), source.kind, f"it has no table {', '.join(sorted(missing))}")
            take(source, db)
    except (sqlite3.Error, OSError) as exc:
        raise InvalidSourceError(str(source.path), source.kind, str(exc)) from exc


def _claude_mem(source: Source, db: ForeignDatabase) -> None:
    projects = {}
    for row in db.rows("sdk_sessions"):
        ours = text_of(row.get("content_session_id") or row.get("claude_session_id"))
        if ours:
            projects[ours] = text_of(row.get("project")) or None
            started = _when(row, "started_at")
            source.session(ours, project=projects[ours], started_at=started, ended_at=moment(row.get("completed_at")))
    for row in db.rows("observations"):
        _claude_mem_observation(source, row)
    for row in db.rows("session_summaries"):
        names = ("request", "investigated", "learned", "completed", "next_steps", "notes")
        parts = [(name.replace("_", " ").capitalize(), text_of(row.get(name))) for name in names]
        _keep(source, row, "summary", title=text_of(row.get("request")), content=joined(parts), type="session_summary")
    for row in db.rows("user_prompts"):
        session_id = text_of(row.get("content_session_id") or row.get("claude_session_id"))
        content, said_at = text_of(row.get("prompt_text")), _when(row, "created_at")
        more = {"session_id": session_id, "project": projects.get(session_id), "created_at": said_at}
        source.prompt(session_id, row.get("id"), content=content, **more)


def _claude_mem_observation(source: Source, row: dict[str, Any]) -> None:
    facts = "\n".join(f"- {fact}" for fact in _list(row.get("facts")))
    where = ", ".join(dict.fromkeys((*_list(row.get("files_modified")), *_list(row.get("files_read")))))
    body = text_of(row.get("narrative") or row.get("text"))
    parts = [("", text_of(row.get("subtitle"))), ("", body), ("", facts), ("Where", where)]
    parts.append(("Concepts", ", ".join(_list(row.get("concepts")))))
    _keep(source, row, "observation", title=text_of(row.get("title")), content=joined(parts), type=row.get("type"))


def _keep(source: Source, row: dict[str, Any], part: str, *, title: str, content: str, type: object) -> None:
    said_at, project = _when(row, "created_at"), text_of(row.get("project")) or None
    session_id = text_of(row.get("memory_session_id") or row.get("sdk_session_id")) or None
    more = {"type": text_of(type) or "manual", "session_id": session_id, "created_at": said_at, "updated_at": said_at}
    source.observation(part, row.get("id"), said_at, title=title, content=content, project=project, **more)


def _when(row: dict[str, Any], name: str) -> str | None:
    return moment(row.get(f"{name}_epoch")) or moment(row.get(name))


def _list(value: object) -> list[str]:
    """Return a list that is stored as JSON text."""
    try:
        listed = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return []
    return [text_of(item) for item in listed if item] if isinstance(listed, list) else []


def _engram(source: Source, db: ForeignDatabase) -> None:
    source.identified = True
    reader = _Engram(source, db)
    source.sessions = {session.id: session for session in reader.rows("sessions", SessionIn)}
    source.observations = reader.rows("observations", ObservationIn)
    source.prompts = reader.rows("prompts", PromptIn, table="user_prompts")
    source.relations = reader.relations()
    source.versions = reader.versions()
    source.prompt_tombstones = reader.rows("tombstones", PromptTombstoneIn, table="prompt_tombstones")
    source.tombstones = reader.destroyed()
    if source.project:
        rows: list[Any] = [*source.sessions.values(), *source.observations, *source.prompts]
        for changed in (*rows, *source.prompt_tombstones, *source.tombstones):
            changed.project = source.project


_Model = TypeVar("_Model", bound=BaseModel)


class _Engram:
    """Reads the tables of Engram's file. A row that is invalid is counted with its reason."""

    def __init__(self, source: Source, db: ForeignDatabase) -> None:
        self._source = source
        self._db = db

    def rows(self, kind: str, model: type[_Model], *, table: str | None = None) -> list[_Model]:
        return [record for row in self._db.rows(table or kind) if (record := self._valid(kind, model, row))]

    def relations(self) -> list[RelationIn]:
        rows = list(self._db.rows("memory_relations"))
        names = {row["id"]: row["sync_id"] for row in rows}
        for row in rows:
            row["superseded_by_relation_sync_id"] = names.get(row.get("superseded_by_relation_id"))
        return [relation for row in rows if (relation := self._valid("relations", RelationIn, row))]

    def versions(self) -> list[OwnVersion]:
        """Return the older texts, each named by its observation as the import names that one."""
        names = {observation.id: sync_id_of(observation) for observation in self._source.observations}
        versions = []
        for row in self._db.rows("observation_versions"):
            row["sync_id"] = names.get(row["observation_id"])
            if row["sync_id"] is None:
                self._source.left_out["versions", "their memory is not in the file"] += 1
            elif (version := self._valid("versions", OwnVersion, row)) is not None:
                versions.append(version)
        return versions

    def destroyed(self) -> list[OwnTombstone]:
        """Return the tombstones of what was deleted for good."""
        rows = self._db.rows("sync_delete_tombstones")
        rows = (row for row in rows if row.get("hard_delete") and row.get("active", 1))
        return [tombstone for row in rows if (tombstone := self._valid("tombstones", OwnTombstone, row))]

    def _valid(self, kind: str, model: type[_Model], row: dict[str, Any]) -> _Model | None:
        # What a column does not say is what the model says of it; but a review date that is none is said.
        values = {name: value for name, value in row.items() if value is not None or name == "review_after"}
        try:
            return model.model_validate(values)
        except ValidationError as exc:
            self._source.left_out[kind, first_problem(exc)] += 1
            return None
