"""Today: the sessions of the reader's day, each with what it was given, what it saved and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram_py.dataclass import dataclass
from engram_py.interfaces.web.changes import version_of
from engram_py.interfaces.web.pages_lists import day_of, saved_last, zone_of
from engram_py.interfaces.web.visit import Shown, Visit, page
from engram_py.ledger.given import Given, GivenCounts, counts, given_to_session
from engram_py.observations.values import Observation
from engram_py.sessions.values import SessionLine

_SESSIONS, _GIVEN, _SAVED = 40, 5, 10


@dataclass(frozen=True, slots=True)
class _Today:
    """A session, the memories that it was given and those that it saved today, the latest first."""

    session: SessionLine
    counts: GivenCounts
    given: Sequence[Given]
    saved: Sequence[Observation]


@page("GET", "/ui/today")
def today_page(visit: Visit) -> Shown:
    """Return the sessions and the notes of the day, and the version of the memory that they were read from."""
    version = version_of(visit.app.store)
    local = zone_of(visit)
    now: datetime = visit.app.journal.moment().astimezone(local)
    today = f"{now:%Y-%m-%d}"
    latest = visit.app.sessions.recent(**visit.place, limit=_SESSIONS)
    active = [one for one in latest if day_of(one.last_activity_at or one.started_at, local) == today]
    saved = [row for row in saved_last(visit) if day_of(row.created_at, local) == today]
    shown = {one.id for one in active}
    return Shown(
        "today.html",
        {
            "day": today,
            "version": version,
            "sessions": [_of(visit, one, saved) for one in active],
            "notes": [row for row in saved if row.type == "note"],
            "others": [row for row in saved if row.type != "note" and row.session_id not in shown],
            "most_given": _GIVEN,
            "most_saved": _SAVED,
        },
    )


def _of(visit: Visit, session: SessionLine, saved: Sequence[Observation]) -> _Today:
    given = sorted(given_to_session(visit.app.store, session.id), key=lambda one: one.at, reverse=True)
    own = [row for row in saved if row.session_id == session.id]
    return _Today(session, counts(visit.app.store, session.id), given, own)
