"""Today, Worth, Projects and the timeline: tables to look through."""

from __future__ import annotations

from datetime import datetime, tzinfo
from itertools import groupby

from engram_py.interfaces.web.visit import Shown, Visit, page
from engram_py.ledger.given import counts, given_in_vain, most_cited
from engram_py.observations.values import Observation
from engram_py.times import parse_time

_SESSIONS, _LOOKED_AT = 40, 500
_TOP = 10
_DAYS = {"7": 7, "30": 30, "365": 365}


def _zone(visit: Visit) -> tzinfo | None:
    """The reader's zone; None is the system's."""
    name = visit.app.settings.timezone
    if not name:
        return None
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def _day(moment: str, zone: tzinfo | None) -> str:
    parsed = parse_time(moment)
    return f"{parsed.astimezone(zone):%Y-%m-%d}" if parsed else ""


@page("GET", "/ui/today")
def today_page(visit: Visit) -> Shown:
    """The sessions and the memories of the reader's day."""
    zone = _zone(visit)
    now: datetime = visit.app.journal.moment().astimezone(zone)
    today = f"{now:%Y-%m-%d}"
    latest = visit.app.sessions.recent(**visit.place, limit=_SESSIONS)
    sessions = [one for one in latest if _day(one.last_activity_at or one.started_at, zone) == today]
    return Shown(
        "today.html",
        {
            "day": today,
            "sessions": sessions,
            "counts": {one.id: counts(visit.app.store, one.id) for one in sessions},
            "saved": [row for row in _saved_last(visit) if _day(row.created_at, zone) == today],
        },
    )


@page("GET", "/ui/timeline")
def timeline_page(visit: Visit) -> Shown:
    """What was saved, by day, newest first."""
    zone = _zone(visit)
    rows = _saved_last(visit)
    days: list[tuple[str, list[Observation]]] = [
        (day, list(found)) for day, found in groupby(rows, key=lambda row: _day(row.created_at, zone))
    ]
    return Shown("timeline.html", {"days": days, "shown": len(rows), "all": len(rows) < _LOOKED_AT})


def _saved_last(visit: Visit) -> list[Observation]:
    """The observations that were saved last, newest first, up to 500 of them, and none between them left out.

    They are read in the order of the last change, which has an index. Nothing changes before it is saved: so what was
    saved after the oldest change that was read, is among them.
    """
    rows = visit.latest(_LOOKED_AT)
    since = min((row.updated_at for row in rows), default="") if len(rows) == _LOOKED_AT else ""
    found = [row for row in rows if row.created_at >= since]
    return sorted(found, key=lambda row: (row.created_at, row.id), reverse=True)


@page("GET", "/ui/worth")
def worth_page(visit: Visit) -> Shown:
    """What the memory took of agents' context, and what of it was cited."""
    asked = visit.asked("days")
    cost = visit.app.costs.of(project=visit.project, days=_DAYS.get(asked))
    return Shown(
        "worth.html",
        {
            "cost": cost,
            "days": asked if asked in _DAYS else "",
            "spans": tuple(_DAYS),
            "cited": most_cited(visit.app.store, visit.project, limit=_TOP),
            # Without a transcript nobody knows what was cited, so nothing is known to be in vain.
            "in_vain": given_in_vain(visit.app.store, visit.project, limit=_TOP) if cost.cited else [],
        },
    )


@page("GET", "/ui/projects")
def projects_page(visit: Visit) -> Shown:
    return Shown("projects.html", {"lines": visit.app.projects.list()})
