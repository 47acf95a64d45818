"""Destroy all turns, a project or everything."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence

from engram_py.base.database.compaction import give_back
from engram_py.base.database.filesystem import BACKUPS
from engram_py.base.database.fts import erase
from engram_py.base.database.soundness import INDEXES
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass
from engram_py.memory.projects.projects import Core
from engram_py.memory.sessions.spool_files import FOLDER


@dataclass(frozen=True, slots=True)
class Cleared:
    """The scope of a destruction: ``turns``, a ``project``, or ``everything``, with the number of rows of each kind.

    ``backups`` is the folder whose ``copies`` hold it still.
    """

    what: str
    project: str | None
    session_id: str | None
    counts: Mapping[str, int]
    everywhere: bool
    backups: str
    copies: int


# What is counted before it is destroyed, each with the column of its project.
COUNTED = {
    "observations": "select count(*) from observations where {where}",
    "versions": "select count(*) from observation_versions where observation_id in "
    "(select id from observations where {where})",
    "prompts": "select count(*) from user_prompts where {where}",
    "sessions": "select count(*) from sessions where {where}",
    "relations": "select count(*) from memory_relations where {where}",
    "turns": "select count(*) from turns where {where}",
}
_IN_PROJECT = "(:project is null or project = :project)"
TURNS = (
    "from turns where (:project is null or project = :project) and (:session_id is null or session_id = :session_id)"
)

# What was counted in conversations names what they spoke of; prompts are counted again by a rebuild.
NAMES_SAID = f"delete {TURNS.replace('turns', 'entity_mentions', 1)} and entity_mentions.session_id is not null"

OBSERVATIONS = "select id, sync_id, scope, session_id from observations where project = :project limit :limit"
PROMPTS = "select id, sync_id, session_id from user_prompts where project = :project limit :limit"
RELATIONS = """
select sync_id, project from memory_relations
where source_id in (select value from json_each(:ends)) or target_id in (select value from json_each(:ends))
"""
RELATIONS_LEFT = "select sync_id, project from memory_relations where project = :project"
# A session that holds something of another project stays, without what it says of this one.
SESSIONS = """
select id, exists (select 1 from observations where session_id = sessions.id)
    or exists (select 1 from user_prompts where session_id = sessions.id) as is_held
from sessions where project = :project
"""
KEEP_PRIVATE = "insert or ignore into sync_private (entity, entity_key) values (:entity, :key)"

# What else names a project; what a session or an observation owns goes with it.
_OF_PROJECT = (
    "turns", "ledger", "eval_questions", "sync_apply_deferred", "sync_set_aside", "sync_carried", "sync_renamed",
    "sync_withdrawn", "entity_mentions", "entity_names", "collections",
)  # fmt: skip
_OF_NO_PROJECT = (
    "turns", "transcripts", "runs", "ledger", "recalls", "eval_runs", "eval_questions",
    "save_operations", "checkpoints", "git_answers", "sync_apply_deferred", "sync_set_aside", "sync_carried",
    "entity_mentions", "entity_names", "collections", "changes",
)  # fmt: skip


def count_rows(store: Store, project: str | None) -> dict[str, int]:
    return {name: int(store.value(sql.format(where=_IN_PROJECT), project=project)) for name, sql in COUNTED.items()}


def projects(store: Store) -> list[str]:
    """Return every project that anything names."""
    sql = """
    select name from projects union select project from observations union select project from sessions
    union select project from user_prompts union select project from memory_relations order by 1
    """
    return [row[0] for row in store.rows(sql)]


def delete(store: Store, table: str, column: str, keys: Sequence[object]) -> None:
    """Call inside a transaction."""
    sql = f"delete from {table} where {column} in (select value from json_each(:keys))"
    store.execute(sql, keys=json.dumps(list(keys)))


def delete_rest(store: Store, project: str) -> None:
    """Delete a project's name and what else names it, once its rows are gone. Call inside a transaction."""
    for table in _OF_PROJECT:
        store.execute(f"delete from {table} where project = :project", project=project)
    store.execute(
        "delete from checkpoints where session_id in (select id from sessions where project = :project)",
        project=project,
    )
    store.execute("delete from changed where entity = 'projects' and entity_key = :project", project=project)
    store.execute("delete from save_operations where answer ->> 'project' = :project", project=project)
    # One that has other names is still where they lead.
    store.execute(
        """
        delete from projects
        where name = :project
          and name not in (select project from sync_aliases union select project from project_aliases)
        """,
        project=project,
    )


def delete_all_rest(store: Store) -> None:
    """Delete what belongs to no project. Call inside a transaction."""
    for table in _OF_NO_PROJECT:
        store.execute(f"delete from {table}")


_BATCH = 500  # rows in one transaction, for which other writers wait


class Clearing:
    """Counts and destroys; only a backup brings it back.

    What is destroyed leaves tombstones without text, so that no sync brings it back. Other machines, and a team's
    server, keep theirs, unless ``everywhere`` tells them.
    """

    def __init__(self, core: Core) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects

    def look(
        self, what: str, *, project: str | None = None, session_id: str | None = None, everywhere: bool = False
    ) -> Cleared:
        """Count what clearing ``turns``, ``project`` or ``everything`` would destroy. Raises UnknownProjectError."""
        name = self._projects.existing(project) if project else None
        if what == "turns":
            sql = f"select count(*) {TURNS}"
            counts = {"turns": int(self._store.value(sql, project=name, session_id=session_id))}
        else:
            counts = count_rows(self._store, name)
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
                self._store.execute(f"delete {TURNS}", project=found.project, session_id=session_id)
                self._store.execute(NAMES_SAID, project=found.project, session_id=session_id)
        elif what == "project":
            assert found.project is not None
            self._clear_project(found.project, everywhere=everywhere)
        else:
            with contextlib.suppress(OSError):
                for file in (self._store.path.parent / FOLDER).iterdir():
                    file.unlink(missing_ok=True)
            for name in projects(self._store):
                self._clear_project(name, everywhere=everywhere)
            with self._store.transaction():
                delete_all_rest(self._store)
        for index in INDEXES:
            erase(self._store, index)
        give_back(self._store)
        return found

    def _clear_project(self, project: str, *, everywhere: bool) -> None:
        while self._some_observations(project, everywhere=everywhere):
            pass
        while self._some_prompts(project, everywhere=everywhere):
            pass
        with self._store.transaction():
            for row in self._store.rows(RELATIONS_LEFT, project=project):
                self._end("relation", row["sync_id"], row["project"], everywhere=everywhere)
            self._store.execute("delete from memory_relations where project = :project", project=project)
            self._end_sessions(project, everywhere=everywhere)
            delete_rest(self._store, project)

    def _some_observations(self, project: str, *, everywhere: bool) -> bool:
        with self._store.transaction():
            rows = self._store.rows(OBSERVATIONS, project=project, limit=_BATCH)
            ends = json.dumps([row["sync_id"] for row in rows])
            relations = self._store.rows(RELATIONS, ends=ends)
            delete(self._store, "observations", "id", [row["id"] for row in rows])
            delete(self._store, "memory_relations", "sync_id", [row["sync_id"] for row in relations])
            for row in rows:
                session_id = None if row["scope"] == "personal" else row["session_id"]
                self._end("observation", row["sync_id"], project, session_id, everywhere=everywhere)
            for row in relations:
                self._end("relation", row["sync_id"], row["project"], everywhere=everywhere)
        return bool(rows)

    def _some_prompts(self, project: str, *, everywhere: bool) -> bool:
        with self._store.transaction():
            rows = self._store.rows(PROMPTS, project=project, limit=_BATCH)
            delete(self._store, "user_prompts", "id", [row["id"] for row in rows])
            for row in rows:
                self._end("prompt", row["sync_id"], project, row["session_id"], everywhere=everywhere)
        return bool(rows)

    def _end_sessions(self, project: str, *, everywhere: bool) -> None:
        rows = self._store.rows(SESSIONS, project=project)
        for row in rows:
            if row["is_held"]:
                clock = self._journal.stamp()
                self._store.update("sessions", {"id": row["id"]}, {"summary": None, "clock": clock})
            else:
                self._end("session", row["id"], project, everywhere=everywhere)
        delete(self._store, "sessions", "id", [row["id"] for row in rows if not row["is_held"]])

    def _end(self, entity: str, key: str, project: str, session_id: str | None = None, *, everywhere: bool) -> None:
        """Leave a tombstone, which stays on this machine unless ``everywhere``."""
        self._journal.removed(entity, key, project=project, clock=self._journal.stamp(), session_id=session_id)
        if not everywhere:
            self._store.execute(KEEP_PRIVATE, entity=entity, key=key)
