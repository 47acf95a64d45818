"""Search: the answer that ``mem_search`` gives, with every number behind it."""

from __future__ import annotations

from engram_py.errors import InvalidInputError
from engram_py.interfaces.web.visit import HOME, Shown, Visit, page
from engram_py.interfaces.wording import explain, search
from engram_py.observations.values import SCOPES, TYPES
from engram_py.recall.values import Results

_HITS, _LATEST = 20, 30


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
