"""Everything one can do with an observation: save (``save.py``), change and delete (``edit.py``), and read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram_py.base.reasons import reason
from engram_py.memory.observations import table
from engram_py.memory.observations.arguments import MAX_ID, clamp, live_observation
from engram_py.memory.observations.edit import Editing
from engram_py.memory.observations.listing import Listing, ReviewLine
from engram_py.memory.observations.save import CandidateSource, Saving
from engram_py.memory.observations.values import Detail, Timeline
from engram_py.memory.privacy.provenance import is_withheld, retired
from engram_py.memory.privacy.switches import Switches
from engram_py.memory.projects.projects import Core
from engram_py.memory.relations import table as relations
from engram_py.memory.relations.table import relation_notes
from engram_py.memory.sessions import table as session_table

if TYPE_CHECKING:
    from engram_py.memory.anchors.anchors import Anchors
    from engram_py.memory.observations.usage import Usage
    from engram_py.memory.sessions.sessions import Sessions

HISTORY_PAGE = 50
TIMELINE_MOST = 50
REVIEW_MOST = 100


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
    ) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._anchors = anchors
        self._usage = usage
        self.save = Saving(core, sessions, candidates, anchors=anchors, switches=switches).save
        editing = Editing(core, sessions, anchors)
        self.update, self.move, self.pin, self.mark_reviewed = (
            editing.update,
            editing.move,
            editing.pin,
            editing.mark_reviewed,
        )
        self.accept, self.unaccept = editing.accept, editing.unaccept
        self.guard, self.ask_for_review = editing.guard, editing.ask_for_review
        self.delete, self.delete_many, self.deletable = editing.delete, editing.delete_many, editing.deletable
        self.undelete, self.revert, self.undo = editing.undelete, editing.revert, editing.undo
        self.put_back = editing.put_back

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
        edits = table.hand_edits(self._store, projects=place.reads, limit=limit - len(untaken))
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
        from engram_py.guidance.guards.proposals import offers
        from engram_py.memory.observations.browse import unconfirmed

        waiting = unconfirmed(self._store, projects=place.reads, limit=limit + 1)
        named = tuple(f"[#{row.id}] {row.title}" for row in waiting[:limit] if not is_withheld(row))
        notes = [reason("unconfirmed", named=named, more=len(waiting) > limit)] if named else []
        offered = tuple(one.id for one in offers(self._store, place.reads, limit=limit))
        notes += [reason("guards_offered", ids=offered, more=len(offered) == limit)] if offered else []
        return Listing("due", (*untaken, *edits, *lines, *stale), (*said, *place.warnings, *notes))
