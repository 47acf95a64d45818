"""Many observations at once: a list of them, what a change of many would reach, and what it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BulkDone:
    """What a change of many did. ``unchanged`` were so already, or somebody deleted them meanwhile."""

    action: Literal["deleted", "updated"]
    what: str
    ids: tuple[int, ...]
    unchanged: int
    prompts: int = 0
    sessions: int = 0
    warnings: tuple[str, ...] = ()
