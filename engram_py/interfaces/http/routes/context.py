"""Routes of what a session is given: timeline, context, reviews, topic keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from engram_py.app import Engram
from engram_py.context.session import PINNED, PROMPTS, RECENT, SESSIONS
from engram_py.context.values import Context, Item, OwnFile, Section
from engram_py.dataclass import asdict, replace
from engram_py.errors import EmptyFieldError, InvalidArgumentError
from engram_py.interfaces.http.admission import is_given_personal, is_personal
from engram_py.interfaces.http.answers import Answer, MaybeTime, ObservationOut, SessionOut, TimelineEntry, shown
from engram_py.interfaces.http.notes import Notes
from engram_py.interfaces.http.parameters import Id, Listed, Most, Needed, Projects, Switch, Whole, selected
from engram_py.interfaces.http.routing import operation
from engram_py.interfaces.wording import render
from engram_py.observations.errors import ObservationNotFoundError
from engram_py.observations.listing import Suggestion
from engram_py.observations.values import Neighbour, Observation, Timeline
from engram_py.sessions.errors import SessionNotFoundError

NOTHING = "nothing here is near enough; GET /search asks directly"
# The name of each section of a context → its parameter in an address, and how much of it there is at most.
SECTIONS = {
    "recent": ("observations", RECENT),
    "prompts": ("prompts", PROMPTS),
    "sessions": ("sessions", SESSIONS),
    "pinned": ("pinned", PINNED),
}

Length = Annotated[Whole, Field(description="Most of them; below 0: none.")]

TimelineOut = shown(
    Timeline,
    "focus before after session_info total_in_range",
    focus=ObservationOut,
    before=[TimelineEntry],
    after=[TimelineEntry],
    session_info=SessionOut | None,
    total_in_range=int,
)
ReviewOut = shown(
    Observation, "id sync_id title type state project review_after", name="ReviewOut", state=str, review_after=MaybeTime
)


class ContextOut(Answer):
    context: str


class ReviewList(Answer):
    observations: list[ReviewOut]  # type: ignore[valid-type]
    count: int


@operation("GET", "/timeline", TimelineOut, errors=(404,))
def timeline(
    app: Engram,
    observation_id: Annotated[Id, Field(description="What to look around.")],
    notes: Notes,
    before: Annotated[Whole, Field(description="How many before it; default 5.")] = None,
    after: Annotated[Whole, Field(description="How many after it; default 5.")] = None,
    project: Annotated[str | None, Field(description="Refuse an observation of another project.")] = None,
) -> object:
    """What was saved around an observation in its session, oldest first."""
    before, after = (5 if one is None else one for one in (before, after))
    found = app.observations.timeline(observation_id, before=before, after=after)
    if project is not None and found.focus.project != app.projects.existing(project):
        raise ObservationNotFoundError(observation_id)
    notes += found.warnings
    rows = {row.id: row for row in app.browsing.whole([one.id for one in (*found.before, *found.after)])}
    replaced = app.browsing.replacements([found.focus, *rows.values()])

    def entries(lines: Sequence[Neighbour]) -> list[TimelineEntry]:
        shown = [rows[one.id] for one in lines if one.id in rows]
        return [TimelineEntry.of(row, superseded_by=replaced.get(row.id)) for row in shown]

    return TimelineOut.of(
        found,
        focus=ObservationOut.of(found.focus, superseded_by=replaced.get(found.focus.id)),
        before=entries(found.before),
        after=entries(found.after),
        session_info=_session_of(app, found.session_id),
        total_in_range=found.total_in_session,
    )


@operation("GET", "/context", ContextOut, errors=(404, 409))
def context(
    app: Engram,
    projects: Projects,
    notes: Notes,
    scope: Annotated[str | None, Field(description="project, personal or global.")] = None,
    observations: Length = None,
    prompts: Length = None,
    sessions: Length = None,
    pinned: Length = None,
    compact: Annotated[Switch, Field(description="Titles only.")] = None,
    max_bytes: Annotated[Most, Field(description="Of the whole text; default: the project's budget.")] = None,
    query: Annotated[str | None, Field(description="A prompt: only what it needs.")] = None,
    mode: Annotated[str | None, Field(description="session, query, cascade or full.")] = None,
) -> object:
    """What a new session should know, as text; the empty text when there is nothing."""
    where = selected(app, projects)
    made = app.contexts.assemble(
        where.named,
        all_projects=where.all_projects,
        scope=scope,
        max_bytes=max_bytes,
        compact=bool(compact),
        query=query,
        mode=mode,
    )
    lengths = {"recent": observations, "prompts": prompts, "sessions": sessions, "pinned": pinned}
    text = _text(app, _limited(made, lengths, notes))
    if not any(section.items for section in made.sections):
        notes.append(render.text(made, now=app.journal.moment()) or NOTHING)
    return ContextOut(context=text)


@operation("GET", "/context/compaction", ContextOut, errors=(404,))
def compaction_context(
    app: Engram, session_id: Annotated[Needed, Field(description="The session that goes on.")]
) -> object:
    """What one session has kept so far, for the same session after its host compacted it."""
    return ContextOut(context=_text(app, app.session_memory.own(session_id)))


@operation("GET", "/review", ReviewList, errors=(404, 409))
def review(app: Engram, listed: Listed, notes: Notes) -> object:
    """What is due for review, the longest overdue first, then what changed files stand behind."""
    where = selected(app, listed)
    due = app.observations.due_for_review(where.named, all_projects=where.all_projects, limit=listed.limit or 10)
    notes += due.warnings
    rows = app.browsing.whole([one.id for one in due.items])
    found = [ReviewOut.of(row, state="needs_review") for row in rows]
    return ReviewList(observations=found, count=len(found))


@operation("POST", "/review/mark_reviewed", ReviewOut, errors=(404,))
def mark_reviewed(app: Engram, observation_id: int | None = None, id: int | None = None) -> object:
    """Confirm that an observation still holds; the next review date follows from its type."""
    number = observation_id or id
    if not number:
        raise InvalidArgumentError("observation_id", number, expected="given")
    app.observations.mark_reviewed(number)
    [row] = app.browsing.whole([number])
    return ReviewOut.of(row, state=row.state(app.journal.moment()))


@operation("POST", "/topic-keys/suggest", Suggestion, errors=(409,))
def suggest_topic_key(app: Engram, type: str = "", title: str = "", content: str = "") -> object:
    """A stable topic key for a text to come, and what holds it already."""
    if not title.strip() and not content.strip():
        raise EmptyFieldError("title")
    return app.contexts.suggest_topic(type=type, title=title, content=content)


def _session_of(app: Engram, session_id: str) -> Answer | None:
    try:
        return SessionOut.of(app.sessions.get(session_id))
    except SessionNotFoundError:
        return None


def _limited(made: Context, lengths: Mapping[str, int | None], notes: Notes) -> Context:
    """Return a context with each of Engram's sections as long as was asked for; below zero it is left out."""
    for name, (parameter, most) in SECTIONS.items():
        length = lengths[name]
        if length is not None and made.mode != "session":
            notes.append(f"{parameter} belongs to mode session; in mode {made.mode} it was ignored")
        elif (length or 0) > most:
            notes.append(f"{parameter} {length} is more than a context holds; used {most}")
    if made.mode != "session":
        return made
    return replace(made, sections=tuple(_cut(section, lengths.get(section.name)) for section in made.sections))


def _without_personal(made: Context) -> Context:
    """Return a context without rows that are personal and files of the vault."""

    def shown(item: Item) -> bool:
        return not (isinstance(item, OwnFile) or (isinstance(item, Observation) and is_personal(asdict(item))))

    sections = tuple(replace(one, items=tuple(filter(shown, one.items))) for one in made.sections)
    saved = {name: tuple(filter(shown, rows)) for name, rows in made.remarks.saved.items()}
    return replace(made, sections=sections, remarks=replace(made.remarks, saved=saved))


def _cut(section: Section, most: int | None) -> Section:
    if not most:
        return section
    return replace(section, items=section.items[: max(0, most)])


def _text(app: Engram, made: Context) -> str:
    made = made if is_given_personal() else _without_personal(made)
    if not any(section.items for section in made.sections):
        return ""
    return render.text(made, now=app.journal.moment())
