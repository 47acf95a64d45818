"""What sessions were given, saved and cost: today, each of them, what a prompt would get now, and what it was worth."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from engram_py.dataclass import dataclass, fields
from engram_py.interfaces.given import as_a_hook, session_given, start_text
from engram_py.interfaces.hooks.why import Explained, explained
from engram_py.interfaces.web.changes import version_of
from engram_py.interfaces.web.pages_search import day_of, saved_last, zone_of
from engram_py.interfaces.web.visit import Shown, Visit, page
from engram_py.interfaces.wording.why import why_nothing
from engram_py.ledger.given import Given, GivenCounts, counts, given_in_vain, given_to_session, most_cited
from engram_py.ledger.trends import never_used, session_tokens, weekly
from engram_py.observations.values import Observation
from engram_py.sessions.values import SessionLine

_SESSIONS, _GIVEN, _SAVED = 40, 5, 10
_TOP = 10
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


@page("GET", "/ui/given")
def sessions_page(visit: Visit) -> Shown:
    """Return the latest sessions, with how much each was given."""
    sessions = visit.app.sessions.recent(**visit.place, limit=_SESSIONS)
    told = {one.id: counts(visit.app.store, one.id) for one in sessions}
    return Shown("sessions.html", {"sessions": sessions, "counts": told})


@page("GET", "/ui/session")
def session_page(visit: Visit) -> Shown:
    """One session: its start, each prompt, and what else it was shown."""
    found = session_given(visit.app, visit.query.get("id", ""))
    shown = [one for rows in (*found.sections.values(), *(ask.given for ask in found.prompts)) for one in rows]
    texts = {row.id: row.content for row in visit.app.browsing.whole([one.id for one in shown]) if not row.deleted_at}
    return Shown("session.html", {one.name: getattr(found, one.name) for one in fields(found)} | {"texts": texts})


@page("GET", "/ui/ask")
def ask_page(visit: Visit) -> Shown:
    """Return what a prompt would be given, and what a session that starts now begins with."""
    prompt, project = visit.query.get("prompt", ""), visit.project
    session_id = visit.asked("session")
    values: dict[str, Any] = {"prompt": prompt, "session": session_id, "found": None, "why": "", "start": None}
    if prompt.strip():
        found: Explained = explained(as_a_hook(visit.app, project=project), prompt, session_id)
        values |= {"found": found, "why": why_nothing(found.values)}
    elif project is not None:
        values["start"] = start_text(visit.app, project)
    return Shown("ask.html", values)


@page("GET", "/ui/worth")
def worth_page(visit: Visit) -> Shown:
    """Return what the memory took of agents' context, and what of it was cited."""
    asked, project, store = visit.asked("days"), visit.project, visit.app.store
    cost = visit.app.costs.of(project=project, days=_DAYS.get(asked))
    today = visit.app.journal.moment().astimezone(UTC).date()
    return Shown(
        "worth.html",
        {
            "cost": cost,
            "days": asked if asked in _DAYS else "",
            "spans": tuple(_DAYS),
            "weeks": weekly(store, project, today=today, weeks=_WEEKS.get(asked, _MOST_WEEKS)),
            "sessions": session_tokens(store, project, since=cost.since, limit=_SESSIONS),
            "cited": most_cited(store, project, limit=_TOP),
            # Without a transcript nobody knows what was cited, so nothing is known to be in vain.
            "in_vain": given_in_vain(store, project, limit=_TOP) if cost.cited else [],
            "never_used": never_used(store, project, limit=_TOP),
        },
    )
