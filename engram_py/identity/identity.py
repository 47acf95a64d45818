"""Add, list and remove what the person says holds always, and read and write their profile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from engram_py.capture.passive import learning_title
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.dataclass import replace
from engram_py.errors import EmptyFieldError, InvalidArgumentError, TextTooLongError
from engram_py.identity import table
from engram_py.identity.errors import SeveralStatementsError, StatementNotFoundError
from engram_py.identity.profile import Sources, profile_text, sources_of
from engram_py.identity.sameness import holds, says_the_same
from engram_py.identity.values import LONGEST_CHARS, PROFILE, Profile, Statement
from engram_py.lazy import regex
from engram_py.observations.listing import Listing
from engram_py.observations.lookup import live_observation
from engram_py.observations.validation import Prepared, clamp, clean_scope
from engram_py.observations.values import Change, Deleted, Draft, Observation, Origin, Saved, Scope
from engram_py.projects.projects import ProjectOperations, Projects
from engram_py.projects.values import Place
from engram_py.text.normalize import content_hash, folded
from engram_py.times import to_text

if TYPE_CHECKING:
    from engram_py.observations.observations import Observations
    from engram_py.sessions.sessions import Sessions

MOST = 200
_ID = regex(r"\[?#?([0-9]{1,18})\]?")
_TITLES = {"personal": "Who the user is", "project": "How to work with the user in"}
_TOOL = "synthesize"


class Identity(ProjectOperations):
    """Keeps the statements of a person and their profile, through the one write path.

    ``personal`` ones hold in every project, those of scope ``project`` in one: how to work with the person there.
    """

    def __init__(
        self,
        store: Store,
        journal: Journal,
        projects: Projects,
        sessions: Sessions,
        observations: Callable[[], Observations],
    ) -> None:
        super().__init__(store, journal, projects)
        self._sessions = sessions
        self._observations = observations

    # --- statements --------------------------------------------------------------------------------------

    def add(
        self,
        text: str,
        *,
        scope: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
        origin: Origin = "agent",
        tool_name: str | None = None,
    ) -> Saved:
        """Keep ``text`` pinned, so that every context begins with it.

        ``duplicate``: a statement says it already, in other case, spacing or spelling.

        Raises TextTooLongError (over 500 characters), InvalidArgumentError for scope global, and what a save raises.
        """
        line = " ".join(text.split())
        if not line:
            raise EmptyFieldError("text")
        if len(line) > LONGEST_CHARS:
            raise TextTooLongError("text", len(line), LONGEST_CHARS)
        draft = Draft(learning_title(line), line, "identity", _scope(scope), origin=origin, tool_name=tool_name)
        with self._store.transaction():
            saved = self._observations().save(draft, project=project, session_id=session_id, same=self._same)
            self._observations().pin(saved.id)
        # An evolving answer has a topic key; a statement holds, or is removed.
        return replace(saved, suggested_topic_key=None, topic_holder=None, candidates=())

    def _same(self, new: Prepared, place: Place) -> Observation | None:
        known = table.statements(self._store, scope=new.scope or "personal", project=place.project)
        return next((row for row in known if says_the_same(row.content, new.content)), None)

    def listed(
        self, *, scope: str | None = None, project: str | None = None, session_id: str | None = None, limit: int = 50
    ) -> Listing:
        """Return what holds always, in the order it was said: everywhere first, then in this project."""
        limit, said = clamp("limit", limit, 1, MOST)
        place = self._projects.for_read(project, session_id=session_id)
        wanted = _scope(scope) if scope else None
        rows = table.overrides(self._store, place.reads, limit=limit)
        found = tuple(_statement(row) for row in rows if wanted in (None, row.scope))
        return Listing("statements", found, (*said, *place.warnings))

    def remove(self, what: str | int, *, project: str | None = None, session_id: str | None = None) -> Deleted:
        """Hide a statement, named by its id or its text, or by a part of its text that no other has.

        Raises StatementNotFoundError, SeveralStatementsError.
        """
        said = str(what).strip()
        with self._store.transaction():
            if match := _ID.fullmatch(said):
                row = live_observation(self._store, int(match[1]))
                if row.type != "identity":
                    raise StatementNotFoundError(said, kind=row.type)
                return self._observations().delete(row.id)
            place = self._projects.for_read(project, session_id=session_id)
            rows = table.overrides(self._store, place.reads, limit=MOST) if said else []
            found = [row for row in rows if says_the_same(row.content, said)]
            found = found or [row for row in rows if folded(said) in folded(row.content)]
            if not found:
                raise StatementNotFoundError(said)
            if len(found) > 1:
                raise SeveralStatementsError(said, [_statement(row) for row in found])
            return self._observations().delete(found[0].id)

    # --- what a session taught ---------------------------------------------------------------------------

    def learn(self, statement: str, *, session_id: str, tool_name: str) -> Saved | None:
        """Keep what a person said about themselves in a session; None where it is known, or was removed.

        Raises SessionNotFoundError. Call inside a transaction.
        """
        known = table.statements(self._store, scope="personal", project="")
        if any(says_the_same(row.content, statement) or holds(row.content, statement) for row in known):
            return None
        if table.was_removed(self._store, content_hash(statement)):
            return None
        with self._sessions.reopened_for_a_save(session_id):
            return self.add(statement, session_id=session_id, origin="derived", tool_name=tool_name)

    # --- the profile -------------------------------------------------------------------------------------

    def profile(
        self, *, scope: str | None = None, project: str | None = None, session_id: str | None = None
    ) -> Profile:
        """Return the person in a few lines, or how to work with them in a project; empty where nobody wrote it."""
        wanted = _scope(scope)
        place = self._projects.for_read(project, session_id=session_id)
        row = table.profile(self._store, scope=wanted, project=place.project)
        if row is None:
            return Profile(None, "", wanted, place.project, "", "", place.warnings)
        return Profile(row.id, row.content, wanted, row.project, row.origin, row.updated_at, place.warnings)

    def write_profile(
        self,
        text: str,
        *,
        scope: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
        origin: Origin = "agent",
    ) -> Saved:
        """Write the profile anew; the text before becomes a version, and upkeep leaves this one alone."""
        wanted = _scope(scope)
        with self._store.transaction():
            if wanted == "personal" and (old := table.profile(self._store, scope=wanted, project=None)) is not None:
                project = old.project  # one profile, wherever it is written
            title = _TITLES[wanted]
            if wanted == "project":
                title += f" {self._projects.for_read(project, session_id=session_id).project}"
            draft = Draft(title, text, "identity", wanted, PROFILE, origin=origin)
            return self._observations().save(draft, project=project, session_id=session_id)

    def rewrite_profile(self, now: datetime | None = None) -> dict[str, int]:
        """Write the personal profile from what is known of the person, as upkeep does.

        A profile that a person or an agent wrote is left alone, and one that was deleted stays so. Where nothing is
        known any more it is archived. The counts: ``sources`` read, and 1 for what became of the profile: ``written``,
        ``unchanged``, ``kept``, ``archived`` or ``empty``.
        """
        moment = to_text(now or self._journal.moment())
        with self._store.transaction():
            old = table.profile(self._store, scope="personal", project=None)
            if old is not None and old.origin != "derived":
                return {"sources": 0, "kept": 1}
            sources = sources_of(self._store, moment)
            return {"sources": len(sources.rows), self._rewritten(old, sources): 1}

    def _rewritten(self, old: Observation | None, sources: Sources) -> str:
        if not sources.rows:
            if old is None:
                return "empty"
            self._observations().update(old.id, Change(archived=True))
            return "archived"
        if old is None and table.profile_was_deleted(self._store, scope="personal"):
            return "kept"
        text = profile_text(sources)
        if old is not None and old.content == text:
            return "unchanged"
        home = old or sources.rows[0]
        draft = Draft(_TITLES["personal"], text, "identity", "personal", PROFILE, tool_name=_TOOL, origin="derived")
        with self._sessions.reopened_for_a_save(home.session_id):
            self._observations().save(draft, project=home.project, session_id=home.session_id)
        return "written"


def _scope(scope: str | None) -> Scope:
    wanted = clean_scope(scope) or "personal"
    if wanted == "global":
        raise InvalidArgumentError("scope", scope, expected="personal (every project) or project")
    return wanted


def _statement(row: Observation) -> Statement:
    return Statement(row.id, row.content, row.scope, row.project, row.origin, row.created_at)
