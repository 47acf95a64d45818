"""Destroy all turns, a project or everything."""

from __future__ import annotations

import contextlib
import json

from engram_py.database.erasing import erase
from engram_py.database.filesystem import BACKUPS
from engram_py.database.soundness import INDEXES
from engram_py.privacy import clear_table as table
from engram_py.privacy.values import Cleared
from engram_py.projects.projects import ProjectOperations
from engram_py.sessions.spool_files import FOLDER

_BATCH = 500  # rows in one transaction, for which other writers wait


class Clearing(ProjectOperations):
    """Counts and destroys; only a backup brings it back.

    What is destroyed leaves tombstones without text, so that no sync brings it back. Other machines, and a team's
    server, keep theirs, unless ``everywhere`` tells them.
    """

    def look(
        self, what: str, *, project: str | None = None, session_id: str | None = None, everywhere: bool = False
    ) -> Cleared:
        """Count what clearing ``turns``, ``project`` or ``everything`` would destroy. Raises UnknownProjectError."""
        name = self._projects.existing(project) if project else None
        if what == "turns":
            sql = f"select count(*) {table.TURNS}"
            counts = {"turns": int(self._store.value(sql, project=name, session_id=session_id))}
        else:
            counts = table.counts(self._store, name)
        backups = self._store.path.parent / BACKUPS
        copies = len(list(backups.glob("*.db"))) if backups.is_dir() else 0
        return Cleared(what, name, session_id, counts, everywhere, str(backups), copies)

    def clear(
        self, what: str, *, project: str | None = None, session_id: str | None = None, everywhere: bool = False
    ) -> Cleared:
        """Destroy it in batches; a run that was interrupted continues when called again.

        Raises UnknownProjectError, StoreError.
        """
        found = self.look(what, project=project, session_id=session_id, everywhere=everywhere)
        if what == "turns":
            with self._store.transaction():
                self._store.execute(f"delete {table.TURNS}", project=found.project, session_id=session_id)
                self._store.execute(table.NAMES_SAID, project=found.project, session_id=session_id)
        elif what == "project":
            assert found.project is not None
            self._clear_project(found.project, everywhere=everywhere)
        else:
            with contextlib.suppress(OSError):
                for file in (self._store.path.parent / FOLDER).iterdir():
                    file.unlink(missing_ok=True)
            for name in table.projects(self._store):
                self._clear_project(name, everywhere=everywhere)
            with self._store.transaction():
                table.delete_all_rest(self._store)
        for index in INDEXES:
            erase(self._store, index)
        return found

    def _clear_project(self, project: str, *, everywhere: bool) -> None:
        while self._some_observations(project, everywhere=everywhere):
            pass
        while self._some_prompts(project, everywhere=everywhere):
            pass
        with self._store.transaction():
            for row in self._store.rows(table.RELATIONS_LEFT, project=project):
                self._end("relation", row["sync_id"], row["project"], everywhere=everywhere)
            self._store.execute("delete from memory_relations where project = :project", project=project)
            self._end_sessions(project, everywhere=everywhere)
            table.delete_rest(self._store, project)

    def _some_observations(self, project: str, *, everywhere: bool) -> bool:
        with self._store.transaction():
            rows = self._store.rows(table.OBSERVATIONS, project=project, limit=_BATCH)
            ends = json.dumps([row["sync_id"] for row in rows])
            relations = self._store.rows(table.RELATIONS, ends=ends)
            table.delete(self._store, "observations", "id", [row["id"] for row in rows])
            table.delete(self._store, "memory_relations", "sync_id", [row["sync_id"] for row in relations])
            for row in rows:
                session_id = None if row["scope"] == "personal" else row["session_id"]
                self._end("observation", row["sync_id"], project, session_id, everywhere=everywhere)
            for row in relations:
                self._end("relation", row["sync_id"], row["project"], everywhere=everywhere)
        return bool(rows)

    def _some_prompts(self, project: str, *, everywhere: bool) -> bool:
        with self._store.transaction():
            rows = self._store.rows(table.PROMPTS, project=project, limit=_BATCH)
            table.delete(self._store, "user_prompts", "id", [row["id"] for row in rows])
            for row in rows:
                self._end("prompt", row["sync_id"], project, row["session_id"], everywhere=everywhere)
        return bool(rows)

    def _end_sessions(self, project: str, *, everywhere: bool) -> None:
        rows = self._store.rows(table.SESSIONS, project=project)
        for row in rows:
            if row["is_held"]:
                clock = self._journal.stamp()
                self._store.update("sessions", {"id": row["id"]}, {"summary": None, "clock": clock})
            else:
                self._end("session", row["id"], project, everywhere=everywhere)
        table.delete(self._store, "sessions", "id", [row["id"] for row in rows if not row["is_held"]])

    def _end(self, entity: str, key: str, project: str, session_id: str | None = None, *, everywhere: bool) -> None:
        """Leave a tombstone, which stays on this machine unless ``everywhere``."""
        self._journal.removed(entity, key, project=project, clock=self._journal.stamp(), session_id=session_id)
        if not everywhere:
            self._store.execute(table.KEEP_PRIVATE, entity=entity, key=key)
