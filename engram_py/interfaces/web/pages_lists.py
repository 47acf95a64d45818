"""Projects and the timeline: tables to look through."""

from __future__ import annotations

from datetime import tzinfo
from itertools import groupby

from engram_py.interfaces.web.visit import Shown, Visit, page
from engram_py.observations.values import Observation
from engram_py.times import parse_time

_LOOKED_AT = 500


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


@page("GET", "/ui/projects")
def projects_page(visit: Visit) -> Shown:
    return Shown("projects.html", {"lines": visit.app.projects.list()})
