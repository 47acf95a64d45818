"""Relations between observations, lists and counts of them, earlier texts, and what replaced what."""

from __future__ import annotations

from engram_py.base.dataclass import dataclass

DUPLICATES = "duplicates"  # between two derived episodes, on this machine alone
VERBS = ("related", "compatible", "scoped", "conflicts_with", "supersedes", "not_conflict")


@dataclass(frozen=True, slots=True)
class Relation:
    """``source`` `relation` ``target``: endpoints are sync ids; ``sync_id`` is also the judgment id.

    ``source_observation`` and ``target_observation`` are the local ids of the ends; None for one that was destroyed.
    """

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
    source_observation: int | None
    source_title: str | None
    target_observation: int | None
    target_title: str | None


@dataclass(frozen=True, slots=True)
class RelationPage:
    """One page of the relations that pass the filters, ``total`` of them."""

    total: int
    limit: int
    offset: int
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class RelationStats:
    """The number of relations of each verb, and of each state."""

    by_relation: dict[str, int]
    by_judgment_status: dict[str, int]


@dataclass(frozen=True, slots=True)
class Scanned:
    """A page of observations whose titles were compared with older ones.

    ``candidates_found`` counts the pairs that look alike, ``already_related`` those that were asked about before.
    ``next_cursor`` continues after this page; None at the end and when the cap stopped the scan.
    """

    inspected: int
    candidates_found: int
    already_related: int
    inserted: int
    capped: bool
    dry_run: bool
    next_cursor: int | None


def pair_id(one: str, other: str) -> str:
    """Return ``rel-`` and 16 hex digits of both ends: two machines that relate the same pair make the same row."""
    import hashlib

    joined = "\n".join(sorted((one, other)))
    return "rel-" + hashlib.sha256(joined.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Version:
    """A text an observation had before."""

    version: int
    title: str
    content: str
    created_at: str
    unchecked: str | None = None


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
