"""The pages of sessions: what each was given, saved and cost; and what a prompt would be given."""

from __future__ import annotations

from typing import Any

from engram_py.base.dataclass import fields
from engram_py.interfaces.screen_values import (
    Explained,
    as_a_hook,
    explained,
    session_given,
    session_names,
    start_text,
)
from engram_py.interfaces.web.visit import (
    Shown,
    Visit,
    neighbours,
    page,
    page_number,
)
from engram_py.interfaces.wording.context import why_nothing
from engram_py.memory.projects.table import latest_names
from engram_py.memory.sessions.citations import counts
from engram_py.memory.sessions.table import first_prompts

_LISTED = 20
_PROMPTS = 6


@page("GET", "/ui/given")
def sessions_page(visit: Visit) -> Shown:
    """Return the sessions, the latest first, with how much each was given; those with nothing in them apart."""
    number = page_number(visit)
    found = visit.app.sessions.page(**visit.place, limit=_LISTED + 1, offset=_LISTED * number)
    sessions = found[:_LISTED]
    told = {one.id: counts(visit.app.store, one.id) for one in sessions}
    asked = set(first_prompts(visit.app.store, [one.id for one in sessions], each=1))
    full = [one for one in sessions if one.observations or one.summary or told[one.id].given or one.id in asked]
    values: dict[str, object] = {
        "sessions": full,
        "empty": [one for one in sessions if one not in full],
        "counts": told,
        "names": session_names(visit.app, sessions),
    }
    values |= neighbours(number, more=len(found) > _LISTED)
    return Shown("sessions.html", values)


@page("GET", "/ui/session")
def session_page(visit: Visit) -> Shown:
    """One session: its start, its prompts, the latest page of them first, and what else it was shown."""
    found = session_given(visit.app, visit.query.get("id", ""))
    number = page_number(visit)
    end = max(0, len(found.prompts) - _PROMPTS * number)
    prompts, more = found.prompts[max(0, end - _PROMPTS) : end], end > _PROMPTS
    shown = [one for rows in (*found.sections.values(), *(ask.given for ask in prompts)) for one in rows]
    texts = {row.id: row.content for row in visit.app.browsing.whole([one.id for one in shown]) if not row.deleted_at}
    values = {one.name: getattr(found, one.name) for one in fields(found)} | neighbours(number, more=more)
    values |= {"texts": texts, "prompts": prompts, "all_prompts": len(found.prompts) + found.earlier}
    return Shown("session.html", values | {"name": session_names(visit.app, [found.session])[found.session.id]})


@page("GET", "/ui/ask")
def ask_page(visit: Visit) -> Shown:
    """Return what a prompt would be given, and what a session that starts now begins with."""
    prompt, project = visit.query.get("prompt", ""), visit.project or next(iter(latest_names(visit.app.store)), None)
    session_id = visit.asked("session")
    values: dict[str, Any] = {"prompt": prompt, "session": session_id, "found": None, "why": "", "start": None}
    values["asked_in"] = project
    if prompt.strip():
        found: Explained = explained(as_a_hook(visit.app, project=project), prompt, session_id, door="cli")
        results = visit.app.browsing.whole([hit.id for hit in found.found.results])
        values |= {"found": found, "why": why_nothing(found.values), "results": results}
    elif project is not None:
        values["start"] = start_text(visit.app, project)
    return Shown("ask.html", values)
