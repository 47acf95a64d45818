"""The page of what runs by itself."""

from __future__ import annotations

from engram_py.base.errors import InvalidArgumentError
from engram_py.interfaces.web.visit import (
    Goto,
    Shown,
    Visit,
    observation_number,
    page,
)
from engram_py.interfaces.wording import render
from engram_py.memory.observations.listing import Made
from engram_py.memory.observations.values import (
    Observation,
)

_UPKEEP = "/ui/upkeep"
_BARS = 8
_RUNS = 10
_SAID_CHARS = 400
_CHANGES = 6


@page("GET", _UPKEEP)
def upkeep_page(visit: Visit) -> Shown:
    """Return what holds of the person, episodes, facts by weight, and how upkeep fares."""
    app = visit.app
    facts, changes = _rows(visit, "type:fact"), app.changes.listed(_CHANGES)
    return Shown(
        "upkeep.html",
        {
            "done": visit.asked("done"),
            "statements": app.identity.listed(project=visit.project).items,
            "profile": app.identity.profile(project=visit.project),
            "episodes": _rows(visit, "type:session_summary"),
            "facts": sorted(facts, key=lambda row: (-row.salience, -row.access_count, -row.id)),
            "most": max((row.access_count for row in facts), default=0),
            "upkeep": app.upkeep_reports.runs(limit=_RUNS),
            "stats": app.statistics.count(visit.project),
            "cloud": app.autosync.status(),
            "changes": [(one, _worded(visit, one)) for one in changes],
        },
    )


def _worded(visit: Visit, made: Made) -> str:
    """Return what a change did, without its number: it has a button."""
    said = render.text(made, now=visit.app.journal.calendar.local, door="cli").removeprefix(f"{made.change} ")
    return said[:1].upper() + said[1:]


def _rows(visit: Visit, filters: str) -> list[Observation]:
    lines = visit.app.bulk.listed(filters, **visit.place, limit=_BARS).items
    return list(visit.app.browsing.whole([line.id for line in lines]))


@page("POST", _UPKEEP)
def tend(visit: Visit) -> Goto:
    """Run a pass, summarize what waits, or change what holds of the person; then show the page with what was done."""
    app, what = visit.app, visit.form.get("what", "")
    text, project = visit.form.get("text", ""), visit.form.get("project") or None
    match what:
        case "consolidate" | "synthesize" | "heartbeat":
            done: object = app.maintenance.run(what)
        case "flush":
            done = app.distilling.flush(text or None)
        case "undo":
            done = app.changes.undo(change=observation_number(text))
        case "trust":
            done = app.trust.author(text, project=project)
        case "sync":
            done = app.autosync.sync_now()
        case "add":
            where = project or next((one.name for one in app.projects.list()), None)
            done = app.identity.add(text, project=where, origin="user")
        case "remove":
            done = app.identity.remove(text, project=project)
        case _:
            raise InvalidArgumentError(
                "what", what, expected="consolidate, synthesize, heartbeat, flush, sync, undo, trust, add or remove"
            )
    said = render.text(done, now=app.journal.calendar.local, door="cli")
    return Goto(_UPKEEP, {"done": said[:_SAID_CHARS]} | ({"project": project} if project else {}))
