"""The rows of a memory as Engram's server shows them: its names, its times, nothing for what is not there."""

from __future__ import annotations

from typing import Any

from engram_py.interfaces.http.routing import Answer
from engram_py.observations.lookup import replacement
from engram_py.observations.values import Observation
from engram_py.recall.values import Hit
from engram_py.sessions.values import Prompt, Session, SessionLine
from engram_py.times import to_engram


def spoken(text: str) -> str:
    """The same of a time that is always there."""
    return to_engram(text) or text


class ObservationOut(Answer):
    """``state`` is Engram's: needs_review or active. ``superseded_by`` is the id of what replaced it."""

    id: int
    sync_id: str
    session_id: str
    type: str
    title: str
    content: str
    tool_name: str | None = None
    project: str
    scope: str
    topic_key: str | None = None
    revision_count: int
    duplicate_count: int
    last_seen_at: str | None = None
    pinned: bool
    state: str | None = None
    superseded_by: int | None = None
    review_after: str | None = None
    created_at: str
    updated_at: str
    deleted_at: str | None = None


class SearchHit(ObservationOut):
    """An observation that answers a question. The lower the rank, the better; ``score`` is 0 to 1."""

    rank: float
    score: float
    snippet: str


class TimelineEntry(ObservationOut):
    is_focus: bool = False


class SessionOut(Answer):
    id: str
    project: str
    ownership_mode: str
    directory: str
    started_at: str
    ended_at: str | None = None
    summary: str | None = None


class SessionSummary(Answer):
    id: str
    project: str
    started_at: str
    ended_at: str | None = None
    summary: str | None = None
    observation_count: int
    last_activity_at: str


class PromptOut(Answer):
    id: int
    sync_id: str
    session_id: str
    content: str
    project: str
    created_at: str


def observation(row: Observation, replaced: int | None = None) -> ObservationOut:
    return ObservationOut(**_values(row), superseded_by=replaced)


def entry(row: Observation, replaced: int | None = None) -> TimelineEntry:
    return TimelineEntry(**_values(row), superseded_by=replaced)


def hit(row: Observation, found: Hit) -> SearchHit:
    values = {**_values(row), "state": found.state, "superseded_by": replacement(found.relations)}
    return SearchHit(**values, rank=-found.score, score=found.score, snippet=found.snippet)


def session(row: Session) -> SessionOut:
    return SessionOut(
        id=row.id,
        project=row.project,
        ownership_mode=row.ownership_mode,
        directory=row.directory,
        started_at=spoken(row.started_at),
        ended_at=to_engram(row.ended_at),
        summary=row.summary,
    )


def session_line(row: SessionLine) -> SessionSummary:
    return SessionSummary(
        id=row.id,
        project=row.project,
        started_at=spoken(row.started_at),
        ended_at=to_engram(row.ended_at),
        summary=row.summary,
        observation_count=row.observations,
        last_activity_at=spoken(row.last_activity_at or row.started_at),
    )


def prompt(row: Prompt) -> PromptOut:
    return PromptOut(
        id=row.id,
        sync_id=row.sync_id,
        session_id=row.session_id,
        content=row.content,
        project=row.project,
        created_at=spoken(row.created_at),
    )


_AS_THEY_ARE = (
    "id", "sync_id", "session_id", "type", "title", "content", "tool_name", "project", "scope", "topic_key",
    "revision_count", "duplicate_count", "pinned",
)  # fmt: skip
_MOMENTS = ("last_seen_at", "review_after", "created_at", "updated_at", "deleted_at")


def _values(row: Observation) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(row, name) for name in _AS_THEY_ARE}
    return values | {name: to_engram(getattr(row, name)) for name in _MOMENTS}
