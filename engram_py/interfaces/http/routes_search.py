"""Routes of search, of what a session is given, and of documents."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from engram_py.app import Engram
from engram_py.base.dataclass import asdict, replace
from engram_py.base.errors import EmptyQueryError, InvalidArgumentError
from engram_py.guidance.context.session import PINNED, PROMPTS, RECENT, SESSIONS
from engram_py.guidance.context.values import Context, Item, OwnFile
from engram_py.interfaces.http.admission import is_given_personal, is_personal
from engram_py.interfaces.http.answers import (
    Answer,
    MaybeTime,
    Notes,
    ObservationOut,
    SearchHit,
    SessionOut,
    TimelineEntry,
    hit_notes,
    in_words,
    shown,
)
from engram_py.interfaces.http.parameters import (
    Id,
    InProject,
    Listed,
    Most,
    Needed,
    ProjectsQuery,
    Searched,
    StrictSwitch,
    Switch,
    Whole,
    selected,
)
from engram_py.interfaces.http.routing import route
from engram_py.interfaces.operations import SUGGEST_TOPIC_KEY
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording import search as words
from engram_py.memory.observations.errors import ObservationNotFoundError
from engram_py.memory.observations.listing import HandEditLine, Suggestion, UntakenLine
from engram_py.memory.observations.values import Neighbour, Observation, Timeline
from engram_py.memory.sessions.values import SessionNotFoundError
from engram_py.recall.documents.values import Collection
from engram_py.recall.layers import Layered, LayerResults
from engram_py.recall.scope_filter import says_where
from engram_py.recall.values import Results

FOUND = list[SearchHit] | dict[str, Any]
Format = Literal["list", "json"]
FORMAT = "list: Engram's list of hits (default of GET); json: the answer of mem_search, with notes (default of POST)."
LAYER = "memories (the default), episodes or entities; or turns, prompts, documents or all, always answered as json."
EXPLAIN = "Each hit's numbers and the steps; the answer is json."
SORT = "The order of the answer: relevance (the default), recency or salience."
COLLECTION = "Only the documents of this collection."
QUERY = "Words, a question, a topic key or #id; phrases, -word, type: and file:."


class SearchQuery(BaseModel):
    """The settings of a search that an address and a body share."""

    type: str | None = None
    scope: str | None = Field(default=None, description="project, personal or global.")
    match_mode: str | None = Field(default=None, description="any (the default) or all.")
    response_format: Format | None = Field(default=None, description=FORMAT)
    as_of: str | None = Field(default=None, description="A day: what was known then, as it was written then.")
    in_: str | None = Field(default=None, alias="in", description=LAYER)
    sort: str | None = Field(default=None, description=SORT)
    collection: str | None = Field(default=None, description=COLLECTION)


@route("GET", "/search", FOUND, errors=(404, 409))
def search(
    app: Engram,
    q: Annotated[Searched, Field(description=QUERY)],
    listed: Listed,
    asked: SearchQuery,
    notes: Notes,
    explain: Annotated[StrictSwitch, Field(description=EXPLAIN)] = False,
) -> object:
    """The best matches, 10 unless `limit` says otherwise, at most 20; none when nothing here is about it."""
    wanted = _format(asked.response_format, explain=explain, default="list")
    # Engram's list has ten; the other interfaces ask .engram.json.
    limit = listed.limit or (10 if wanted == "list" else None)
    return _answer(app, _found(app, q, listed, asked, wanted, limit, explain=explain), wanted, notes)


@route("GET", "/api/memory/search", list[SearchHit], errors=(404, 409))
def search_memory(
    app: Engram, listed: Listed, notes: Notes, q: Annotated[str, Field(description=QUERY)] = ""
) -> object:
    """`GET /search` for clients of the program Aurelius; an empty query gives an empty list."""
    selected(app, listed)  # an empty query is of a project as well
    return search(app, q, listed, SearchQuery(), notes) if q.strip() else []


@route("POST", "/search", FOUND, errors=(404, 409), lenient=True)
def search_long(
    app: Engram,
    asked: SearchQuery,
    notes: Notes,
    query: Annotated[str | None, Field(description=QUERY)] = None,
    q: Annotated[str | None, Field(description="The same as query.")] = None,
    project: str | None = None,
    all_projects: bool | None = None,
    limit: Annotated[int | None, Field(description="Most results, 1 to 20; default: .engram.json says, or 10.")] = None,
    explain: Annotated[bool | None, Field(description=EXPLAIN)] = None,
) -> object:
    """Search with the query in a body, for one too long for an address; answers what mem_search does by default."""
    wanted = _format(asked.response_format, explain=bool(explain), default="json")
    place = ProjectsQuery.of(project, all_projects=all_projects)
    found = _found(app, query or q or "", place, asked, wanted, limit, explain=bool(explain))
    return _answer(app, found, wanted, notes)


def _found(
    app: Engram,
    words: str,
    place: ProjectsQuery,
    asked: SearchQuery,
    wanted: Format,
    limit: int | None,
    *,
    explain: bool,
) -> LayerResults | Layered:
    if not words.strip():
        raise EmptyQueryError(words)
    if wanted == "list":
        place = _engrams_place(app, words, place, asked.scope)
    return app.search_in(
        asked.in_,
        words,
        project=place.project,
        all_projects=place.all_projects,
        type=asked.type or None,
        scope=asked.scope,
        match_mode=asked.match_mode or "any",
        limit=limit,
        explain=explain,
        as_of=asked.as_of or None,
        sort=asked.sort,
        collection=asked.collection,
    )


def _engrams_place(app: Engram, words: str, place: ProjectsQuery, scope: str | None) -> ProjectsQuery:
    """Return where Engram's list is searched.

    Only this list refuses a project that nobody knows, and a directory that does not name one. What the query itself
    says of that counts as it does everywhere.

    Raises what ``selected`` raises.
    """
    if place.project is None and not place.all_projects and says_where(words, scope):
        return place
    return ProjectsQuery.of(**selected(app, place).asked)


def _format(given: Format | None, *, explain: bool, default: Format) -> Format:
    """Raises InvalidArgumentError when what explains an answer has no place in it."""
    if explain and given == "list":
        raise InvalidArgumentError("response_format", given, expected="json when explain is set")
    return "json" if explain else given or default


def _answer(app: Engram, found: LayerResults | Layered, wanted: Format, notes: Notes) -> object:
    if wanted == "json" or not isinstance(found, Results):
        return render.to_json(found, "http") | {"warnings": [*in_words(found.warnings), *notes]}
    notes += in_words(found.warnings)
    notes += words.unknown_words(found) if found.results else words.nothing(found, "http")
    notes += hit_notes(found.results)
    rows = {row.id: row for row in app.browsing.whole([one.id for one in found.results])}
    return [SearchHit.found(rows[one.id], one) for one in found.results if one.id in rows]


# --- what a session is given ----------------------------------------------------------------------------------

NOTHING = "nothing here is near enough; GET /search searches anyway"
# The name of each section of a context → its parameter in an address, and how much of it there is at most.
SECTIONS = {
    "recent": ("observations", RECENT),
    "prompts": ("prompts", PROMPTS),
    "sessions": ("sessions", SESSIONS),
    "pinned": ("pinned", PINNED),
}

Length = Annotated[Whole, Field(description="Most entries of this section; below 0: none.")]

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


UntakenOut = shown(UntakenLine, "id title text version other_title other")
HandEditOut = shown(HandEditLine, "id title file")


class ReviewList(Answer):
    observations: list[ReviewOut]  # type: ignore[valid-type]
    count: int
    untaken: list[UntakenOut] | None = None  # type: ignore[valid-type]
    edited: list[HandEditOut] | None = None  # type: ignore[valid-type]


@route("GET", "/timeline", TimelineOut, errors=(404,))
def timeline(
    app: Engram,
    observation_id: Annotated[Id, Field(description="The observation.")],
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
    notes += in_words(found.warnings)
    rows = {row.id: row for row in app.browsing.whole([one.id for one in (*found.before, *found.after)])}
    replaced = app.relations.replacements([found.focus, *rows.values()])

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


@route("GET", "/context", ContextOut, errors=(404, 409))
def context(
    app: Engram,
    projects: ProjectsQuery,
    notes: Notes,
    scope: Annotated[str | None, Field(description="project, personal or global.")] = None,
    observations: Length = None,
    prompts: Length = None,
    sessions: Length = None,
    pinned: Length = None,
    compact: Annotated[Switch, Field(description="Titles only.")] = None,
    max_bytes: Annotated[Most, Field(description="The most bytes; default: the project's budget.")] = None,
    query: Annotated[str | None, Field(description="Get what this prompt needs.")] = None,
    mode: Annotated[str | None, Field(description="session, query, cascade or full.")] = None,
) -> object:
    """What a new session should know, as text; the empty text when there is nothing."""
    where = selected(app, projects)
    made = app.contexts.assemble(
        **where.asked,
        scope=scope,
        max_bytes=max_bytes,
        compact=bool(compact),
        query=query,
        mode=mode,
    )
    lengths = {"recent": observations, "prompts": prompts, "sessions": sessions, "pinned": pinned}
    text = _text(app, _limited(made, lengths, notes))
    if not any(section.items for section in made.sections):
        notes.append(render.text(made, now=app.journal.calendar.local, door="http") or NOTHING)
    return ContextOut(context=text)


@route("GET", "/context/compaction", ContextOut, errors=(404,))
def compaction_context(
    app: Engram, session_id: Annotated[Needed, Field(description="The compacted session.")]
) -> object:
    """What a session has saved so far, to restore its context after a compaction."""
    return ContextOut(context=_text(app, app.session_memory.own(session_id)))


@route("GET", "/review", ReviewList, errors=(404, 409))
def review(app: Engram, listed: Listed, notes: Notes) -> object:
    """What is due for review: memories with two texts after a merge (``untaken``) or edited by hand (``edited``), the
    longest overdue, then those whose files changed."""
    where = selected(app, listed)
    due = app.observations.due_for_review(**where.asked, limit=listed.limit or 10)
    notes += in_words(due.warnings)
    rows = app.browsing.whole([one.id for one in due.items])
    found = [ReviewOut.of(row, state="needs_review") for row in rows]
    untaken = [UntakenOut.of(one) for one in due.items if isinstance(one, UntakenLine)]
    edited = [HandEditOut.of(one) for one in due.items if isinstance(one, HandEditLine)]
    return ReviewList(observations=found, count=len(found), untaken=untaken or None, edited=edited or None)


@route("POST", "/review/mark_reviewed", ReviewOut, errors=(404,))
def mark_reviewed(app: Engram, observation_id: int | None = None, id: int | None = None) -> object:
    """Confirm that an observation is still true; the next review date follows from its type."""
    number = observation_id or id
    if not number:
        raise InvalidArgumentError("observation_id", number, expected="given")
    app.observations.mark_reviewed(number)
    [row] = app.browsing.whole([number])
    return ReviewOut.of(row, state=row.state(app.journal.moment()))


@route("POST", "/topic-keys/suggest", Suggestion, errors=(409,), of=SUGGEST_TOPIC_KEY)
def suggest_topic_key(app: Engram, **given: Any) -> object:
    """A stable topic key for a new text, and which observation has it already."""
    return SUGGEST_TOPIC_KEY(app, given)


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
    cut = {name: max(0, length) for name, length in lengths.items() if length}
    sections = (replace(one, items=one.items[: cut.get(one.name)]) for one in made.sections)
    return replace(made, sections=tuple(sections))


def _without_personal(made: Context) -> Context:
    """Return a context without rows that are personal and files of the vault."""

    def shown(item: Item) -> bool:
        return not (isinstance(item, OwnFile) or (isinstance(item, Observation) and is_personal(asdict(item))))

    sections = tuple(replace(one, items=tuple(filter(shown, one.items))) for one in made.sections)
    saved = {name: tuple(filter(shown, rows)) for name, rows in made.remarks.saved.items()}
    return replace(made, sections=sections, remarks=replace(made.remarks, saved=saved))


def _text(app: Engram, made: Context) -> str:
    made = made if is_given_personal() else _without_personal(made)
    if not any(section.items for section in made.sections):
        return ""
    return render.text(made, now=app.journal.calendar.local, door="http")


# --- documents ------------------------------------------------------------------------------------------------

_UPDATE_SECONDS = 60.0

CollectionOut = shown(
    Collection, "name project kind root globs contexts included documents updated_at", updated_at=str | None
)


@route("GET", "/documents", errors=(404, 409))
def open_document(
    app: Engram,
    place: InProject,
    name: Annotated[
        Needed, Field(description="path:line:count, commit:1a2b3c4, the docid of a hit or a glob; several with commas.")
    ],
    line: Annotated[Most, Field(description="The first line; overrides that of the name.")] = None,
    count: Annotated[Most, Field(description="How many lines, at most 400.")] = None,
) -> object:
    """The lines of a document as it is now; for several names also which could not be opened."""
    return render.to_json(app.documents.open(name, first=line, count=count, **place.where), "http")


@route("GET", "/documents/search", errors=(404, 409))
def search_documents(
    app: Engram,
    place: InProject,
    q: Annotated[Needed, Field(description="Words or a question.")],
    collection: Annotated[str | None, Field(description="Only this collection, excluded or not.")] = None,
    limit: Annotated[Most, Field(description="Most results, 1 to 20; default 10.")] = None,
) -> object:
    """Passages of documents, best first, one of each document."""
    return render.to_json(app.documents.search(q, collection=collection, limit=limit or 10, **place.where), "http")


@route("GET", "/collections", [CollectionOut], errors=(409,))
def list_collections(app: Engram, place: InProject) -> object:
    """The collections of the project."""
    return app.documents.collections(**place.where).items


@route("POST", "/collections/update", errors=(404, 409))
def update_collections(
    app: Engram,
    place: InProject,
    collection: Annotated[
        str | None, Field(description="Only this collection; default: all that are included.")
    ] = None,
) -> object:
    """Index what changed since the last time; an update that needs more than a minute says unfinished."""
    until = time.monotonic() + _UPDATE_SECONDS
    return render.to_json(app.documents.update(collection, until=until, **place.where), "http")
