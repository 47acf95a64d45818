"""List and change many observations at once: those that match filters, of a session, or of a project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from engram_py.base.database.fts import erase
from engram_py.base.database.soundness import PROMPTS, TURNS
from engram_py.base.dataclass import replace
from engram_py.base.reasons import Told
from engram_py.memory.anchors.anchors import Anchors
from engram_py.memory.observations import browse as table
from engram_py.memory.observations.arguments import clamp, clean_scope
from engram_py.memory.observations.errors import BulkFilterError
from engram_py.memory.observations.listing import MOST_TITLES, BulkDone, Listing, ObservationLine, Selection
from engram_py.memory.observations.observations import Observations
from engram_py.memory.observations.values import Change
from engram_py.memory.projects.projects import Core
from engram_py.memory.projects.values import AmbiguousProjectError, Place
from engram_py.memory.sessions import table as session_table
from engram_py.memory.sessions.sessions import Sessions
from engram_py.recall import index
from engram_py.recall.query import parse_query
from engram_py.recall.scope_filter import ScopeFilter, build_scope_filter
from engram_py.recall.substitutes import rows_of_file

MOST_LISTED = 500
_ALL = -1  # SQLite's word for no limit


class Bulk:
    """Lists observations, and deletes or changes a selection whose size the caller has seen."""

    def __init__(self, core: Core, observations: Observations, sessions: Sessions, anchors: Anchors) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._observations = observations
        self._sessions = sessions
        self._anchors = anchors

    def listed(
        self,
        filters: str = "",
        *,
        project: str | None = None,
        all_projects: bool = False,
        type: str | None = None,
        scope: str | None = None,
        deleted: bool = False,
        limit: int = 20,
        offset: int = 0,
        counted: bool = False,
    ) -> Listing:
        """Return the observations that match the filters, latest change first, from the place ``offset`` on;
        ``deleted`` lists the hidden ones, and ``counted`` says how many there are in all.

        Raises BulkFilterError for words.
        """
        limit, said = clamp("limit", limit, 1, MOST_LISTED)
        place, visible = self._scope_filter(filters, project, all_projects, type, scope)
        latest = index.latest_deleted if deleted else index.latest
        lines = table.lines(self._store, latest(self._store, visible.values, limit=limit, offset=offset))
        total = index.count_latest(self._store, visible.values, deleted=deleted) if counted else None
        return Listing("observations", tuple(lines), (*said, *visible.notes, *place.warnings), total)

    def select(self, filters: str, *, project: str | None = None, all_projects: bool = False) -> Selection:
        """Return the observations of the project itself that match the filters.

        Raises BulkFilterError for words, an unknown filter or none, and AmbiguousProjectError where no project is
        named.
        """
        place, visible = self._scope_filter(filters, project, all_projects)
        if not (place.project or all_projects):  # a read covers every candidate; a change must be told which
            raise AmbiguousProjectError(place.path, place.reads or (), *place.warnings)
        if visible.unread or not visible.said:  # what is left out of a search must not widen a deletion
            raise BulkFilterError(filters, *visible.unread)
        rows = table.lines(self._store, index.latest(self._store, visible.values, limit=_ALL))
        own = [row for row in rows if all_projects or row.project == place.project]
        where = "all projects" if all_projects else place.project
        return _selection(f"{' '.join(visible.said)} in {where}", own, warnings=place.warnings)

    def select_ids(self, ids: Sequence[int], *, hard: bool = False) -> Selection:
        """Return the observations of these ids; ``hard``: the hidden ones too. Raises ObservationNotFoundError."""
        rows = [self._observations.deletable(one, hard=hard) for one in dict.fromkeys(ids)]
        return _selection("those named", table.lines(self._store, [row.id for row in rows]))

    def select_session(self, session_id: str) -> Selection:
        """Return what a session holds: its observations and its prompts. Raises SessionNotFoundError."""
        session = self._sessions.get(session_id)
        rows = table.live_lines(self._store, "session_id", session.id)
        prompts = tuple(one.id for one in session_table.prompts_of(self._store, session.id))
        return replace(_selection(f"session {session.id}", rows), prompts=prompts, sessions=(session.id,))

    def select_project(self, project: str) -> Selection:
        """Return what a project holds: its observations, prompts and sessions. Raises UnknownProjectError."""
        name = self._projects.existing(project)
        rows = table.live_lines(self._store, "project", name)
        prompts, sessions = table.prompts_and_sessions(self._store, name)
        return replace(_selection(f"project {name}", rows), prompts=prompts, sessions=sessions)

    def delete_selected(self, selection: Selection) -> BulkDone:
        """Hide the observations, remove the prompts for good, and the sessions of which nothing is left.

        All in one transaction. A session that has hidden observations stays, ended.
        """
        with self._store.transaction():
            live = self._live(selection.ids)
            self._observations.delete_many(live)
            for prompt_id in selection.prompts:
                self._sessions.remove_prompt(prompt_id)
            removed = sum(self._sessions.close_or_remove(session_id) for session_id in selection.sessions)
        if selection.prompts:
            erase(self._store, PROMPTS)
        if selection.sessions:
            erase(self._store, TURNS)
        gone = len(selection.ids) - len(live)
        return BulkDone("deleted", selection.what, live, gone, len(selection.prompts), removed)

    def change_selected(self, selection: Selection, change: Change) -> BulkDone:
        """Give the observations another type or scope, all or none. Raises what ``update`` raises."""
        with self._store.transaction():
            live = self._live(selection.ids)
            done = [self._observations.update(row_id, change) for row_id in live]
        changed = tuple(one.id for one in done if one.outcome == "updated")
        return BulkDone("updated", selection.what, changed, len(selection.ids) - len(changed))

    def _live(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(row.id for row in table.lines(self._store, ids) if row.deleted_at is None)

    def _scope_filter(
        self, filters: str, project: str | None, all_projects: bool, type: str | None = None, scope: str | None = None
    ) -> tuple[Place, ScopeFilter]:
        parsed = parse_query(filters, filters=True)
        if parsed.words or parsed.excluded or parsed.phrases or "stale" in parsed.filters.states:
            raise BulkFilterError(filters)
        named = project or next(iter(parsed.filters.projects), None)
        place = self._projects.for_read(named, all_projects=all_projects)
        files = partial(rows_of_file, self._store, self._anchors)
        clean = clean_scope(scope)
        visible = build_scope_filter(
            parsed.filters, projects=place.reads, type=type, scope=clean, files=files, journal=self._journal
        )
        return place, visible


def _selection(what: str, rows: Sequence[ObservationLine], *, warnings: tuple[Told, ...] = ()) -> Selection:
    return Selection(
        what,
        tuple(row.id for row in rows),
        dict(Counter(row.type for row in rows).most_common()),
        tuple((row.id, row.title) for row in rows[:MOST_TITLES]),
        sum(row.pinned for row in rows),
        warnings=warnings,
    )
