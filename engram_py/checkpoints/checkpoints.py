"""Save and load the state of an agent."""

from __future__ import annotations

import json

from engram_py.capture.redact import redact
from engram_py.checkpoints import table
from engram_py.checkpoints.errors import CheckpointNotFoundError, CheckpointSecretError, CheckpointTooLargeError
from engram_py.checkpoints.values import KEPT, LIMIT_BYTES, Checkpoint, CheckpointLine
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.errors import EmptyFieldError
from engram_py.observations.arguments import clamp
from engram_py.observations.listing import Listing
from engram_py.observations.validation import clean_session_id, intake_notes
from engram_py.projects.projects import ProjectOperations, Projects
from engram_py.sessions.sessions import Sessions

MOST = 200


class Checkpoints(ProjectOperations):
    """Keeps the last ten checkpoints of each session, on this machine alone.

    A checkpoint is bytes, not memory: no search finds it, no context shows it, nothing is made of it.
    """

    def __init__(self, store: Store, journal: Journal, projects: Projects, sessions: Sessions) -> None:
        super().__init__(store, journal, projects)
        self._sessions = sessions

    def save(self, content: bytes, *, project: str | None = None, session_id: str | None = None) -> CheckpointLine:
        """Keep ``content`` as the latest checkpoint of a session; saved again unchanged, it is kept once.

        Secrets are taken out first, and the answer says so; every other byte is given back as it came.

        Raises:
            EmptyFieldError, CheckpointTooLargeError: no byte, or over a mebibyte.
            CheckpointSecretError: it is JSON, and would be none without the secrets in it.
        """
        if not content:
            raise EmptyFieldError("content")
        if len(content) > LIMIT_BYTES:
            raise CheckpointTooLargeError
        data, redacted = _without_secrets(content)
        with self._store.transaction():
            place = self._projects.for_write(project, session_id=session_id)
            session, now = self._sessions.ensure(session_id, place), self._journal.now()
            known = table.of_session(self._store, session.id)
            if known is not None and known.data == data:
                self._store.update("checkpoints", {"id": known.id}, {"saved_at": now})
                row_id = known.id
            else:
                row_id = table.add(self._store, session.id, data, now, kept=KEPT)
        notes = (*intake_notes(redacted, None), *place.warnings)
        return CheckpointLine(row_id, session.id, session.project, len(data), now, redacted, notes)

    def load(self, *, session_id: str | None = None, project: str | None = None) -> Checkpoint:
        """Return the latest checkpoint of a session; without one the latest of the project, whichever session saved it.

        Raises CheckpointNotFoundError.
        """
        if session_id and session_id.strip():
            wanted = clean_session_id(session_id)
            found, where = table.of_session(self._store, wanted), f"session {wanted}"
        else:
            place = self._projects.for_read(project)
            found, where = table.in_projects(self._store, place.reads), place.project or "any project"
        if found is None:
            raise CheckpointNotFoundError(where)
        return found

    def listed(self, *, session_id: str | None = None, project: str | None = None, limit: int = 20) -> Listing:
        """Return the checkpoints of a session, or of the project, the latest first."""
        limit, said = clamp("limit", limit, 1, MOST)
        if session_id and session_id.strip():
            wanted = clean_session_id(session_id)
            return Listing("checkpoints", table.lines_of_session(self._store, wanted, limit=limit), said)
        place = self._projects.for_read(project)
        found = table.lines_in_projects(self._store, place.reads, limit=limit)
        return Listing("checkpoints", found, (*said, *place.warnings))


def _without_secrets(content: bytes) -> tuple[bytes, int]:
    """Return the bytes without secrets, and how many there were. What is not UTF-8 is read byte by byte."""
    try:
        encoding, text = "utf-8", content.decode()
    except UnicodeDecodeError:
        encoding, text = "latin-1", content.decode("latin-1")
    hidden = redact(text)
    if not hidden.count:
        return content, 0
    if _is_json(text) and not _is_json(hidden.text):
        raise CheckpointSecretError(hidden.count)
    return hidden.text.encode(encoding, "replace"), hidden.count


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
