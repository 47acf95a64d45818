"""The pages that find memories: search, and what was known on a day."""

from __future__ import annotations

from itertools import groupby

from engram_py.base.errors import InvalidInputError
from engram_py.interfaces.web.visit import (
    HOME,
    Shown,
    Visit,
    day_of,
    neighbours,
    observation_number,
    page,
    page_number,
    zone_of,
)
from engram_py.interfaces.wording import search
from engram_py.interfaces.wording.phrases import clock
from engram_py.memory.observations.values import SCOPES, TYPES, Observation
from engram_py.recall.values import Results

# Few enough that no page is taller than 4,000 pixels on a phone.
_HITS = 15
_LATEST = 20
_ROWS = 20
_LOOKED_AT = 500


@page("GET", HOME)
def search_page(visit: Visit) -> Shown:
    """Return the hits of a query with their numbers; without one, what was changed last."""
    query, kind, scope = (visit.asked(name) for name in ("q", "type", "scope"))
    values = {"query": query, "type": kind, "scope": scope, "all": visit.asked("match") == "all"}
    values |= {"types": TYPES, "scopes": SCOPES, "found": None, "latest": (), "error": None, "most": _HITS}
    try:
        if not query:
            return Shown("search.html", values | _latest(visit, kind, scope))
        found = visit.app.searches.search(
            query,
            **visit.place,
            type=kind or None,
            scope=scope or None,
            match_mode="all" if values["all"] else "any",
            limit=_HITS,
            explain=True,
            recorded=False,
            documents=True,
        )
    except InvalidInputError as exc:  # said above the form that it was typed into
        return Shown("search.html", values | {"error": exc}, status=400)
    return Shown("search.html", values | _answer(found))


def _latest(visit: Visit, kind: str, scope: str) -> dict[str, object]:
    """Return a page of the observations that were changed last, of a type or a scope.

    Counting those that are listed takes long in a large memory; how many are kept of a type is known.
    """
    number = page_number(visit)
    start = _LATEST * number
    place = {**visit.place, "type": kind or None, "scope": scope or None}
    found = visit.app.bulk.listed(**place, limit=_LATEST + 1, offset=start).items
    lines, more = found[:_LATEST], len(found) > _LATEST
    types = visit.app.statistics.count(visit.project).types
    end, kept = start + len(lines), types.get(kind, 0) if kind else sum(types.values())
    said = f"{start + 1:,} to {end:,}" + (f" of {kept:,} kept" if not scope else "")
    said += f"; {kept - end:,} archived or superseded not listed" if kept > end and not (more or scope) else ""
    latest = visit.app.browsing.whole([line.id for line in lines])
    values: dict[str, object] = {"latest": latest, "said": said, "counts": () if kind or scope else types}
    return values | neighbours(number, more=more)


def _answer(found: Results) -> dict[str, object]:
    numbers = {one.id: one for one in found.explain.hits} if found.explain else {}
    return {
        "found": found,
        "head": search.head(found, "cli"),
        "unseen": search.unknown_words(found) if found.results else (),
        "numbers": numbers,
        "marks": {hit.id: search.marks(hit) for hit in found.results},
        "titles": {hit.id: hit.goal or hit.title for hit in found.results},
        "tables": search.sections(found)[1:] if found.results else search.sections(found),
        "foot": search.foot(found.explain) if found.explain else "",
    }


@page("GET", "/ui/timeline")
def timeline_page(visit: Visit) -> Shown:
    """Return what was saved, by day, newest first, a page at a time."""
    zone, before = zone_of(visit), _before(visit)
    rows = visit.app.browsing.saved(**visit.place, before=before, limit=_ROWS + 1)
    shown = rows[:_ROWS]
    days = [(day, list(found)) for day, found in groupby(shown, key=lambda row: day_of(row.created_at, zone))]
    older = {"before": f"{shown[-1].created_at},{shown[-1].id}"} if len(rows) > _ROWS else None
    clocks = {row.id: clock(row.created_at, visit.app.journal.moment().astimezone(zone), "%H:%M") for row in shown}
    return Shown("timeline.html", {"days": days, "clocks": clocks, "older": older, "newer": {} if before else None})


def _before(visit: Visit) -> tuple[str, int] | None:
    """Return the time and the id of the last memory of the page before. Raises InvalidArgumentError."""
    moment, _, number = visit.asked("before").rpartition(",")
    if not moment:
        return None
    return moment, observation_number(number)


def saved_last(visit: Visit) -> tuple[Observation, ...]:
    """Return the observations that were saved last, newest first, up to 500 of them."""
    return visit.app.browsing.saved(**visit.place, limit=_LOOKED_AT)
