"""A list as an answer: what it is a list of, its items, and what else should be said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Listing:
    """``name`` is the key of the items in JSON, as in ``{"projects": [...], "count": 2}``."""

    name: str
    items: tuple[Any, ...]
    warnings: tuple[str, ...] = ()
