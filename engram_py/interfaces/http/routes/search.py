"""Routes of search: the list that Engram's clients know, and the object of the other interfaces."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from engram_py.app import Engram
from engram_py.errors import EmptyQueryError, InvalidArgumentError
from engram_py.interfaces.http.answers import SearchHit
from engram_py.interfaces.http.notes import Notes, hit_notes
from engram_py.interfaces.http.parameters import Listed, Projects, Searched, StrictSwitch, selected
from engram_py.interfaces.http.routing import operation
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording import search as words
from engram_py.recall.layers import Layered, LayerResults
from engram_py.recall.scope_filter import says_where
from engram_py.recall.values import Results

FOUND = list[SearchHit] | dict[str, Any]
Format = Literal["list", "json"]
FORMAT = (
    "list: Engram's list of hits, the default of GET; json: what mem_search answers, with notes and why there is "
    "nothing, the default of POST."
)
LAYER = "memories (the default), episodes, turns, prompts, documents, entities or all; but for two the answer is json."
EXPLAIN = "Each hit's numbers and the steps; the answer is json."
SORT = "The order of the answer: relevance (the default), recency or salience."
QUERY = "Words, a question, a topic key or #id; phrases, -word, type: and file:."


class Search(BaseModel):
    """The settings of a search that an address and a body share."""

    type: str | None = None
    scope: str | None = Field(default=None, description="project, personal or global.")
    match_mode: str | None = Field(default=None, description="all (the default) or any.")
    response_format: Format | None = Field(default=None, description=FORMAT)
    as_of: str | None = Field(default=None, description="A day: what was known then, as it was written then.")
    in_: str | None = Field(default=None, alias="in", description=LAYER)
    sort: str | None = Field(default=None, description=SORT)


@operation("GET", "/search", FOUND, errors=(404, 409))
def search(
    app: Engram,
    q: Annotated[Searched, Field(description=QUERY)],
    listed: Listed,
    asked: Search,
    notes: Notes,
    explain: Annotated[StrictSwitch, Field(description=EXPLAIN)] = False,
) -> object:
    """The best matches, 10 unless `limit` says otherwise, at most 20; none when nothing here is about it."""
    wanted = _format(asked.response_format, explain=explain, default="list")
    # Engram's list has ten; the other interfaces ask .engram.json.
    limit = listed.limit or (10 if wanted == "list" else None)
    return _answer(app, _found(app, q, listed, asked, wanted, limit, explain=explain), wanted, notes)


@operation("GET", "/api/memory/search", list[SearchHit], errors=(404, 409))
def search_memory(
    app: Engram, listed: Listed, notes: Notes, q: Annotated[str, Field(description=QUERY)] = ""
) -> object:
    """The list of `GET /search` under Aurelius's address; no words find nothing."""
    return search(app, q, listed, Search(), notes) if q.strip() else []


@operation("POST", "/search", FOUND, errors=(404, 409), lenient=True)
def search_long(
    app: Engram,
    asked: Search,
    notes: Notes,
    query: Annotated[str | None, Field(description=QUERY)] = None,
    q: Annotated[str | None, Field(description="The same, as the address calls it.")] = None,
    project: str | None = None,
    all_projects: bool | None = None,
    limit: Annotated[int | None, Field(description="Most results, 1 to 20; default: .engram.json says, or 10.")] = None,
    explain: Annotated[bool | None, Field(description=EXPLAIN)] = None,
) -> object:
    """Search with the query in a body, for one too long for an address; answers what mem_search does by default."""
    wanted = _format(asked.response_format, explain=bool(explain), default="json")
    place = Projects.of(project, all_projects=all_projects)
    found = _found(app, query or q or "", place, asked, wanted, limit, explain=bool(explain))
    return _answer(app, found, wanted, notes)


def _found(
    app: Engram, words: str, place: Projects, asked: Search, wanted: Format, limit: int | None, *, explain: bool
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
        match_mode=asked.match_mode or "all",
        limit=limit,
        explain=explain,
        as_of=asked.as_of or None,
        sort=asked.sort,
    )


def _engrams_place(app: Engram, words: str, place: Projects, scope: str | None) -> Projects:
    """Return where Engram's list is searched.

    Only this list refuses a project that nobody knows, and a directory that does not name one. What the query itself
    says of that counts as it does everywhere.

    Raises what ``selected`` raises.
    """
    if place.project is None and not place.all_projects and says_where(words, scope):
        return place
    where = selected(app, place)
    return Projects.of(where.named, all_projects=where.all_projects)


def _format(given: Format | None, *, explain: bool, default: Format) -> Format:
    """Raises InvalidArgumentError when what explains an answer has no place in it."""
    if explain and given == "list":
        raise InvalidArgumentError("response_format", given, expected="json, or left out, together with explain")
    return "json" if explain else given or default


def _answer(app: Engram, found: LayerResults | Layered, wanted: Format, notes: Notes) -> object:
    if wanted == "json" or not isinstance(found, Results):
        return render.to_json(found) | {"warnings": [*found.warnings, *notes]}
    notes += [*found.warnings, *(words.doubts(found) if found.results else words.nothing(found))]
    notes += hit_notes(found.results)
    rows = {row.id: row for row in app.browsing.whole([one.id for one in found.results])}
    return [SearchHit.found(rows[one.id], one) for one in found.results if one.id in rows]
