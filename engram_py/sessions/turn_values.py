"""One raw message of a conversation, and what is known of the memories that were shown in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said. ``key`` names the message within its session; ``position`` orders it in its transcript.

    ``agent`` is the subagent that spoke, empty for the main one; ``said_at`` is None where the transcript has no time.
    """

    role: Role
    content: str
    key: str
    position: int = 0
    agent: str = ""
    said_at: str | None = None


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """A turn as it is kept; ``read_at`` is when a hook read it."""

    session_id: str
    project: str
    role: Role
    agent: str
    content: str
    said_at: str | None
    read_at: str


@dataclass(frozen=True, slots=True)
class TranscriptRead:
    """What one look into a transcript found: the turns that are new, and whether more of it waits for the next look.

    ``skipped`` is how many bytes of its beginning were never read.
    """

    turns: tuple[Turn, ...]
    added: int
    cited: int
    bytes_read: int
    more: bool = False
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Tally:
    """In how many sessions an observation was given unasked, and in how many it was cited."""

    injected: int = 0
    cited: int = 0
