"""What my agent got: what each session was given unasked, and what a prompt would be given now."""

from __future__ import annotations

from typing import Any

from engram_py.dataclass import fields
from engram_py.interfaces.given import as_a_hook, session_given, start_text
from engram_py.interfaces.hooks.why import Explained, explained
from engram_py.interfaces.web.visit import Shown, Visit, page
from engram_py.interfaces.wording.why import why_nothing
from engram_py.ledger.given import counts

_SESSIONS = 40


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
