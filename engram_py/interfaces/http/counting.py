"""Counts what a route has answered."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

from engram_py.app import Engram
from engram_py.interfaces.http.operations import Operation

logger = logging.getLogger(__name__)

# What no model reads: counted, one export would be most of what a memory costs.
_FOR_PROGRAMS = frozenset({"/health", "/openapi.json", "/export", "/import", "/sync/status"})


def count(app: Engram, found: Operation, arguments: dict[str, Any], size: int, shown: Collection[int]) -> None:
    """Note an answer's bytes for the session that the request names, else for the caller's own. Never fails."""
    if found.path in _FOR_PROGRAMS:
        return
    try:
        _note(app, found, arguments, size, shown)
    except Exception:  # what is done is done, counted or not
        logger.exception("an answer of %s was not counted", found.path)


def _note(app: Engram, found: Operation, arguments: dict[str, Any], size: int, shown: Collection[int]) -> None:
    named = (getattr(arguments.get(part), "session_id", None) for part in ("body", "query"))
    app.ledger.answered(
        "http",
        f"{found.method} {found.path}",
        size,
        caller=app.own_session,
        session_id=next((name for name in named if isinstance(name, str) and name), None),
        shown=shown,
    )
