"""Everything one can do with an observation: save (``save.py``), change and delete (``edit.py``), and read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from engram_py.base.reasons import reason
from engram_py.memory.observations import table
from engram_py.memory.observations.arguments import MAX_ID, clamp, live_observation
from engram_py.memory.observations.listing import HandEditLine, Listing, ReviewLine
from engram_py.memory.observations.values import (
    Change,
    Changed,
    Detail,
    Draft,
    Editor,
    Observation,
    Saved,
    Timeline,
    is_withheld,
)
from engram_py.memory.privacy.provenance import retired
from engram_py.memory.privacy.switches import Switches
from engram_py.memory.projects.projects import Core
from engram_py.memory.relations import table as relations
from engram_py.memory.relations.table import relation_notes
from engram_py.memory.sessions import table as session_table
from engram_py.memory.writing.edit import Editing
from engram_py.memory.writing.save import CandidateSource, Proposals, Saving

if TYPE_CHECKING:
    from engram_py.base.database.store import Store
    from engram_py.memory.anchors.anchors import Anchors
    from engram_py.memory.observations.fact_rules import Rules
    from engram_py.memory.observations.usage import Usage
    from engram_py.memory.observations.validation import Prepared
    from engram_py.memory.projects.values import Place
    from engram_py.memory.sessions.sessions import Sessions

HISTORY_PAGE = 50
TIMELINE_MOST = 50
REVIEW_MOST = 100


class HandEdits(Protocol):
    def __call__(self, store: Store, *, projects: Sequence[str] | None, limit: int) -> Sequence[HandEditLine]: ...


class Observations:
    """Save, change, delete and read observations."""

    def __init__(
        self,
        core: Core,
        sessions: Sessions,
        candidates: CandidateSource,
        *,
        anchors: Anchors,
        usage: Usage,
        switches: Switches,
        proposals: Callable[[], Proposals],
        hand_edits: HandEdits,
    ) -> None:
        """``hand_edits`` returns the observations whose files in a repository somebody edited."""
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._anchors = anchors
        self._usage = usage
        self._proposals, self._hand_edits = proposals, hand_edits
        self._saving = Saving(core, sessions, candidates, anchors=anchors, switches=switches, proposals=proposals)
        self._editing = Editing(core, sessions, anchors)

    # --- writing: what each does and raises stands in ``save.py`` and ``edit.py`` ---

    def save(
        self,
        draft: Draft,
        *,
        project: str | None = None,
        session_id: str | None = None,
        rules: Rules | None = None,
        same: Callable[[Prepared, Place], Observation | None] | None = None,
    ) -> Saved:
        """Store a draft, or fold it into the observation that already says it; see ``Saving.save``."""
        return self._saving.save(draft, project=project, session_id=session_id, rules=rules, same=same)

    def update(
        self, observation_id: int, change: Change, *, base: Observation | None = None, by: Editor = "agent"
    ) -> Changed:
        """Change the given fields of an observation; the text it had becomes a version."""
        return self._editing.update(observation_id, change, base=base, by=by)

    def put_back(self, observation_id: int, columns: dict[str, Any]) -> None:
        """Give an observation the type, scope, topic and the like that it had. Raises ConflictError (topic_taken)."""
        self._editing.put_back(observation_id, columns)

    def move(self, observation_id: int, project: str) -> Changed:
        """Give an observation to another project; its session stays where it was."""
        return self._editing.move(observation_id, project)

    def pin(self, observation_id: int, *, pinned: bool = True) -> Changed:
        """Keep an observation on top of the context, or stop doing so."""
        return self._editing.pin(observation_id, pinned=pinned)

    def mark_reviewed(self, observation_id: int) -> Changed:
        """Confirm that an observation still holds; the next review date follows from its type."""
        return self._editing.mark_reviewed(observation_id)

    def ask_for_review(self, observation_id: int) -> Changed:
        """Let an observation be due for review now, unless it is."""
        return self._editing.ask_for_review(observation_id)

    def guard(self, observation_id: int, guards: str | None) -> Observation:
        """Store what an observation guards, as JSON, and return the observation."""
        return self._editing.guard(observation_id, guards)

    def accept(self, observation_id: int) -> Changed:
        """Make a derived, imported or received observation its reader's own."""
        return self._editing.accept(observation_id)

    def unaccept(self, accepted: Changed) -> Changed:
        """Take an acceptance back: the observation counts as it did before."""
        return self._editing.unaccept(accepted)

    def delete(self, observation_id: int, *, hard: bool = False) -> Changed:
        """Hide an observation, or with ``hard`` destroy it and its versions."""
        return self._editing.delete(observation_id, hard=hard)

    def delete_many(self, ids: Sequence[int], *, hard: bool = False) -> tuple[Changed, ...]:
        """Delete several observations, or none where one is missing."""
        return self._editing.delete_many(ids, hard=hard)

    def deletable(self, observation_id: int, *, hard: bool) -> Observation:
        """Return the observation that may be deleted."""
        return self._editing.deletable(observation_id, hard=hard)

    def undelete(self, observation_id: int) -> Changed:
        """Bring back an observation that was deleted, but not destroyed."""
        return self._editing.undelete(observation_id)

    def revert(self, observation_id: int, version: int | None = None) -> Changed:
        """Give an observation the title and text of an earlier version, by default the latest."""
        return self._editing.revert(observation_id, version)

    def undo(self, observation_id: int) -> Changed:
        """Bring back an observation that was deleted; else give it the text it had before."""
        return self._editing.undo(observation_id)

    # --- reading ---

    def get(self, observation_id: int, *, history: bool = False, cursor: int | None = None) -> Detail:
        """Return one observation; with ``history`` its older texts, newest first, 50 to a page.

        ``next_cursor`` of the answer fetches the next page. Raises ObservationNotFoundError.
        """
        found = live_observation(self._store, observation_id)
        self._usage.surfaced([found.id])
        cursor = None if cursor is None else max(0, min(cursor, MAX_ID))
        page = table.versions(self._store, found.id, cursor=cursor, limit=HISTORY_PAGE + 1) if history else []
        more = len(page) > HISTORY_PAGE
        page = page[:HISTORY_PAGE]
        return Detail(
            observation=found,
            state=found.state(self._journal.moment()),
            relations=relation_notes(self._store, [found.sync_id]).get(found.sync_id, ()),
            versions=tuple(page),
            line=relations.line(self._store, found.sync_id) if history and cursor is None else (),
            version_total=table.count_versions(self._store, found.id),
            next_cursor=page[-1].version if more else None,
            anchors=self._anchors.states([found]).get(found.id, ()),
        )

    def timeline(self, observation_id: int, *, before: int = 5, after: int = 5) -> Timeline:
        """Return what was saved around an observation in its session, oldest first."""
        before, said_before = clamp("before", before, 0, TIMELINE_MOST)
        after, said_after = clamp("after", after, 0, TIMELINE_MOST)
        focus = live_observation(self._store, observation_id)
        earlier, later = table.neighbours(self._store, focus, before=before, after=after)
        session = session_table.by_id(self._store, focus.session_id)
        return Timeline(
            focus=focus,
            before=tuple(earlier),
            after=tuple(later),
            session_id=focus.session_id,
            session_started_at=session.started_at if session else "",
            total_in_session=table.count_in_session(self._store, focus.session_id),
            warnings=said_before + said_after,
        )

    def due_for_review(self, project: str | None = None, *, all_projects: bool = False, limit: int = 10) -> Listing:
        """Return the observations that wait for a person: with two texts after a merge, edited by hand in their file,
        with more harm than help, overdue, and those whose files changed; a note names what was derived."""
        limit, said = clamp("limit", limit, 1, REVIEW_MOST)
        place = self._projects.for_read(project, all_projects=all_projects)
        untaken = table.untaken(self._store, projects=place.reads, limit=limit)
        edits = self._hand_edits(self._store, projects=place.reads, limit=limit - len(untaken))
        known = {line.id for line in untaken} | {line.id for line in edits}
        rows = table.due(self._store, now=self._journal.now(), projects=place.reads, limit=limit)
        rows = [row for row in rows if row.id not in known][: limit - len(untaken) - len(edits)]
        harmful = retired(self._store)
        dates = {row.id: "" if row.id in harmful else row.review_after or "" for row in rows}
        lines = tuple(
            ReviewLine(row.id, row.title, row.type, row.project, dates[row.id], row.updated_at) for row in rows
        )
        listed = [*known, *(row.id for row in rows)]
        stale = self._anchors.stale(place.reads, without=listed, limit=limit - len(listed))
        from engram_py.memory.observations.browse import unconfirmed

        waiting = unconfirmed(self._store, projects=place.reads, limit=limit + 1)
        named = tuple(f"[#{row.id}] {row.title}" for row in waiting[:limit] if not is_withheld(row))
        notes = [reason("unconfirmed", named=named, more=len(waiting) > limit)] if named else []
        offered = tuple(one.id for one in self._proposals().offers(self._store, place.reads, limit=limit))
        notes += [reason("guards_offered", ids=offered, more=len(offered) == limit)] if offered else []
        return Listing("due", (*untaken, *edits, *lines, *stale), (*said, *place.warnings, *notes))
