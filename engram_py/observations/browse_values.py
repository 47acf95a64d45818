"""What is seen when a memory is looked through row by row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RelationLine:
    """A relation in a list; an end that was destroyed has no title and no id."""

    id: int
    sync_id: str
    relation: str
    judgment_status: str
    source_id: str
    source_title: str | None
    target_id: str
    target_title: str | None
    created_at: str
    updated_at: str
    source_observation: int | None
    target_observation: int | None


@dataclass(frozen=True, slots=True)
class RelationPage:
    """One page of the relations that pass the filters, ``total`` of them."""

    total: int
    limit: int
    offset: int
    relations: tuple[RelationLine, ...]


@dataclass(frozen=True, slots=True)
class RelationStats:
    """How many relations there are of each verb, and of each state."""

    by_relation: dict[str, int]
    by_judgment_status: dict[str, int]


@dataclass(frozen=True, slots=True)
class Scanned:
    """A page of observations whose titles were compared with older ones.

    ``candidates_found`` counts the pairs that look alike, ``already_related`` those that were asked about before.
    ``next_cursor`` goes on after this page, None at the end and when the cap stopped it.
    """

    inspected: int
    candidates_found: int
    already_related: int
    inserted: int
    capped: bool
    dry_run: bool
    next_cursor: int | None


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


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A topic key for a text, and the observation that holds it already, if one does."""

    topic_key: str
    existing_id: int | None
    existing_title: str | None
