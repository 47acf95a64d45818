"""What a new session is given to read, and the counts of the whole memory."""

from __future__ import annotations

from dataclasses import dataclass

from engram_py.models.observation import Observation
from engram_py.models.session import Prompt, SessionLine

# "More than a thousand" is all a reader needs to know; counting a million costs more than the rest.
MOST_COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class Context:
    """The sections of a session's start, each newest first; an empty one is left out when rendered.

    ``superseded`` says of pinned observations, by id, what replaced them. ``memories`` is how many the project
    sees, counted no further than a little over ``MOST_COUNTED``.
    """

    project: str
    project_source: str
    sessions: tuple[SessionLine, ...]
    prompts: tuple[Prompt, ...]
    pinned: tuple[Observation, ...]
    recent: tuple[Observation, ...]
    memories: int
    superseded: dict[int, str]
    compact: bool
    max_bytes: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of live rows; ``projects`` the most recently active first."""

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


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A topic key for a text, and the observation that holds it already, if one does."""

    topic_key: str
    existing_id: int | None
    existing_title: str | None
