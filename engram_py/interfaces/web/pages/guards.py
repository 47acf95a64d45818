"""The page of guards and fixes."""

from __future__ import annotations

from engram_py.interfaces.web.visit import (
    Goto,
    Shown,
    Visit,
    neighbours,
    observation_number,
    page,
    page_number,
)
from engram_py.interfaces.wording.acting import rule_and_use

_GUARDS = 8
_FIXES = 15


@page("GET", "/ui/guards")
def guards_page(visit: Visit) -> Shown:
    """Return the guards with how often each spoke and what came of it, and the fixes that were kept."""
    number, found = page_number(visit), visit.app.guards.listed(**visit.place)
    guards = found[_GUARDS * number : _GUARDS * (number + 1)]
    fixes = visit.app.failures.fixes(**visit.place, limit=_FIXES)
    values = {"guards": guards, "rules": [rule_and_use(one.rule) for one in guards], "done": visit.asked("done")}
    pages = neighbours(number, more=len(found) > _GUARDS * (number + 1))
    return Shown("guards.html", {**values, "fixes": fixes, **pages})


@page("POST", "/ui/guards")
def remove_guard(visit: Visit) -> Goto:
    """Take a guard away; the memory that it guards stays."""
    form = visit.form
    visit.app.guards.remove(observation_number(form.get("id", "")), observation_number(form.get("number", "")))
    return Goto("/ui/guards", {"done": "1"} | ({"project": form["project"]} if form.get("project") else {}))
