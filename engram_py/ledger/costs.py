"""Add up what the memory cost, and what of it was used."""

from __future__ import annotations

from datetime import timedelta

from engram_py.database import runs
from engram_py.ledger import table
from engram_py.ledger.values import Cost, DoorCost, ModelCost, SessionCost, Share, tokens_of
from engram_py.observations.validation import clamp, clean_session_id
from engram_py.projects.projects import ProjectOperations
from engram_py.sessions.values import SessionNotFoundError
from engram_py.times import to_text

MOST_DAYS = 3_650
SESSIONS_SHOWN = 5


class Costs(ProjectOperations):
    """Reports what the ledger counted."""

    def of(self, *, session_id: str | None = None, project: str | None = None, days: int | None = None) -> Cost:
        """Return what was counted: of everything, or of one session, one project, the last days (UTC, today included).

        An observation counts as used when a session of the same scope cited it in the same days.

        Raises:
            SessionNotFoundError: nothing was ever kept or counted under this id.
            UnknownProjectError: nothing was ever kept for the project.
        """
        if session_id is not None:
            session_id = clean_session_id(session_id)
            if not table.known(self._store, session_id):
                raise SessionNotFoundError(session_id)
        if project is not None:
            project = self._projects.existing(project)
        since, warnings = self._since(days)
        scope = {"session_id": session_id, "project": project, "since": since or ""}
        sessions = table.sessions(self._store, scope, limit=SESSIONS_SHOWN)
        shares = {
            name: Share(row["observations"], row["bytes"], tokens_of(row["bytes"]))
            for name, row in table.shares(self._store, scope).items()
        }
        was_read = table.was_read(self._store, scope)
        return Cost(
            session_id=session_id,
            project=project,
            since=since,
            doors=tuple(
                DoorCost(**dict(row), tokens=tokens_of(row["bytes"])) for row in table.doors(self._store, scope)
            ),
            sessions=tuple(SessionCost(*(*row[:-1], tokens_of(row["bytes"]))) for row in sessions),
            session_count=sessions[0]["total"] if sessions else 0,
            injected=shares["injected"],
            recalled=shares["recalled"],
            cited=shares["cited"] if was_read else None,
            never_used=shares["never_used"] if was_read else None,
            models=self._models(since) if session_id is None and project is None else None,
            warnings=warnings,
        )

    def _models(self, since: str | None) -> ModelCost | None:
        count, tokens, dollars = runs.spent_since(self._store, since or "")
        return ModelCost(count, tokens, round(dollars, 4)) if count else None

    def _since(self, days: int | None) -> tuple[str | None, tuple[str, ...]]:
        if days is None:
            return None, ()
        days, warnings = clamp("days", days, 1, MOST_DAYS)
        first = self._journal.moment() - timedelta(days=days - 1)
        return to_text(first)[: len("2026-01-02")], warnings
