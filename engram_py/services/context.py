"""What a new session is given to read: pinned, recent sessions, prompts, recent observations."""

from __future__ import annotations

import json

from engram_py.capture.topics import suggest_topic_key
from engram_py.models.context import MOST_COUNTED, Context, Stats, Suggestion
from engram_py.models.observation import Observation
from engram_py.services.journal import Journal
from engram_py.services.limits import clamp, clean_scope
from engram_py.services.lookup import relation_notes, same_title
from engram_py.services.projects import Projects
from engram_py.store import journal as journal_table
from engram_py.store import observations as table
from engram_py.store import projects as project_table
from engram_py.store import sessions as session_table
from engram_py.store.database import Store

# 1,500 tokens at four characters each: what a session start may cost (DESIGN.md, shared/spec/field.md C12).
DEFAULT_BYTES = 6_000
MOST_BYTES = 65_536
LEAST_BYTES = 600
SESSIONS, PROMPTS, PINNED, RECENT = 5, 10, 20, 20


class Contexts:
    """Assembles what earlier sessions left for this one."""

    def __init__(self, store: Store, journal: Journal, projects: Projects) -> None:
        self._store = store
        self._journal = journal
        self._projects = projects

    def assemble(
        self,
        project: str | None = None,
        *,
        scope: str | None = None,
        max_bytes: int | None = None,
        compact: bool = False,
        session_id: str | None = None,
    ) -> Context:
        """The sections of a session's start; rendering keeps them within ``max_bytes`` (600..65,536) of UTF-8."""
        wanted = clean_scope(scope)
        place = self._projects.for_read(project, session_id=session_id)
        if max_bytes is None:
            max_bytes = self._projects.settings_here().settings.context_tokens * 4
        limit, said = clamp("max_bytes", max_bytes, LEAST_BYTES, MOST_BYTES)
        reads = place.reads
        pinned = table.recent(self._store, projects=reads, limit=PINNED, pinned=True, scope=wanted)
        recent = table.recent(self._store, projects=reads, limit=RECENT, scope=wanted, without=["session_summary"])
        superseded = self._superseded([*pinned, *recent])
        return Context(
            project=place.project,
            project_source=place.source,
            sessions=tuple(session_table.recent(self._store, projects=reads, limit=SESSIONS)),
            prompts=tuple(session_table.recent_prompts(self._store, projects=reads, limit=PROMPTS)),
            pinned=tuple(pinned),
            recent=tuple(row for row in recent if row.id not in superseded),
            memories=table.count_live(self._store, reads, cap=MOST_COUNTED + 1),
            superseded={row.id: superseded[row.id] for row in pinned if row.id in superseded},
            compact=compact,
            max_bytes=limit,
            warnings=(*said, *place.warnings),
        )

    def _superseded(self, rows: list[Observation]) -> dict[int, str]:
        """By id, the handle of what replaced each of the rows that something replaced."""
        notes = relation_notes(self._store, [row.sync_id for row in rows])
        return {
            row.id: f"[#{note.id}]"
            for row in rows
            for note in notes.get(row.sync_id, ())
            if note.label == "superseded_by" and not note.deleted
        }

    def suggest_topic(self, *, type: str = "", title: str = "", content: str = "") -> Suggestion:
        """A topic key for a text to come, and what holds that key in the current project."""
        key = suggest_topic_key(type=type, title=title, content=content)
        place = self._projects.for_read()
        for project in place.reads or ():
            for row in same_title(self._store, title, project=project, scope=place.default_scope):
                if row["topic_key"]:
                    return Suggestion(row["topic_key"], row["id"], row["title"])
            held = table.live_topic(self._store, topic_key=key, project=project, scope=place.default_scope)
            if held:
                return Suggestion(key, held.id, held.title)
        return Suggestion(key, None, None)

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
            queued_mutations=journal_table.queue_size(self._store),
            database_bytes=self._store.path.stat().st_size,
            database_path=str(self._store.path),
            types={row["type"]: row["n"] for row in types},
            projects=tuple(line.name for line in project_table.lines(self._store)),
        )
