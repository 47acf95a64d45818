"""What a process that stays does about documents: new commits at once, the files now and again."""

from __future__ import annotations

import time
from collections.abc import Callable

from engram_py.documents.documents import Documents

# What one look may take: a history that needs longer is gone on with at the next.
LOOK_SECONDS = 20.0
# A look at every file of a large checkout takes a second.
FILES_SECONDS = 600.0


class Following:
    """Keeps the documents of one directory up to date; ``allowed`` says whether anything may be kept."""

    def __init__(self, documents: Documents, allowed: Callable[[], bool]) -> None:
        self._documents = documents
        self._allowed = allowed
        self._due = 0.0

    def look(self) -> None:
        """Index what is new, if there is time for it."""
        if not self._allowed():
            return
        until = time.monotonic() + LOOK_SECONDS
        if self._documents.catch_up(until=until) or time.monotonic() < self._due:
            return
        if not self._documents.refresh(until=until):
            self._due = time.monotonic() + FILES_SECONDS
