"""What the memory costs an agent, in tokens: a token is taken to be four bytes."""

from __future__ import annotations

from typing import Literal

from engram_py.dataclass import dataclass

Door = Literal["hook", "mcp", "http"]

BYTES_PER_TOKEN = 4


def tokens_of(size: int) -> int:
    """Return the tokens of ``size`` bytes, a begun one included."""
    return -(-size // BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class DoorCost:
    """What one tool, event of a hook or route has answered."""

    door: Door
    name: str
    calls: int
    bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class SessionCost:
    """What one session was given; ``project`` is empty where none was known, ``day`` is its last."""

    id: str
    project: str
    day: str
    calls: int
    bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Share:
    """Some observations, and what showing them took."""

    observations: int
    bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class ProfileCost:
    """What a profile of tools takes of every session, before anything is asked: schemas and the instructions."""

    profile: str
    tools: int
    schema_bytes: int
    instruction_bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What models that summarize sessions said they took, in how many runs of the last 30 days."""

    runs: int
    tokens: int
    dollars: float


@dataclass(frozen=True, slots=True)
class Cost:
    """What was counted: of one session, one project or all of them, since the day ``since`` or ever.

    ``cited`` and ``never_used`` are None where no transcript was read: what was cited there, nobody knows.
    ``sessions`` are the dearest of ``session_count``. ``models`` is None where none said what it took, and for one
    session or project: it is counted by the run.
    """

    session_id: str | None
    project: str | None
    since: str | None
    doors: tuple[DoorCost, ...]
    sessions: tuple[SessionCost, ...]
    session_count: int
    injected: Share
    recalled: Share
    cited: Share | None
    never_used: Share | None
    profiles: tuple[ProfileCost, ...] = ()
    models: ModelCost | None = None
    warnings: tuple[str, ...] = ()
