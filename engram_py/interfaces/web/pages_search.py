"""What is remembered, to look through: the search with every number behind it, the timeline, and entities."""

from __future__ import annotations

from collections import Counter
from datetime import tzinfo
from itertools import groupby

from engram_py.errors import InvalidInputError
from engram_py.interfaces.web.visit import HOME, Shown, Visit, page
from engram_py.interfaces.wording import explain, search
from engram_py.observations.values import SCOPES, TYPES, Observation
from engram_py.recall.values import Results
from engram_py.times import parse_time

_HITS, _LATEST = 20, 30
_LOOKED_AT = 500
_FACTS = 50


@page("GET", HOME)
def search_page(visit: Visit) -> Shown:
    """Return the hits of a query with their numbers; without one, what was changed last."""
    query, kind, scope = (visit.asked(name) for name in ("q", "type", "scope"))
    values = {"query": query, "type": kind, "scope": scope, "any": visit.asked("match") == "any"}
    values |= {"types": TYPES, "scopes": SCOPES, "found": None, "latest": (), "error": None}
    if query or kind or scope:
        try:
            found = visit.app.searches.search(
                query,
                **visit.place,
                type=kind or None,
                scope=scope or None,
                match_mode="any" if values["any"] else "all",
                limit=_HITS,
                explain=True,
                recorded=False,
            )
        except InvalidInputError as exc:  # said above the form that it was typed into
            return Shown("search.html", values | {"error": exc}, status=400)
        return Shown("search.html", values | _answer(found))
    return Shown("search.html", values | {"latest": visit.latest(_LATEST)})


def _answer(found: Results) -> dict[str, object]:
    numbers = {one.id: one for one in found.explain.hits} if found.explain else {}
    return {
        "found": found,
        "head": explain.head(found),
        "unseen": search.doubts(found) if found.results else (),
        "numbers": numbers,
        "marks": {hit.id: search.marks(hit) for hit in found.results},
        "titles": {hit.id: search.named(hit) for hit in found.results},
        "tables": explain.sections(found)[1:] if found.results else explain.sections(found),
        "foot": explain.foot(found.explain) if found.explain else "",
    }


def zone_of(visit: Visit) -> tzinfo | None:
    """Return the reader's zone; None is the system's."""
    name = visit.app.settings.timezone
    if not name:
        return None
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def day_of(moment: str, zone: tzinfo | None) -> str:
    parsed = parse_time(moment)
    return f"{parsed.astimezone(zone):%Y-%m-%d}" if parsed else ""


@page("GET", "/ui/timeline")
def timeline_page(visit: Visit) -> Shown:
    """Return what was saved, by day, newest first."""
    zone = zone_of(visit)
    rows = saved_last(visit)
    days: list[tuple[str, list[Observation]]] = [
        (day, list(found)) for day, found in groupby(rows, key=lambda row: day_of(row.created_at, zone))
    ]
    return Shown("timeline.html", {"days": days, "shown": len(rows), "all": len(rows) < _LOOKED_AT})


def saved_last(visit: Visit) -> list[Observation]:
    """The observations that were saved last, newest first, up to 500 of them, and none between them left out.

    They are read in the order of the last change, which has an index. Nothing changes before it is saved: so what was
    saved after the oldest change that was read, is among them.
    """
    rows = visit.latest(_LOOKED_AT)
    since = min((row.updated_at for row in rows), default="") if len(rows) == _LOOKED_AT else ""
    found = [row for row in rows if row.created_at >= since]
    return sorted(found, key=lambda row: (row.created_at, row.id), reverse=True)


@page("GET", "/ui/entities")
def entities_page(visit: Visit) -> Shown:
    """Return the entities of a project, active ones first, or one of them; entities belong to a project, so one is
    chosen."""
    names = [one.name for one in visit.app.projects.list()]
    project = visit.project or (names[0] if len(names) == 1 else None)
    if project is None:
        return Shown("entities.html", {"project": None, "names": names})
    if name := visit.asked("name"):
        return _entity(visit, name, project)
    lines = visit.app.entities.listed(archived=True, project=project).entities
    kind = visit.asked("kind")
    shown = [one for one in lines if kind in ("", one.kind)]
    states = [(state, [one for one in shown if one.state == state]) for state in ("active", "archived")]
    kinds = Counter(one.kind for one in lines if one.kind)
    values = {"project": project, "names": names, "states": states, "kind": kind, "kinds": kinds.most_common()}
    return Shown("entities.html", values)


def _entity(visit: Visit, name: str, project: str) -> Shown:
    found = visit.app.entities.show(name, project=project)
    facts = visit.app.facts.of(found.entity.slug, past=True, project=project, limit=_FACTS).items
    present, past = ([one for one in facts if one.past is was] for was in (False, True))
    values = {"project": project, "one": found.entity, "found": found, "present": present, "past": past}
    return Shown("entity.html", values)
