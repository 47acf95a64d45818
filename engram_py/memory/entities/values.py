"""Entities as answers (one of a list, one with what is known of it, what a pass did), and edges between them: how one
is named, kept and walked; refusals.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import InvalidArgumentError, InvalidInputError
from engram_py.base.lazy import regex
from engram_py.base.reasons import Told
from engram_py.memory.observations.listing import Fact

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
    warnings: tuple[Told, ...] = ()


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
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class Reached:
    """An entity that edges lead to: in how many steps, and by which."""

    slug: str
    name: str
    depth: int
    path: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """The entities at most ``depth`` steps from one, the nearest first."""

    slug: str
    depth: int
    reached: tuple[Reached, ...]
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class Linked:
    """An edge that was kept, and what became of the fact that says so."""

    edge: Edge
    outcome: str
    sync_id: str
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityChanged:
    """The change of an entity: its aliases, merged, archived, restored, unchanged."""

    slug: str
    id: int
    done: str
    aliases: tuple[str, ...] = ()
    merged: str | None = None
    warnings: tuple[Told, ...] = ()


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


class EntityRefusedError(InvalidInputError):
    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason, hint=hint)


PREDICATE = regex(r"[a-z][a-z0-9_]{0,63}")
END = "entity:"
_MOST_REACHED = 200


def predicate_of(text: str) -> str:
    """Return a predicate as it is. Raises InvalidArgumentError where it is not snake_case."""
    if not PREDICATE.fullmatch(text):
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+", "_", text.strip()).lower()
        example = snake if PREDICATE.fullmatch(snake) else "works_at"
        raise InvalidArgumentError("predicate", text, expected=f"snake_case of at most 64 characters, as in {example}")
    from engram_py.base.capture.redact import refuse_secret  # only where one is made

    refuse_secret("predicate", text)
    return text


def is_edge(source: str, predicate: str, target: str) -> bool:
    """Return whether a relation from elsewhere is an edge between two entities."""
    if not (source.startswith(END) and target.startswith(END) and PREDICATE.fullmatch(predicate)):
        return False
    from engram_py.base.capture.redact import redact

    return not redact(predicate).count


def edge_values(project: str, scope: str, subject: str, predicate: str, object: str) -> dict[str, Any]:
    """Return the columns of an edge. Its id is made of its words: two machines that say the same make the same row."""
    import hashlib

    ends = (f"{END}{subject}", f"{END}{object}")
    digest = hashlib.sha256("\n".join((project, scope, ends[0], predicate, ends[1])).encode()).hexdigest()[:16]
    values = {"sync_id": f"rel-{digest}", "source_id": ends[0], "target_id": ends[1], "relation": predicate}
    return values | {"judgment_status": "judged", "project": project}


def walk(start: str, edges: Iterable[Edge], names: Mapping[str, str], *, depth: int) -> tuple[Reached, ...]:
    """Return the entities that edges lead to, whichever way they point, the nearest first."""
    at = defaultdict(list)
    for edge in edges:
        at[edge.subject].append((edge.object, edge))
        at[edge.object].append((edge.subject, edge))
    reached: dict[str, Reached] = {}
    paths: dict[str, tuple[Edge, ...]] = {start: ()}
    for step in range(1, depth + 1):
        further: dict[str, tuple[Edge, ...]] = {}
        for slug, path in paths.items():
            for other, edge in at[slug]:
                if other != start and other not in reached and len(reached) < _MOST_REACHED:
                    further[other] = (*path, edge)
                    reached[other] = Reached(other, names.get(other, other), step, further[other])
        paths = further
    return tuple(reached.values())
