"""The answers of routes: the values of a memory as Engram's server shows them, with its names and its times.

Notes on an answer go out in a header, because Engram's answers have no place for them: which parts of a request were
ignored, and what to know of a hit before it is believed.
"""

from __future__ import annotations

import json
import sys
import typing
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, reduce
from itertools import accumulate
from operator import or_
from pathlib import PurePosixPath
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, create_model

from engram_py.base.dataclass import is_dataclass, replace
from engram_py.base.reasons import Told
from engram_py.base.times import to_engram
from engram_py.interfaces.wording.reasons import spelled
from engram_py.interfaces.wording.relations import relation
from engram_py.memory.observations.arguments import clamp
from engram_py.memory.observations.values import AnchorState, Observation
from engram_py.memory.relations.table import replacement
from engram_py.memory.sessions.values import Session, SessionLine
from engram_py.recall.values import Hit

# A time as Engram writes it, one that may be missing, and a text that is empty where there is none.
Time = Annotated[str, BeforeValidator(lambda text: to_engram(text) or text)]
MaybeTime = Annotated[str | None, BeforeValidator(to_engram)]
Text = Annotated[str, BeforeValidator(lambda text: text or "")]
# A note, in words.
Spelled = Annotated[str, BeforeValidator(lambda told: spelled(told, "http"))]


class Answer(BaseModel):
    """A JSON object that goes out: a field that is None is left out, as Engram does."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True, from_attributes=True)

    @classmethod
    def of(cls, value: object, **more: Any) -> Self:
        """Return the answer that has ``more``, and in every other field what ``value`` holds under its name."""
        names = [name for name in cls.model_fields if name not in more and hasattr(value, name)]
        return cls.model_validate({name: getattr(value, name) for name in names} | more)


def answer_type(kind: Any) -> Any:
    """Return the type of an answer: a value class goes out whole, also in a list; ``[Class]`` is a list of such."""
    if isinstance(kind, list):
        return list[answer_type(kind[0])]  # type: ignore[misc]
    if kind == Told:
        return Spelled
    if isinstance(kind, type) and is_dataclass(kind):
        return whole(kind)
    inner = tuple(answer_type(one) for one in typing.get_args(kind))
    if inner == typing.get_args(kind):
        return kind
    origin: Any = typing.get_origin(kind)
    return reduce(or_, inner) if origin in (typing.Union, UnionType) else origin[inner]


@cache
def whole(value: type) -> type[Answer]:
    """Return the answer that has every field of a value."""
    return shown(value, " ".join(value.__annotations__))


def shown(value: type, names: str, /, *, name: str = "", **kinds: Any) -> type[Answer]:
    """Return the answer that has the fields ``names`` of a value, as the value types them.

    Values inside of it go out whole, times as Engram writes them. ``kinds`` are other types of fields. ``name`` is that
    of the schema, by default the value's with Out.
    """
    fields: dict[str, Any] = {}
    for one in names.split():
        kind = kinds[one] if one in kinds else _declared(value, one)
        may_miss = kind is MaybeTime or type(None) in typing.get_args(kind)
        fields[one] = (answer_type(kind), None) if may_miss else answer_type(kind)
    return create_model(name or f"{value.__name__}Out", __base__=Answer, __doc__=value.__doc__, **fields)


def _declared(value: type, name: str) -> Any:
    """Return the type of a field or property; a time is one as Engram writes it."""
    own = value.__annotations__.get(name) or getattr(value, name).fget.__annotations__["return"]
    carrier = SimpleNamespace(__annotations__={name: own})
    kind = typing.get_type_hints(carrier, globalns=vars(sys.modules[value.__module__]))[name]
    if name.endswith(("_at", "last_updated")):
        return MaybeTime if type(None) in typing.get_args(kind) else Time
    return kind


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


SessionOut = shown(Session, "id project ownership_mode directory started_at ended_at summary")
SessionSummary = shown(
    SessionLine,
    "id project started_at ended_at summary observation_count last_activity_at",
    name="SessionSummary",
    observation_count=int,
)


class DeletedOut(Answer):
    id: int
    status: str
    hard_delete: bool


# --- notes ----------------------------------------------------------------------------------------------------

HEADER = "X-Engram-Notes"
MOST_BYTES = 2_000
_NOTE_CHARS = 400
_LEAST_BYTES = 420  # what a note in English never needs more of
# Of an answer, of a hit, and letters of one name: the header holds 2,000 bytes, and other notes come first.
_MOST_HITS, _MOST_SAID, _NAME_CHARS = 8, 3, 60

Notes = list[str]


def in_words(told: Iterable[Told]) -> list[str]:
    return [spelled(one, "http") for one in told]


def limited(limit: int | None, default: int, most: int, notes: Notes) -> int:
    """Return how many to list: as asked for, or the default; a number above ``most`` is noted."""
    number, said = clamp("limit", limit or default, 1, most)
    notes += in_words(said)
    return number


def header(notes: Notes) -> dict[str, str]:
    """Return the header that carries ``notes`` as a JSON list in ASCII.

    Long notes are shortened to their share of the header; of too many the first ones are kept.
    """
    kept: list[str] = []
    room = MOST_BYTES - 2
    for number, note in enumerate(notes):
        told = " ".join(note.split())
        told = told if len(told) <= _NOTE_CHARS else told[: _NOTE_CHARS - 1] + "…"
        told = _cut(told, max(room // (len(notes) - number), _LEAST_BYTES))
        room -= _size(told)
        if room < 0:
            break
        kept.append(told)
    return {HEADER: json.dumps(kept)} if kept else {}


def _size(text: str) -> int:
    """Return the bytes of a note in the header, with the comma before the next: a letter that is not ASCII has six."""
    return len(json.dumps(text)) + 2


def _cut(text: str, most: int) -> str:
    if _size(text) <= most:
        return text
    ends = accumulate((len(json.dumps(letter)) - 2 for letter in text), initial=_size("…"))
    return text[: sum(end <= most for end in ends) - 1] + "…"


def hit_notes(hits: Sequence[Hit]) -> Notes:
    """Return a sentence for each hit with changed files or relations: ``#49: session.ts changed; supersedes #36``."""
    told = [f"#{hit.id}: {'; '.join(said)}" for hit in hits if (said := _shortened([*_said(hit)]))]
    more = len(told) - _MOST_HITS
    rest = [f"and {more} more with notes: response_format=json shows them"] if more > 0 else []
    return [*told[:_MOST_HITS], *rest]


def _said(hit: Hit) -> Iterator[str]:
    yield from (_file(state) for state in hit.anchors if state.state in ("changed", "moved", "gone"))
    yield from (_file(state) for state in hit.anchors if state.unreadable)
    if hit.branch:
        yield f"saved on branch {hit.branch[:_NAME_CHARS]}, which is not checked out"
    old = hit.instead_of
    if old is not None:
        yield f"replaced #{old.id}"
    if hit.lifecycle != "active":
        yield hit.lifecycle
    for note in hit.relations:
        if note.id not in (None, old and old.id) and not note.deleted:
            yield relation(replace(note, title="")).replace("[", "").replace("]", "")


def _file(state: AnchorState) -> str:
    from engram_py.interfaces.wording.phrases import anchor

    elsewhere = state.now_path not in (None, state.path)  # then it is named whole, and so is what it was
    name = state.path if elsewhere else PurePosixPath(state.path).name[:_NAME_CHARS]
    return f"{name} {anchor(state, with_path=False)}"


def _shortened(said: list[str]) -> list[str]:
    said = list(dict.fromkeys(said))
    more = len(said) - _MOST_SAID
    return [*said[:_MOST_SAID], *([f"and {more} more"] if more > 0 else [])]
