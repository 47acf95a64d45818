"""Count the answers of MCP and HTTP: their bytes are what a memory costs."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Literal

from engram_py.lazy import logger_of

if TYPE_CHECKING:
    from engram_py.app import Engram

logger = logger_of(__name__)


def count_answer(
    app: Engram, door: Literal["mcp", "http"], name: str, size: int, *, session_id: object, shown: Collection[int]
) -> None:
    """Note the bytes of an answer for the session that a request names, else for the caller's own. Never fails."""
    named = session_id if isinstance(session_id, str) and session_id else None
    try:
        app.ledger.answered(door, name, size, caller=app.own_session, session_id=named, shown=shown)
    except Exception:  # what is done is done, counted or not
        logger.exception("an answer of %s was not counted", name)
