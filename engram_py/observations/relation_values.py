"""Relations between observations, the verdicts on them, earlier texts, and what replaced what."""

from __future__ import annotations

import hashlib

from engram_py.dataclass import dataclass

VERBS = ("related", "compatible", "scoped", "conflicts_with", "supersedes", "not_conflict")


@dataclass(frozen=True, slots=True)
class Relation:
    """``source`` `relation` ``target``: endpoints are sync ids; ``sync_id`` is also the judgment id."""

    id: int
    sync_id: str
    source_id: str
    target_id: str
    relation: str
    reason: str | None
    evidence: str | None
    confidence: float | None
    judgment_status: str
    marked_by_actor: str | None
    marked_by_kind: str | None
    marked_by_model: str | None
    session_id: str | None
    project: str
    superseded_at: str | None
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Judged:
    relation: Relation
    source_observation: int | None
    source_title: str
    target_observation: int | None
    target_title: str


def pair_id(one: str, other: str) -> str:
    """``rel-`` and 16 hex digits made of both ends: two machines that relate the same pair make the same row."""
    joined = "\n".join(sorted((one, other)))
    return "rel-" + hashlib.sha256(joined.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Version:
    """A text an observation had before."""

    version: int
    title: str
    content: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Replacement:
    """A verdict on the line of an observation: which replaced which, when and why, and what the older one says."""

    at: str
    reason: str | None
    newer: int
    newer_title: str
    older: int
    older_title: str
    older_content: str
