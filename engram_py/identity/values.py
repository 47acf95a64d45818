"""What is known of the person: statements that hold always, and their profile."""

from __future__ import annotations

from engram_py.dataclass import dataclass
from engram_py.observations.values import Scope

# Every context shows every statement whole.
LONGEST_CHARS = 500
PROFILE = "identity/profile"


@dataclass(frozen=True, slots=True)
class Statement:
    """What the person wants to hold always, everywhere or (``scope`` project) in one project. ``said_at`` is UTC."""

    id: int
    text: str
    scope: Scope
    project: str
    origin: str
    said_at: str


@dataclass(frozen=True, slots=True)
class Profile:
    """The person in a few lines; ``scope`` project: how to work with them there. ``id`` is None where there is none,
    ``origin`` is ``derived`` for one that upkeep writes, which it rewrites until somebody else does."""

    id: int | None
    text: str
    scope: Scope
    project: str
    origin: str
    written_at: str
    warnings: tuple[str, ...] = ()
