"""The rows of a memory as JSON tells them: those of Engram, and our columns in the block ``engram_py``.

The models are lenient about missing fields and strict about types.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from engram_py.memory.observations.table import OWN_COLUMNS, OWN_SOMETIMES

_SHOWN_CHARS = 80

Status = Literal["pending", "judged", "orphaned", "ignored"]
Count = Annotated[int, Field(ge=-(2**53), le=2**53)]


class Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Times(Lenient):
    last_seen_at: str | None = None
    review_after: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    deleted_at: str | None = None


class SessionIn(Lenient):
    id: str
    project: str | None = None
    ownership_mode: str | None = None
    directory: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    summary: str | None = None


class ObservationIn(_Times):
    id: object = None
    sync_id: str | None = None
    session_id: str | None = None
    type: str | None = None
    title: str | None = None
    content: str | None = None
    tool_name: str | None = None
    project: str | None = None
    scope: str | None = None
    topic_key: str | None = None
    org: str | None = None
    revision_count: Count = 1
    duplicate_count: Count = 1
    pinned: bool = False


class PromptIn(Lenient):
    id: object = None
    sync_id: str | None = None
    session_id: str | None = None
    content: str | None = None
    project: str | None = None
    created_at: str | None = None


class RelationIn(Lenient):
    sync_id: str
    source_id: str
    target_id: str
    relation: str = "pending"
    reason: str | None = None
    evidence: str | None = None
    confidence: float | None = Field(default=None, ge=0, le=1)
    judgment_status: Status = "pending"
    project: str | None = None  # of an edge between entities
    marked_by_actor: str | None = None
    marked_by_kind: str | None = None
    marked_by_model: str | None = None
    session_id: str | None = None
    superseded_at: str | None = None
    superseded_by_relation_sync_id: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


_TEXTS: dict[str, Any] = {
    name: (str | None, None) for name, kind in (OWN_COLUMNS | OWN_SOMETIMES).items() if kind != "value"
}


class OwnObservation(create_model("OwnTexts", __base__=_Times, **_TEXTS)):  # type: ignore[misc]
    """The columns of an observation that Engram has no place for, and its times to the millisecond."""

    aliases: str | None = None
    origin: Literal["user", "agent", "derived", "import"] = "import"
    lifecycle: Literal["active", "historical", "archived"] = "active"
    salience: float = Field(default=0.5, allow_inf_nan=False)
    access_count: Count = 0
    last_accessed_at: str | None = None


class OwnSession(Lenient):
    agent: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    updated_at: str | None = None


class OwnRelation(Lenient):
    """The judgment of a relation whose row says orphaned, because one of its ends is not in the file."""

    judgment_status: Status


class OwnAnchor(Lenient):
    """A file of an observation. Path and hashes are checked before they are used."""

    path: str
    start_line: Count | None = None
    end_line: Count | None = None
    origin: str = "given"
    digest: str | None = None
    probe: str | None = None
    copies: Count = 1
    ordinal: Count = 0
    file_digest: str | None = None
    blob: str | None = None
    git_commit: str | None = None
    recorded_at: str | None = None


class PromptTombstoneIn(Lenient):
    sync_id: str
    session_id: str | None = None
    project: str | None = None
    deleted_at: str | None = None


class OwnVersion(Lenient):
    sync_id: str
    version: Count = 0
    title: str
    content: str
    created_at: str | None = None


class OwnTombstone(Lenient):
    entity: Literal["session", "observation", "prompt", "relation", "project", "alias"]
    entity_key: str
    project: str = ""
    session_id: str | None = None
    deleted_at: str | None = None


def first_problem(error: ValidationError) -> str:
    """Return the place and the message of the first thing that is wrong, without the value."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part)[:_SHOWN_CHARS] for part in first['loc'])}: {first['msg']}"
