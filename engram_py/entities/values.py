"""Entities as answers: one of a list, one with what is known of it, a walk over its edges, and what a pass did."""

from __future__ import annotations

from engram_py.dataclass import dataclass
from engram_py.observations.listing import Fact

TOPIC = "entity/"
TYPE = "entity"
SLUG_CHARS = 113  # a topic key has 120
ENOUGH_MENTIONS = 3
MOST_DEPTH = 4


@dataclass(frozen=True, slots=True)
class EntityLine:
    """An entity in a list. ``state`` is active, archived or candidate: mentioned, but too little is known of it.

    ``id`` is its own row, None while nothing was written of it; ``mentions`` how many rows and sessions name it, as
    this machine counts.
    """

    slug: str
    name: str
    kind: str | None
    state: str
    id: int | None
    aliases: tuple[str, ...]
    facts: int
    mentions: int
    has_summary: bool
    last_updated: str | None


@dataclass(frozen=True, slots=True)
class EntityList:
    """The entities of a project, by slug; ``without_summary`` counts those nobody summarized."""

    entities: tuple[EntityLine, ...]
    without_summary: int
    project: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """``subject`` `predicate` ``object``, as ``fact`` says."""

    subject: str
    predicate: str
    object: str
    fact: int
    said: str


@dataclass(frozen=True, slots=True)
class Mention:
    """An observation that names the entity."""

    id: int
    type: str
    title: str
    created_at: str


@dataclass(frozen=True, slots=True)
class EntityDetail:
    """One entity with its summary, its facts, its edges, and the rows that mention it, the latest first."""

    entity: EntityLine
    summary: str
    facts: tuple[Fact, ...]
    edges: tuple[Edge, ...]
    mentioned: tuple[Mention, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reached:
    """An entity that edges lead to: in how many steps, and by which."""

    slug: str
    name: str
    depth: int
    path: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """What is ``depth`` steps from an entity or nearer, the nearest first."""

    slug: str
    depth: int
    reached: tuple[Reached, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Linked:
    """An edge that was kept, and what became of the fact that says so."""

    edge: Edge
    outcome: str
    sync_id: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityChanged:
    """What was done to an entity: its aliases, merged, archived, restored, unchanged."""

    slug: str
    id: int
    done: str
    aliases: tuple[str, ...] = ()
    merged: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Counted:
    """A pass over what was said since the last one; ``done`` is False where the time ran out."""

    rows: int
    mentions: int
    promoted: int
    done: bool


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A pass over the entities that have facts; ``done`` is False where the time ran out."""

    entities: int
    written: int
    superseded: int
    shortened: int
    done: bool
