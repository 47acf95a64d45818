"""One request to the page, the functions that answer it, how they are registered, and what takes a change back."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any, TypeVar
from urllib.parse import urlencode

from engram_py.app import Engram
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, field
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.times import parse_time
from engram_py.interfaces.web.access import NoPageError
from engram_py.memory.observations.values import Change

HOME = "/ui/"
# The addresses of Aurelius's pages (spec/seed-capabilities.md row 129), and the page here that shows the same.
OTHER_ADDRESSES = {
    "/memory": "/ui/",
    "/memory/people": "/ui/entities?kind=person",
    "/memory/projects": "/ui/entities?kind=project",
    "/memory/timeline": "/ui/timeline",
    "/memory/search": "/ui/",
}
MOST_KEPT = 200
_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Taken:
    """The way to take a change back: another change of the text, or a call with the memory. ``seen`` is how
    the observation reads until somebody changes it, ``done`` what the page says of it then."""

    observation_id: int
    change: Change | Callable[[Engram], object]
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


@dataclass(frozen=True, slots=True)
class Visit:
    """The argument of a page function: the open memory, in no project, and what the browser sent."""

    app: Engram
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    undo: Undo

    def asked(self, name: str) -> str:
        """Return a field of the address, trimmed; empty where it was left out."""
        return self.query.get(name, "").strip()

    @property
    def project(self) -> str | None:
        """The project that the reader narrowed the pages to; None for all of them. Raises UnknownProjectError."""
        named = self.asked("project")
        return self.app.projects.existing(named) if named else None

    @property
    def place(self) -> dict[str, Any]:
        """The same, as most services take it."""
        project = self.project
        return {"project": project, "all_projects": project is None}

    @property
    def observation_id(self) -> int:
        """The id in the path. Raises NoPageError for what cannot be one."""
        try:
            return observation_number(self.path["id"])
        except InvalidArgumentError as exc:
            raise NoPageError(f"/ui/memory/{self.path['id']}") from exc


def observation_number(text: str) -> int:
    """Return an observation's number as a person types it: ``12`` or ``#12``. Raises InvalidArgumentError."""
    given = text.strip().removeprefix("#")
    if not (given.isascii() and given.isdecimal() and len(given) <= _MOST_DIGITS and int(given)):
        raise InvalidArgumentError("id", text[:80], expected="the number of a memory, as in 12")
    return int(given)


def page_number(visit: Visit) -> int:
    """Return the page of a list that is asked for, from 0. Raises InvalidArgumentError."""
    return observation_number(visit.asked("page")) - 1 if visit.asked("page") else 0


@dataclass(frozen=True, slots=True)
class Shown:
    """A page: a template with its values."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Goto:
    """The address that the browser goes on to after a change."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


PageFunction = Callable[[Visit], Shown | Goto]
F = TypeVar("F", bound=PageFunction)

# (method, path) → what answers it
PAGES: dict[tuple[str, str], PageFunction] = {}


def page(method: str, path: str) -> Callable[[F], F]:
    """Register a function as what answers ``method path``."""

    def register(function: F) -> F:
        PAGES[method, path] = function
        return function

    return register


def version_of(store: Store) -> str:
    """Return what changes with every write, as a page and its stream name it."""
    return ".".join(map(str, store.version()))


def zone_of(visit: Visit) -> tzinfo | None:
    """Return the reader's zone; None is the system's."""
    return visit.app.settings.zone


def day_of(moment: str, zone: tzinfo | None) -> str:
    parsed = parse_time(moment)
    return f"{parsed.astimezone(zone):%Y-%m-%d}" if parsed else ""


def neighbours(number: int, *, more: bool) -> dict[str, object]:
    newer = {} if number == 1 else {"page": str(number)}
    return {"newer": newer if number else None, "older": {"page": str(number + 2)} if more else None}
