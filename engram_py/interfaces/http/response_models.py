"""The rows of a memory as Engram's server shows them: its names, its times, nothing for what is not there."""

from __future__ import annotations

import sys
import typing
from types import GenericAlias, SimpleNamespace
from typing import Any, Self

from pydantic import create_model

from engram_py.interfaces.http.routing import Answer, MaybeTime, Time
from engram_py.observations.lookup import replacement
from engram_py.observations.values import Observation
from engram_py.recall.values import Hit
from engram_py.sessions.values import Prompt, SessionLine


def shown(value: type, names: str, /, doc: str = "", *, name: str = "", **kinds: Any) -> type[Answer]:
    """The answer that has the fields ``names`` of a value, as the value types them; times go out as Engram writes them.

    ``kinds`` are other types: a type, a model, ``[Model]`` for a list. ``name`` is that of the schema, by default the
    value's with Out.
    """
    chosen = names.split()
    annotations = {one: value.__annotations__[one] for one in chosen if one not in kinds}
    carrier = SimpleNamespace(__annotations__=annotations)
    kinds |= typing.get_type_hints(carrier, globalns=vars(sys.modules[value.__module__]))
    fields: dict[str, Any] = {one: _field(one, kinds[one], timed=one in annotations) for one in chosen}
    return create_model(name or f"{value.__name__}Out", __base__=Answer, __doc__=doc or None, **fields)


def _field(name: str, kind: Any, *, timed: bool) -> Any:
    if isinstance(kind, list):
        kind = GenericAlias(list, (*kind,))
    may_miss = kind is MaybeTime or type(None) in typing.get_args(kind)
    if timed and name.endswith("_at"):
        kind = MaybeTime if may_miss else Time
    return (kind, None) if may_miss else kind


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
    last_seen_at: MaybeTime = None
    pinned: bool
    state: str | None = None
    superseded_by: int | None = None
    review_after: MaybeTime = None
    created_at: Time
    updated_at: Time
    deleted_at: MaybeTime = None

    @classmethod
    def of(cls, value: object, **more: Any) -> Self:
        return super().of(value, **{"state": None} | more)  # an observation's own state depends on the day


class SearchHit(ObservationOut):
    """An observation that answers a question. The lower the rank, the better; ``score`` is 0 to 1."""

    rank: float
    score: float
    snippet: str

    @classmethod
    def found(cls, row: Observation, hit: Hit) -> Self:
        said = {"state": hit.state, "score": hit.score, "snippet": hit.snippet, "rank": -hit.score}
        return cls.of(row, superseded_by=replacement(hit.relations), **said)


class TimelineEntry(ObservationOut):
    is_focus: bool = False


PromptOut = shown(Prompt, "id sync_id session_id content project created_at")


class SessionOut(Answer):
    id: str
    project: str
    ownership_mode: str
    directory: str
    started_at: Time
    ended_at: MaybeTime = None
    summary: str | None = None


class SessionSummary(Answer):
    id: str
    project: str
    started_at: Time
    ended_at: MaybeTime = None
    summary: str | None = None
    observation_count: int
    last_activity_at: Time

    @classmethod
    def line(cls, row: SessionLine) -> Self:
        latest = row.last_activity_at or row.started_at
        return cls.of(row, observation_count=row.observations, last_activity_at=latest)
