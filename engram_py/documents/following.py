"""What a process that stays does about documents: have them updated when HEAD moved, and now and again."""

from __future__ import annotations

import time
from collections.abc import Callable

from engram_py.documents.collections import Collections

# The files of a large checkout take a second to look at.
FILES_SECONDS = 600.0


class Following:
    """Watches one directory. ``allowed`` says whether anything may be kept; ``set_out`` starts a process that updates
    the documents: what reading them takes of memory, a server does not keep."""

    def __init__(self, documents: Collections, allowed: Callable[[], bool], set_out: Callable[[], object]) -> None:
        self._documents = documents
        self._allowed = allowed
        self._set_out = set_out
        self._seen: str | None = None
        self._due = 0.0

    def look(self) -> None:
        """Have the documents updated if HEAD moved since the last look, or if that was a while ago."""
        if not self._allowed():
            return
        head = self._documents.head()
        if head is not None and (head != self._seen or time.monotonic() >= self._due):
            self._seen, self._due = head, time.monotonic() + FILES_SECONDS
            self._set_out()
