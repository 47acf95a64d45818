"""Keep what a session taught about entities and about the person, by the rules of facts and statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from engram_py.capture.orders import reads_like_an_order
from engram_py.database.store import Store
from engram_py.distill import table
from engram_py.distill.values import Candidate
from engram_py.errors import InvalidInputError
from engram_py.identity.about_me import MOST_STATEMENTS
from engram_py.lazy import logger_of
from engram_py.observations import table as observation_table
from engram_py.observations.lookup import live_observation
from engram_py.text.normalize import content_hash

if TYPE_CHECKING:
    from engram_py.identity.identity import Identity
    from engram_py.observations.facts import Facts
    from engram_py.sessions.sessions import Sessions

logger = logger_of(__name__)

MOST_FACTS = 10


class Learning:
    """Keeps facts and statements that were derived. What is refused, known or was deleted is left out: nobody waits
    for an answer."""

    def __init__(
        self, store: Store, sessions: Sessions, facts: Callable[[], Facts], identity: Callable[[], Identity]
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._facts = facts
        self._identity = identity

    def keep_facts(self, candidates: Sequence[Candidate], *, session_id: str, at: str) -> int:
        """Add the facts of a digest, dated ``at``; how many were new. Call inside a transaction."""
        project = self._sessions.get(session_id).project
        kept = 0
        for one in candidates[:MOST_FACTS]:
            known = {"content_hash": content_hash(one.text), "project": project}
            if reads_like_an_order(one.entity, one.text) or observation_table.hash_was_deleted(self._store, **known):
                continue
            try:
                with self._sessions.reopened_for_a_save(session_id):
                    saved = self._facts().add(one.entity, one.text, session_id=session_id, origin="derived")
            except InvalidInputError as exc:
                logger.info("a fact was not kept: %s", exc.code)
                continue
            if saved.outcome in ("added", "superseded"):
                row = live_observation(self._store, saved.id)
                table.date(self._store, row, min(at, row.created_at), one.salience)
                kept += 1
        return kept

    def keep_statements(self, statements: Iterable[str], *, session_id: str, tool_name: str) -> int:
        """Add what the person said about themselves; how many were new. Call inside a transaction."""
        kept = 0
        for statement in list(dict.fromkeys(statements))[:MOST_STATEMENTS]:
            if reads_like_an_order(statement):
                continue
            try:
                saved = self._identity().learn(statement, session_id=session_id, tool_name=tool_name)
            except InvalidInputError as exc:
                logger.info("a statement was not kept: %s", exc.code)
                continue
            if saved is not None and saved.outcome == "added":
                row, (_, last) = live_observation(self._store, saved.id), table.span(self._store, session_id)
                table.date(self._store, row, min(last or row.created_at, row.created_at), row.salience)
                kept += 1
        return kept
