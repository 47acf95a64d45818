"""Answers kept for a few seconds, until anybody writes: a host may ask the same thing several times in one turn."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

T = TypeVar("T")

KEPT_FOR = timedelta(seconds=10)
MOST_KEPT = 32


class Cache(Generic[T]):
    """A few values, each true at one state of the memory and for ten seconds; of a clock that jumps, no longer."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Hashable, datetime, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, *, state: Hashable, now: datetime) -> T | None:
        """Return the value kept under ``key``, unless the memory is in another state or too much time has passed."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept[0] != state or not timedelta() <= now - kept[1] < KEPT_FOR:
                self._kept.pop(key, None)
                return None
            return kept[2]

    def keep(self, key: Hashable, value: T, *, state: Hashable, now: datetime) -> None:
        with self._lock:
            self._kept[key] = (state, now, value)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
