"""Observations: what is offered (a draft), what is kept, and what a save decided."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Protocol

from engram_py.base.dataclass import dataclass
from engram_py.base.reasons import Reason, Told
from engram_py.base.times import parse_time

Scope = Literal["project", "personal", "global"]
AnchorWord = Literal["fresh", "changed", "moved", "gone", "unknown"]
BROUGHT = ("import", "derived")
Origin = Literal["user", "agent", "derived", "import"]
Editor = Literal["person", "agent", "upkeep"]
Outcome = Literal["added", "updated", "duplicate", "deduped", "superseded"]
ChangeOutcome = Literal[
    "updated", "unchanged", "pinned", "unpinned", "reviewed", "accepted", "unaccepted", "deleted", "destroyed",
    "restored",
]  # fmt: skip

SCOPES: tuple[Scope, ...] = ("project", "personal", "global")

TYPES = (  # suggested, not enforced: `type` is free text
    "decision", "bugfix", "pattern", "discovery", "learning", "architecture", "config", "preference", "policy", "fact",
    "note", "identity", "session_summary", "passive", "manual",
)  # fmt: skip

DEFAULT_TYPE = "manual"  # says nothing of a row
# Before the name of a distiller, in the column that names a row's tool.
DISTILLER = "distill-"

# Months until a kind of knowledge should be looked at again (Engram: spec/engram-behaviour.md 1.5).
REVIEW_MONTHS = {"decision": 6, "policy": 12, "preference": 3}

CONTENT_LIMIT_BYTES, TITLE_LIMIT_CHARS = 50_000, 1_000
MOST_COUNTED = 1_000  # "more than a thousand" is all a reader needs to know; counting a million takes long


class Row(Protocol):
    """A row as SQLite gives it."""

    def __getitem__(self, places: slice, /) -> tuple[Any, ...]: ...


@dataclass(frozen=True, slots=True)
class Draft:
    """An observation somebody offers, before the store gives it an identity.

    ``scope`` None takes the project's default. ``operation_id`` makes a repeated save answer what the first one did.
    ``aliases`` are other words somebody may search by. ``files`` are those it is about, as ``path``, ``path:line`` or
    ``path:start-end``; those its **Where** line names count as well. ``about`` is the entity of a fact, ``entity_kind``
    what an entity is. ``category``, ``source`` and ``source_ref`` are said beside a fact, ``said_at`` is when it held
    first, as UTC text."""

    title: str
    content: str
    type: str = DEFAULT_TYPE
    scope: str | None = None
    topic_key: str | None = None
    aliases: tuple[str, ...] = ()
    tool_name: str | None = None
    origin: Origin = "agent"
    operation_id: str | None = None
    files: tuple[str, ...] = ()
    about: str | None = None
    entity_kind: str | None = None
    category: str | None = None
    source: str | None = None
    source_ref: str | None = None
    said_at: str | None = None


@dataclass(slots=True)  # frozen, it would take three times as long to make, and a search makes forty
class Observation:
    """One durable thing worth keeping, as the store holds it. Times are UTC text.

    ``unchecked`` is None of what may be given, else the source and its author's name, on two lines; ``author`` is None
    of the user's own, else the name of who wrote it. ``pinned`` is the user's own pin."""

    id: int
    sync_id: str
    session_id: str
    project: str
    scope: Scope
    type: str
    title: str
    content: str
    topic_key: str | None
    aliases: str
    tool_name: str | None
    origin: Origin
    lifecycle: str
    pinned: bool
    salience: float
    access_count: int
    last_accessed_at: str | None
    review_after: str | None
    expires_at: str | None
    git_branch: str | None
    git_commit: str | None
    revision_count: int
    duplicate_count: int
    last_seen_at: str | None
    created_at: str
    updated_at: str
    deleted_at: str | None
    about: str | None = None
    entity_kind: str | None = None
    category: str | None = None
    source: str | None = None
    source_ref: str | None = None
    unchecked: str | None = None
    author: str | None = None

    @classmethod
    def from_row(cls, row: Row) -> Observation:
        """Of a row that begins with OBSERVATION_COLUMNS. By place: a name is looked for among all of them each time."""
        values = list(row[: len(OBSERVATION_COLUMNS)])
        values[_PINNED] = bool(values[_PINNED])
        return cls(*values)

    @property
    def group(self) -> str:
        """The session: what was saved in it has one subject."""
        return self.session_id

    @property
    def is_summary(self) -> bool:
        """Whether it is a session's summary, whose title and headings are a template's."""
        return self.type == "session_summary"

    def shared_with(self, answer: Any) -> dict[str, Any]:
        """Return the values, by name, of the columns that another dataclass has as fields, too."""
        return {name: getattr(self, name) for name in OBSERVATION_COLUMNS if name in answer.__dataclass_fields__}

    def state(self, now: datetime) -> str:
        """``needs_review`` once its review date has come, else ``active``."""
        due = parse_time(self.review_after)
        return "needs_review" if due is not None and due <= now else "active"


OBSERVATION_COLUMNS = Observation.__match_args__
_PINNED = OBSERVATION_COLUMNS.index("pinned")


@dataclass(frozen=True, slots=True)
class Change:
    """A partial update: None leaves a field as it is. ``find``/``replace`` edits the content in place.
    ``expires_at`` is a date, a time or ``never``."""

    title: str | None = None
    content: str | None = None
    type: str | None = None
    scope: str | None = None
    topic_key: str | None = None
    find: str | None = None
    replace: str | None = None
    archived: bool | None = None
    salience: float | None = None
    expires_at: str | None = None


# The fields that a person edits in a form or a file.
EDITED: tuple[str, ...] = tuple(name for name in Change.__match_args__ if name in Draft.__match_args__)


@dataclass(frozen=True, slots=True)
class TruncatedContent:
    """The part of an over-long content that was kept, in bytes of UTF-8."""

    original_bytes: int
    stored_bytes: int
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """An older observation that may say the same or the opposite; ``judgment_id`` is what a verdict names."""

    id: int
    sync_id: str
    title: str
    type: str
    topic_key: str | None
    score: float
    judgment_id: str


@dataclass(frozen=True, slots=True)
class RelationNote:
    """A relation as seen from one observation: ``supersedes #4 (title)``."""

    label: str
    id: int | None
    title: str
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Saved:
    """The outcome of a save, and everything its caller should be told."""

    outcome: Outcome
    id: int
    sync_id: str
    title: str
    type: str
    scope: Scope
    topic_key: str | None
    project: str
    project_source: str
    project_path: str
    session_id: str
    revision_count: int
    duplicate_count: int
    state: str
    review_after: str | None
    suggested_topic_key: str | None = None
    topic_holder: int | None = None  # what holds the suggested topic already
    truncation: TruncatedContent | None = None
    redacted: int = 0
    candidates: tuple[Candidate, ...] = ()
    warnings: tuple[Told, ...] = ()
    replayed: bool = False
    # Of a fact: the entity, the older facts it replaces, and how alike the one is that says it already.
    about: str | None = None
    replaced: tuple[RelationNote, ...] = ()
    likeness: float | None = None

    @property
    def judgment_required(self) -> bool:
        return bool(self.candidates)


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of an observation, and how it reads since; ``unchanged`` where it said so already.

    ``changed`` names the columns of an update. ``before`` and ``arrival`` are what an accepted one counted as, to take
    the acceptance back.
    """

    outcome: ChangeOutcome
    id: int
    sync_id: str
    title: str
    type: str
    scope: Scope
    topic_key: str | None
    project: str
    revision_count: int
    pinned: bool
    origin: Origin
    review_after: str | None
    changed: tuple[str, ...] = ()
    before: Origin | None = None
    arrival: int | None = None
    relations_orphaned: int = 0
    truncation: TruncatedContent | None = None
    redacted: int = 0
    warnings: tuple[Told, ...] = ()

    @classmethod
    def of(cls, outcome: ChangeOutcome, row: Observation, **facts: Any) -> Changed:
        """Return the change of ``row``; ``facts`` are what the row itself does not say."""
        return cls(outcome, **(row.shared_with(cls) | facts))

    @property
    def hard(self) -> bool:
        """Whether nothing is left of it."""
        return self.outcome == "destroyed"


@dataclass(frozen=True, slots=True)
class Detail:
    """One observation whole, with what is related to it, what became of the files it is about and, when asked for,
    older texts newest first."""

    observation: Observation
    state: str
    relations: tuple[RelationNote, ...] = ()
    versions: tuple[Version, ...] = ()
    version_total: int = 0
    line: tuple[Replacement, ...] = ()
    next_cursor: int | None = None
    warnings: tuple[Told, ...] = ()
    anchors: tuple[AnchorState, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    id: int
    type: str
    title: str
    created_at: str
    unchecked: str | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """An observation between its neighbours of the same session, oldest first."""

    focus: Observation
    before: tuple[Neighbour, ...]
    after: tuple[Neighbour, ...]
    session_id: str
    session_started_at: str
    total_in_session: int
    warnings: tuple[Told, ...] = ()


# Why nothing is known of a file that have nothing to do with the file.
_NOT_OF_THE_FILE = ("not_in_repository", "saved_outside", "not_read", "only_on_branch")


@dataclass(frozen=True, slots=True)
class AnchorState:
    """The state of one anchor. ``now_path`` and its lines are where the text stands now, when that is elsewhere.

    ``commits_ago`` counts the commits since the one that changed it (0: HEAD itself did); None with ``uncommitted``,
    or when git could not say. ``reason`` is why the state is unknown.
    """

    path: str
    start: int | None
    end: int | None
    state: AnchorWord
    now_path: str | None = None
    now_start: int | None = None
    now_end: int | None = None
    commits_ago: int | None = None
    author: str | None = None
    commit: str | None = None
    uncommitted: bool = False
    reason: Reason | None = None

    @property
    def stale(self) -> bool:
        """Whether the observation may no longer be true: the text it was about is not there any more."""
        return self.state in ("changed", "gone")

    @property
    def unreadable(self) -> bool:
        """Whether the file cannot be compared because of the file itself."""
        return self.state == "unknown" and self.reason is not None and self.reason.name not in _NOT_OF_THE_FILE

    @property
    def elsewhere(self) -> bool:
        """Whether the text is on a branch that is not in the history of HEAD: it was never taken away here."""
        return self.state == "unknown" and self.reason is not None and self.reason.name == "only_on_branch"


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


def is_withheld(row: Observation) -> bool:
    """Return whether an observation is never given unasked: another wrote it, and it reads like an order."""
    if not row.unchecked and row.origin not in BROUGHT:
        return False
    from engram_py.base.capture.orders import reads_like_an_order  # few processes are given anything of somebody else

    return reads_like_an_order(row.title, row.content)


def chosen_lifecycle(lifecycle: str) -> str:
    """Return the lifecycle that travels: ``active`` or ``archived``.

    ``historical`` follows from the verdicts, so each replica derives it.
    """
    return "active" if lifecycle == "historical" else lifecycle
