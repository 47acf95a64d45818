"""Check the id that a host gives a session."""

from __future__ import annotations

from engram_py.base.capture.redact import redact
from engram_py.base.errors import EmptyFieldError, TextTooLongError
from engram_py.base.text.normalize import check_text

SESSION_ID_LIMIT = 200  # characters


def clean_session_id(session_id: str) -> str:
    """Return a session's id, checked and redacted. Raises InvalidInputError."""
    if not session_id.strip():
        raise EmptyFieldError("session_id")
    check_text("session_id", session_id)
    if len(session_id) > SESSION_ID_LIMIT:
        raise TextTooLongError("session_id", len(session_id), SESSION_ID_LIMIT)
    return redact(session_id).text
