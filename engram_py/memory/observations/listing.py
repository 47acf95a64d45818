"""Lists as answers: rows to look through, counts, and what a bulk change is about."""

from __future__ import annotations

from typing import Any, Literal

from engram_py.base.dataclass import dataclass
from engram_py.base.reasons import Told


@dataclass(frozen=True, slots=True)
class Blocked:
    """A selected row that could not be given to a project, and why."""

    kind: str
    id: str
    reason: str
    owned_by: str


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of live rows; ``projects`` the most recently active first; ``syncs``: whether anything syncs with it."""

    total_sessions: int
    total_observations: int
    total_prompts: int
    total_relations: int
    deleted_observations: int
    versions: int
    queued_mutations: int
    database_bytes: int
    database_path: str
    types: dict[str, int]
    projects: tuple[str, ...]
    syncs: bool
    facts_since_synthesis: int = 0


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A topic key for a text, and the observation that holds it already, if one does."""

    topic_key: str
    existing_id: int | None
    existing_title: str | None


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence about an entity; ``past`` when another replaced it. ``said_at`` is UTC text; ``kind`` is the entity's,
    as this fact says, and the rest what was said beside it."""

    id: int
    about: str
    text: str
    said_at: str
    past: bool
    kind: str | None = None
    category: str | None = None
    source: str | None = None
    source_ref: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A note of a day; ``said_at`` is UTC text."""

    id: int
    text: str
    said_at: str


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """An observation whose review date has come, or without a date one that did more harm than help."""

    id: int
    title: str
    type: str
    project: str
    review_after: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class UntakenLine:
    """An observation that two edited without knowing of each other: it has one ``text``, and the ``other`` is its older
    text numbered ``version``. ``unchecked``: where one of them comes from that nobody here trusted."""

    id: int
    title: str
    type: str
    project: str
    text: str
    version: int
    other_title: str
    other: str
    unchecked: str | None
    updated_at: str


@dataclass(frozen=True, slots=True)
class HandEditLine:
    """An observation whose ``file`` in its repository somebody edited: the edit waits for the user to sign it."""

    id: int
    title: str
    type: str
    project: str
    file: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Listing:
    """``name`` is the key of the items in JSON, as in ``{"projects": [...], "count": 2}``. ``total`` counts those that
    were left out as well, where that is known."""

    name: str
    items: tuple[Any, ...]
    warnings: tuple[Told, ...] = ()
    total: int | None = None


MOST_TITLES = 5


@dataclass(frozen=True, slots=True)
class ObservationLine:
    """An observation in a list; ``deleted_at`` of one that is hidden and can be brought back."""

    id: int
    title: str
    type: str
    project: str
    scope: str
    topic_key: str | None
    pinned: bool
    updated_at: str
    deleted_at: str | None
    unchecked: str | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows that a change of many would reach. ``what`` names them; ``titles`` are the first few."""

    what: str
    ids: tuple[int, ...]
    types: dict[str, int]
    titles: tuple[tuple[int, str], ...]
    pinned: int = 0
    prompts: tuple[int, ...] = ()
    sessions: tuple[str, ...] = ()
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class BulkDone:
    """The result of changing many. ``unchanged`` were so already, or somebody deleted them meanwhile."""

    action: Literal["deleted", "updated"]
    what: str
    ids: tuple[int, ...]
    unchanged: int
    prompts: int = 0
    sessions: int = 0
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """A change that somebody made here: its ``kind``, how many things it changed, and the first of them by name.

    ``before`` and ``after`` are the projects of a move or merge, or the values of the one field that was changed.
    ``undone`` when it was taken back just now.
    """

    change: int
    made_at: str
    kind: str
    count: int
    ids: tuple[int, ...]
    named: tuple[str, ...]
    before: str = ""
    after: str = ""
    undone: bool = False
