"""Edits that were made on the page, so that each can be taken back whole: a type or a topic has no history."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict

from engram_py.dataclass import dataclass
from engram_py.observations.values import Change

MOST_KEPT = 200


@dataclass(frozen=True, slots=True)
class Taken:
    """How to take an edit back: the change that does, and how the observation looks until somebody changes it."""

    observation_id: int
    change: Change
    seen: str


class Undo:
    """Keeps the latest edits of this process."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Taken] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, taken: Taken) -> str:
        """Return the name by which the edit is taken back."""
        name = secrets.token_urlsafe(12)
        with self._lock:
            self._kept[name] = taken
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return name

    def find(self, name: str) -> Taken | None:
        with self._lock:
            return self._kept.get(name)

    def forget(self, name: str) -> None:
        with self._lock:
            self._kept.pop(name, None)
