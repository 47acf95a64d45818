"""Search: the list that Engram's clients know, and all that the other doors say of an answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from engram_py.app import Engram
from engram_py.errors import EmptyQueryError, InvalidArgumentError
from engram_py.interfaces.http.request_project import CwdQuery, ProjectQuery, selected
from engram_py.interfaces.http.response_models import SearchHit
from engram_py.interfaces.http.response_notes import Notes, hit_notes
from engram_py.interfaces.http.routes_sessions import ListQuery
from engram_py.interfaces.http.routing import Needed, Question, StrictSwitch, operation
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording import search as words
from engram_py.recall.layers import Layered, LayerResults
from engram_py.recall.scope_filter import says_where
from engram_py.recall.values import Results

FOUND = list[SearchHit] | dict[str, Any]
Format = Literal["list", "json"]
FORMAT = "list: Engram's list of hits, the default; json: what mem_search answers, with notes and why there is nothing."
LAYER = "memories (the default), episodes, turns, prompts, documents, entities or all; but for two the answer is json."
SORT = "The order of the answer: relevance (the default), recency or salience."
QUERY = "Words, a question, a topic key or #id; phrases, -word, type: and file:."


class SearchQuery(ListQuery):
    SEARCHES = True

    q: Needed = Field(description=QUERY)
    type: str | None = None
    scope: str | None = Field(default=None, description="project, personal or global.")
    match_mode: str | None = Field(default=None, description="all (the default) or any.")
    response_format: Format | None = Field(default=None, description=FORMAT)
    explain: StrictSwitch = Field(default=False, description="Each hit's numbers and the steps; the answer is json.")
    as_of: str | None = Field(default=None, description="A day: what was known then, as it was written then.")
    in_: str | None = Field(default=None, alias="in", description=LAYER)
    sort: str | None = Field(default=None, description=SORT)


class SearchBody(Question):
    query: str | None = Field(default=None, description=QUERY)
    q: str | None = Field(default=None, description="The same, as the address calls it.")
    project: str | None = None
    all_projects: bool | None = None
    type: str | None = None
    scope: str | None = Field(default=None, description="project, personal or global.")
    match_mode: str | None = Field(default=None, description="all (the default) or any.")
    limit: int | None = Field(default=None, description="Most results, 1 to 20; default: .engram.json says, or 10.")
    response_format: Format | None = Field(default=None, description="json (the default) or list.")
    explain: bool | None = Field(default=None, description="Each hit's numbers and the steps; the answer is json.")
    as_of: str | None = Field(default=None, description="A day: what was known then, as it was written then.")
    in_: str | None = Field(default=None, alias="in", description=LAYER)
    sort: str | None = Field(default=None, description=SORT)


@operation("GET", "/search", FOUND, errors=(404, 409))
def search(app: Engram, query: SearchQuery, notes: Notes) -> object:
    """The best matches, 10 unless `limit` says otherwise, at most 20; none when nothing here is about it."""
    wanted = _format(query.response_format, explain=query.explain, default="list")
    # Engram's list has ten; the other doors ask .engram.json.
    limit = query.limit or (10 if wanted == "list" else None)
    return _answer(app, _found(app, query.q, query, query, wanted, limit), wanted, notes)


@operation("POST", "/search", FOUND, errors=(404, 409))
def search_long(app: Engram, query: CwdQuery, body: SearchBody, notes: Notes) -> object:
    """Search with the query in a body, for one too long for an address; answers what mem_search does by default."""
    wanted = _format(body.response_format, explain=bool(body.explain), default="json")
    place = ProjectQuery.of(project=body.project, all_projects=bool(body.all_projects))
    return _answer(app, _found(app, body.query or body.q or "", place, body, wanted, body.limit), wanted, notes)


def _found(
    app: Engram, words: str, place: ProjectQuery, asked: SearchQuery | SearchBody, wanted: Format, limit: int | None
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
        explain=bool(asked.explain),
        as_of=asked.as_of or None,
        sort=asked.sort,
    )


def _engrams_place(app: Engram, words: str, place: ProjectQuery, scope: str | None) -> ProjectQuery:
    """Where Engram's list is searched: unlike every other door it refuses a project that nobody knows, and a directory
    that does not name one. What the query itself says of that counts as it does everywhere.

    Raises what ``selected`` raises.
    """
    if place.project is None and not place.all_projects and says_where(words, scope):
        return place
    where = selected(app, place)
    return ProjectQuery.of(project=where.named, all_projects=where.all_projects)


def _format(given: Format | None, *, explain: bool, default: Format) -> Format:
    """Raises InvalidArgumentError when what explains an answer has no place in it."""
    if explain and given == "list":
        raise InvalidArgumentError("response_format", given, expected="json, or left out, together with explain")
    return "json" if explain else given or default


def _answer(app: Engram, found: LayerResults | Layered, wanted: Format, notes: Notes) -> object:
    if wanted == "json" or not isinstance(found, Results):
        return render.to_json(found) | {"warnings": [*found.warnings, *notes]}
    notes += [*found.warnings, *(words.unseen(found) if found.results else words.nothing(found))]
    notes += hit_notes(found.results)
    rows = {row.id: row for row in app.browsing.whole([one.id for one in found.results])}
    return [SearchHit.found(rows[one.id], one) for one in found.results if one.id in rows]
