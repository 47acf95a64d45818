"""The pages that add up: what happened lately, and what memories were worth."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram_py.base.dataclass import dataclass
from engram_py.guidance.ledger.costs import never_used, session_tokens, weekly
from engram_py.interfaces.screen_values import (
    prompt_names,
    session_names,
)
from engram_py.interfaces.web.pages.search import saved_last
from engram_py.interfaces.web.visit import (
    Shown,
    Visit,
    day_of,
    page,
    version_of,
    zone_of,
)
from engram_py.interfaces.wording.costs import compared
from engram_py.memory.observations.values import Observation
from engram_py.memory.sessions.citations import Given, GivenCounts, counts, given_in_vain, given_to_session, most_cited
from engram_py.memory.sessions.values import SessionLine

_SESSIONS = 40
_GIVEN = 3
_SAVED = 3
_TOP = 10
_SHOWN = 4
_DAYS = {"7": 7, "30": 30, "365": 365}
# How many weeks are shown beside the sums of these days: one alone tells no trend.
_WEEKS = {"7": 8, "30": 13}
_MOST_WEEKS = 53


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
            "sessions": [_of(visit, one, saved) for one in active[:_SHOWN]],
            "names": session_names(visit.app, active[:_SHOWN]),
            "more": len(active) - _SHOWN,
            "notes": [row for row in saved if row.type == "note"][:_SAVED],
            "others": [row for row in saved if row.type != "note" and row.session_id not in shown][:_SAVED],
            "most_given": _GIVEN,
            "most_saved": _SAVED,
        },
    )


def _of(visit: Visit, session: SessionLine, saved: Sequence[Observation]) -> _Today:
    latest = sorted(given_to_session(visit.app.store, session.id), key=lambda one: one.at)
    given = list({one.id: one for one in latest}.values())[::-1]  # each once, as it is counted
    own = [row for row in saved if row.session_id == session.id]
    return _Today(session, counts(visit.app.store, session.id), given, own)


@page("GET", "/ui/worth")
def worth_page(visit: Visit) -> Shown:
    """Return what the memory took of agents' context, and what of it was cited."""
    asked, project, store = visit.asked("days"), visit.project, visit.app.store
    cost = visit.app.costs.of(project=project, days=_DAYS.get(asked))
    tokens = session_tokens(store, project, since=cost.since, limit=_SESSIONS)
    came = visit.app.worths.of(project=project, days=_DAYS.get(asked), limit=_TOP)
    return Shown(
        "worth.html",
        {
            "cost": cost,
            "came": came,
            "compared": [said for one in came.kinds if (said := compared(one))],
            "days": asked if asked in _DAYS else "",
            "weeks": weekly(store, project, calendar=visit.app.journal.calendar, weeks=_WEEKS.get(asked, _MOST_WEEKS)),
            "sessions": tokens,
            "names": prompt_names(
                visit.app, [*(one.id for one in tokens), *(one.id for one in cost.sessions if one.id)]
            ),
            "cited": most_cited(store, project, limit=_TOP),
            # Without a transcript nobody knows what was cited, so nothing is known to be in vain.
            "in_vain": given_in_vain(store, project, limit=_TOP) if cost.cited else [],
            "never_used": never_used(store, project, limit=_TOP),
        },
    )
