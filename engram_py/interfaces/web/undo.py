"""Changes that were made on the page, so that each can be taken back whole: a type or a topic has no history."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable

from engram_py.app import Engram
from engram_py.dataclass import dataclass
from engram_py.observations.values import Change

MOST_KEPT = 200


@dataclass(frozen=True, slots=True)
class Taken:
    """How to take a change back: by another change of the text, or by what is called with the memory. ``seen`` is how
    the observation reads until somebody changes it, ``done`` what the page says of it then."""

    observation_id: int
    change: Change | Callable[[Engram], None]
    seen: str
    done: str = "undone"


class Undo:
    """Keeps the latest changes of this process."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Taken] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, taken: Taken) -> str:
        """Return the name by which the change is taken back."""
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
