"""The counts of a memory, and which topic key a text would have."""

from __future__ import annotations

import json

from engram_py.database import journal
from engram_py.database.store import Store
from engram_py.observations.listing import Stats, Suggestion
from engram_py.observations.lookup import same_title
from engram_py.observations.topic_keys import near_topic, suggest_topic_key
from engram_py.projects import table as project_table
from engram_py.projects.projects import Projects
from engram_py.sync.autosync import table as sync_state


class MemoryStats:
    """Answers about the whole memory rather than about what is in it."""

    _store: Store
    _projects: Projects

    def suggest_topic(self, *, type: str = "", title: str = "", content: str = "") -> Suggestion:
        """A topic key for a text to come, and what holds that key, or a near one, in the current project."""
        place = self._projects.for_read()
        made = Suggestion(suggest_topic_key(type=type, title=title, content=content), None, None)
        for project in place.reads or ():
            for row in same_title(self._store, title, project=project, scope=place.default_scope):
                if row["topic_key"]:
                    return Suggestion(row["topic_key"], row["id"], row["title"])
            found = near_topic(self._store, made.topic_key, project=project, scope=place.default_scope)
            if found is not None:
                return found
        return made

    def stats(self, project: str | None = None) -> Stats:
        """Counts of everything kept, or of one project."""
        reads = self._projects.for_read(project).reads if project else None
        named = None if reads is None else json.dumps(list(reads))

        def count(table_name: str, where: str = "true") -> int:
            in_project = "(:projects is null or project in (select value from json_each(:projects)))"
            sql = f"select count(*) from {table_name} where {where} and {in_project}"
            return int(self._store.value(sql, projects=named))

        types = self._store.rows(
            """
            select type, count(*) as n from observations
            where deleted_at is null and (:projects is null or project in (select value from json_each(:projects)))
            group by type order by n desc, type
            """,
            projects=named,
        )
        return Stats(
            total_sessions=count("sessions"),
            total_observations=count("observations", "deleted_at is null"),
            total_prompts=count("user_prompts"),
            total_relations=count("memory_relations"),
            deleted_observations=count("observations", "deleted_at is not null"),
            versions=int(self._store.value("select count(*) from observation_versions")),
            queued_mutations=journal.queue_size(self._store),
            database_bytes=self._store.path.stat().st_size,
            database_path=str(self._store.path),
            types={row["type"]: row["n"] for row in types},
            projects=tuple(line.name for line in project_table.lines(self._store)),
            syncs=sync_state.is_used(self._store),
        )
