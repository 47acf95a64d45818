"""Finding again: timeline, context, reviews, topic keys. Search is in ``routes_search``."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from engram_py.app import Engram
from engram_py.context.session import PINNED, PROMPTS, RECENT, SESSIONS
from engram_py.context.values import Context, Section
from engram_py.dataclass import replace
from engram_py.errors import EmptyFieldError, InvalidArgumentError
from engram_py.interfaces.http.request_project import CwdQuery, ProjectQuery, selected
from engram_py.interfaces.http.response_models import ObservationOut, SessionOut, TimelineEntry, shown
from engram_py.interfaces.http.response_notes import Notes
from engram_py.interfaces.http.routes_sessions import ListQuery
from engram_py.interfaces.http.routing import Answer, Body, Id, MaybeTime, Most, Needed, Query, Switch, Whole, operation
from engram_py.interfaces.wording import render
from engram_py.observations.errors import ObservationNotFoundError
from engram_py.observations.listing import Suggestion
from engram_py.observations.values import Neighbour
from engram_py.sessions.errors import SessionNotFoundError

NOTHING = "nothing here is near enough; GET /search asks directly"
# What each section of a context is called in an address, and how much of it there is at most.
SECTIONS = {
    "recent": ("observations", RECENT),
    "prompts": ("prompts", PROMPTS),
    "sessions": ("sessions", SESSIONS),
    "pinned": ("pinned", PINNED),
}


class TimelineQuery(CwdQuery):
    observation_id: Id = Field(description="What to look around.")
    before: Whole = Field(default=None, description="How many before it; default 5.")
    after: Whole = Field(default=None, description="How many after it; default 5.")
    project: str | None = Field(default=None, description="Refuse an observation of another project.")


class ContextQuery(ProjectQuery):
    scope: str | None = Field(default=None, description="project, personal or global.")
    observations: Whole = Field(default=None, description="Most of them; below 0: none.")
    prompts: Whole = Field(default=None, description="Most of them; below 0: none.")
    sessions: Whole = Field(default=None, description="Most of them; below 0: none.")
    pinned: Whole = Field(default=None, description="Most of them; below 0: none.")
    compact: Switch = Field(default=None, description="Titles only.")
    max_bytes: Most = Field(default=None, description="Of the whole text; default: the project's budget.")
    query: str | None = Field(default=None, description="A prompt: only what it needs.")
    mode: str | None = Field(default=None, description="session, query, cascade or full.")


class CompactionQuery(Query):
    session_id: Needed = Field(description="The session that goes on.")


class ReviewBody(Body):
    observation_id: int | None = None
    id: int | None = None


class TopicBody(Body):
    type: str | None = None
    title: str | None = None
    content: str | None = None


class TimelineOut(Answer):
    focus: ObservationOut
    before: list[TimelineEntry]
    after: list[TimelineEntry]
    session_info: SessionOut | None = None
    total_in_range: int


class ContextOut(Answer):
    context: str


class ReviewOut(Answer):
    id: int
    sync_id: str
    title: str
    type: str
    state: str
    project: str
    review_after: MaybeTime = None


class ReviewList(Answer):
    observations: list[ReviewOut]
    count: int


TopicOut = shown(Suggestion, "topic_key existing_id existing_title", name="TopicOut")


@operation("GET", "/timeline", TimelineOut, errors=(404,))
def timeline(app: Engram, query: TimelineQuery, notes: Notes) -> object:
    """What was saved around an observation in its session, oldest first."""
    before, after = (5 if one is None else one for one in (query.before, query.after))
    found = app.observations.timeline(query.observation_id, before=before, after=after)
    if query.project is not None and found.focus.project != app.projects.existing(query.project):
        raise ObservationNotFoundError(query.observation_id)
    notes += found.warnings
    rows = {row.id: row for row in app.browsing.whole([one.id for one in (*found.before, *found.after)])}
    replaced = app.browsing.replacements([found.focus, *rows.values()])

    def entries(lines: Sequence[Neighbour]) -> list[TimelineEntry]:
        shown = [rows[one.id] for one in lines if one.id in rows]
        return [TimelineEntry.of(row, superseded_by=replaced.get(row.id)) for row in shown]

    return TimelineOut(
        focus=ObservationOut.of(found.focus, superseded_by=replaced.get(found.focus.id)),
        before=entries(found.before),
        after=entries(found.after),
        session_info=_session_of(app, found.session_id),
        total_in_range=found.total_in_session,
    )


@operation("GET", "/context", ContextOut, errors=(404, 409))
def context(app: Engram, query: ContextQuery, notes: Notes) -> object:
    """What a new session should know, as text; the empty text when there is nothing."""
    where = selected(app, query)
    made = app.contexts.assemble(
        where.named,
        all_projects=where.all_projects,
        scope=query.scope,
        max_bytes=query.max_bytes,
        compact=bool(query.compact),
        query=query.query,
        mode=query.mode,
    )
    text = _text(app, _limited(made, query, notes))
    if not any(section.items for section in made.sections):
        notes.append(render.text(made, now=app.journal.moment()) or NOTHING)
    return ContextOut(context=text)


@operation("GET", "/context/compaction", ContextOut, errors=(404,))
def compaction_context(app: Engram, query: CompactionQuery) -> object:
    """What one session has kept so far, for the same session after its host compacted it."""
    return ContextOut(context=_text(app, app.session_memory.own(query.session_id)))


@operation("GET", "/review", ReviewList, errors=(404, 409))
def review(app: Engram, query: ListQuery, notes: Notes) -> object:
    """What is due for review, the longest overdue first, then what changed files stand behind."""
    where = selected(app, query)
    due = app.observations.due_for_review(where.named, all_projects=where.all_projects, limit=query.limit or 10)
    notes += due.warnings
    rows = app.browsing.whole([one.id for one in due.items])
    found = [ReviewOut.of(row, state="needs_review") for row in rows]
    return ReviewList(observations=found, count=len(found))


@operation("POST", "/review/mark_reviewed", ReviewOut, errors=(404,))
def mark_reviewed(app: Engram, body: ReviewBody) -> object:
    """Confirm that an observation still holds; the next review date follows from its type."""
    number = body.observation_id or body.id
    if not number:
        raise InvalidArgumentError("observation_id", number, expected="given")
    app.observations.mark_reviewed(number)
    [row] = app.browsing.whole([number])
    return ReviewOut.of(row, state=row.state(app.journal.moment()))


@operation("POST", "/topic-keys/suggest", TopicOut, errors=(409,))
def suggest_topic_key(app: Engram, query: CwdQuery, body: TopicBody) -> object:
    """A stable topic key for a text to come, and what holds it already."""
    if not (body.title or "").strip() and not (body.content or "").strip():
        raise EmptyFieldError("title")
    return app.contexts.suggest_topic(type=body.type or "", title=body.title or "", content=body.content or "")


def _session_of(app: Engram, session_id: str) -> SessionOut | None:
    try:
        return SessionOut.of(app.sessions.get(session_id))
    except SessionNotFoundError:
        return None


def _limited(made: Context, query: ContextQuery, notes: Notes) -> Context:
    """A context with each of Engram's sections as long as was asked for; below zero it is left out."""
    asked = {name: getattr(query, parameter) for name, (parameter, _) in SECTIONS.items()}
    for name, (parameter, most) in SECTIONS.items():
        if asked[name] is not None and made.mode != "session":
            notes.append(f"{parameter} belongs to mode session; in mode {made.mode} it was ignored")
        elif (asked[name] or 0) > most:
            notes.append(f"{parameter} {asked[name]} is more than a context holds; used {most}")
    if made.mode != "session":
        return made
    sections = (_cut(section, asked.get(section.name)) for section in made.sections)
    return replace(made, sections=tuple(sections))


def _cut(section: Section, most: int | None) -> Section:
    if not most:
        return section
    return replace(section, items=section.items[: max(0, most)])


def _text(app: Engram, made: Context) -> str:
    if not any(section.items for section in made.sections):
        return ""
    return render.text(made, now=app.journal.moment())
