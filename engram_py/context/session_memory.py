"""What a session knows of itself, for an agent whose conversation was compacted, and what is known of a file."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.anchors.anchors import Anchors
from engram_py.capture.orders import reads_like_an_order
from engram_py.context import table
from engram_py.context.values import Context, Section
from engram_py.context.visibility import Findings, VisibilityFilter
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.git.program import Deadline
from engram_py.observations import table as observation_table
from engram_py.observations.visible import count_visible
from engram_py.projects.projects import Projects
from engram_py.sessions.prompts import summary_topic
from engram_py.sessions.sessions import Sessions

# spec/engram-behaviour.md 1.11, the compaction variant.
SAVED, PROMPTS = 20, 10
BUDGET_BYTES = 6_000
SUMMARY_LINES = 40
FILE_BYTES = 800
_FILE_ROWS = 5

SUMMARY_SECTION = "this session's summary so far"
SAVED_SECTION = "saved in this session"
ASKED_SECTION = "asked in this session"
FILE_SECTION = "about this file"


class SessionMemory:
    """Contexts that are about one session or one file rather than about a project."""

    def __init__(
        self, store: Store, journal: Journal, projects: Projects, sessions: Sessions, anchors: Anchors
    ) -> None:
        self._store = store
        self._journal = journal
        self._projects = projects
        self._sessions = sessions
        self._anchors = anchors
        self._vetting = VisibilityFilter(store, journal, anchors)

    def own(self, session_id: str) -> Context:
        """Return what the session saved, its last summary, and what its user asked for, the latest first.

        Raises SessionNotFoundError.
        """
        session = self._sessions.get(session_id)
        topic = summary_topic(session.id)
        summary = observation_table.live_topic(self._store, topic_key=topic, project=session.project, scope="project")
        rows = table.saved(self._store, session.id, project=session.project, since=session.started_at, limit=SAVED)
        findings = Findings()
        kept = self._vetting.vetted(rows, findings, unasked=True)
        told = self._vetting.vetted([summary] if summary else [], findings, unasked=True)
        # An imported prompt may have been written for whoever reads it.
        prompts = table.prompts(self._store, session.id, limit=PROMPTS)
        asked = [one for one in prompts if not reads_like_an_order(one.content)]
        self._vetting.look_at_files(kept, findings)
        return Context(
            project=session.project,
            project_source="session",
            sections=(
                Section(SUMMARY_SECTION, tuple(told), lines=SUMMARY_LINES),
                Section(SAVED_SECTION, tuple(kept)),
                Section(ASKED_SECTION, tuple(asked)),
            ),
            max_bytes=BUDGET_BYTES,
            memories=count_visible(self._store, [session.project]),
            remarks=findings.remarks,
        )

    def of_files(self, paths: Sequence[str], *, session_id: str, without: set[int], seconds: float = 0) -> Context:
        """Return the observations anchored to these files that may be shown unasked, without those of these ids.

        Git has so many ``seconds`` to say which of them were recorded under another name.
        """
        place = self._projects.for_read(session_id=session_id)
        asking = Deadline(seconds)
        ids: list[int] = []
        for path in paths:
            # It is asked twice about each: what became of what is gone, and of what was found.
            seconds_left = max(0.0, asking.left) / 2
            ids += self._anchors.of_file(path, limit=20, projects=place.reads, git_seconds=seconds_left)
        wanted = [row_id for row_id in dict.fromkeys(ids) if row_id not in without]
        found = observation_table.by_ids(self._store, wanted) if wanted else {}
        findings = Findings()
        rows = self._vetting.vetted([found[row_id] for row_id in wanted if row_id in found], findings, unasked=True)[
            :_FILE_ROWS
        ]
        apart = findings.told_apart(_FILE_ROWS - len(rows))
        self._vetting.look_at_files([*rows, *apart], findings)
        return Context(
            project=place.project,
            project_source=place.source,
            sections=(Section(FILE_SECTION, tuple(rows)), *([Section("unchecked", tuple(apart))] if apart else [])),
            max_bytes=FILE_BYTES,
            mode="query",
            remarks=findings.remarks,
            today=self._journal.moment().date().isoformat(),
        )
