"""Merge a memory into another one, or move it to another project; each with its undo."""

from __future__ import annotations

from engram_py.app import Engram
from engram_py.interfaces.web.pages_memory import as_shown, back_to, seen
from engram_py.interfaces.web.undo import Taken
from engram_py.interfaces.web.visit import Goto, Shown, Visit, observation_number, page
from engram_py.observations.lookup import live_observation

_PATH = "/ui/memory/{id}"
_REASON = "merged on the page"


@page("POST", _PATH + "/merge")
def merge(visit: Visit) -> Shown | Goto:
    """Let another memory replace this one: searches find that one, and both texts stay."""
    row = as_shown(visit)
    if isinstance(row, Shown):
        return row
    other = observation_number(visit.form.get("into", ""))
    before = visit.app.relations.between(row.id, other)
    judged = visit.app.relations.compare(other, row.id, "supersedes", confidence=1.0, reasoning=_REASON)
    was = before.relation if before is not None and before.judgment_status == "judged" else "not_conflict"
    turned = before is not None and before.source_id != judged.source_id
    ends = (row.id, other) if turned else (other, row.id)

    def take_back(app: Engram) -> None:
        app.relations.compare(*ends, was, confidence=1.0, reasoning="the merge was taken back")

    return back_to(visit, row.id, "merged", undo=visit.undo.keep(Taken(row.id, take_back, seen(row), "unmerged")))


@page("POST", _PATH + "/move")
def move(visit: Visit) -> Shown | Goto:
    """Give the memory to another project."""
    row = as_shown(visit)
    if isinstance(row, Shown):
        return row
    if not visit.app.observations.move(row.id, visit.form.get("to", "")).changed:
        return back_to(visit, row.id, "unchanged")

    def take_back(app: Engram) -> None:
        app.observations.move(row.id, row.project)

    now = live_observation(visit.app.store, row.id)
    return back_to(visit, row.id, "moved", undo=visit.undo.keep(Taken(row.id, take_back, seen(now), "unmoved")))
