"""What my agent got: what each session was given unasked, and what a prompt would be given now."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from engram_py.app import Engram
from engram_py.dataclass import dataclass, replace
from engram_py.doors import through
from engram_py.interfaces.hooks.why import Explained, explained, injected
from engram_py.interfaces.web.visit import Shown, Visit, page
from engram_py.interfaces.wording.context import context_text
from engram_py.interfaces.wording.why import why_nothing
from engram_py.ledger.given import Given, counts, given_to_session
from engram_py.sessions import table as session_table
from engram_py.sessions.values import Prompt
from engram_py.vectors.vectors import Vectors

_SESSIONS, _PROMPTS, _EXPLAINED = 40, 200, 20
_FIRST = {"session": "Given at the start", "compact": "Given after its context was compacted"}
_OTHER = {"file": "Given before it edited a file", "subagent": "Given to its subagents"}


@page("GET", "/ui/given")
def sessions_page(visit: Visit) -> Shown:
    """The latest sessions, with how much each was given."""
    sessions = visit.app.sessions.recent(**visit.place, limit=_SESSIONS)
    told = {one.id: counts(visit.app.store, one.id) for one in sessions}
    return Shown("sessions.html", {"sessions": sessions, "counts": told})


@dataclass(frozen=True, slots=True)
class _Asked:
    """A prompt with what it was given. Of one that was given nothing: why it would be given nothing now, the words
    that were looked up, and the memories that came nearest."""

    prompt: Prompt
    given: tuple[Given, ...]
    why: str = ""
    words: str = ""
    nearest: tuple[dict[str, Any], ...] = ()


@page("GET", "/ui/session")
def session_page(visit: Visit) -> Shown:
    """One session: its start, each prompt, and what else it was shown."""
    session = visit.app.sessions.get(visit.query.get("id", ""))
    given = given_to_session(visit.app.store, session.id)
    prompts = session_table.prompts_of(visit.app.store, session.id)
    shown = prompts[-_PROMPTS:]
    rows = visit.app.browsing.whole([one.id for one in given])
    texts = {row.id: row.content for row in rows if not row.deleted_at}
    sections = {title: [one for one in given if one.surface == surface] for surface, title in (_FIRST | _OTHER).items()}
    return Shown(
        "session.html",
        {
            "session": session,
            "texts": texts,
            "counts": counts(visit.app.store, session.id),
            "sections": {title: rows for title, rows in sections.items() if rows},
            "prompts": _asked(visit.app, session.id, shown, [one for one in given if one.surface == "prompt"]),
            "earlier": len(prompts) - len(shown),
            "cost": visit.app.costs.of(session_id=session.id),
        },
    )


def _asked(app: Engram, session_id: str, prompts: Sequence[Prompt], given: Sequence[Given]) -> list[_Asked]:
    """Return each prompt with what it was given: a hook stores both in one transaction, the prompt first.

    The reason for giving nothing is not stored, so the latest of those prompts are asked again.
    """
    moments = [one.created_at for one in prompts]
    of: dict[int, list[Given]] = {}
    for one in given:
        place = bisect_right(moments, one.at) - 1
        if place >= 0:
            of.setdefault(prompts[place].id, []).append(one)
    silent = [one.id for one in prompts if one.id not in of][-_EXPLAINED:]
    reader = _as_a_hook(app)
    return [
        _asked_again(reader, one, session_id) if one.id in silent else _Asked(one, tuple(of.get(one.id, ())))
        for one in prompts
    ]


def _asked_again(app: Engram, prompt: Prompt, session_id: str) -> _Asked:
    now = injected(app, prompt.content, session_id)
    why = why_nothing(now) or "it would be given something now"
    return _Asked(prompt, (), why, now["heard"] or "", tuple(now["nearest"]))


def _as_a_hook(app: Engram, *, project: str | None = None) -> Engram:
    """The memory as a hook reads it: without a model for vectors."""
    view = app.standing_in(None, project=project)
    view.vectors = Vectors(view.store, view.settings.clock)
    return view


@page("GET", "/ui/ask")
def ask_page(visit: Visit) -> Shown:
    """What a prompt would be given, and what a session that starts now begins with."""
    prompt, project = visit.query.get("prompt", ""), visit.project
    session_id = visit.asked("session")
    values: dict[str, Any] = {"prompt": prompt, "session": session_id, "found": None, "why": "", "start": None}
    view = _as_a_hook(visit.app, project=project)
    if prompt.strip():
        found: Explained = explained(view, prompt, session_id)
        values |= {"found": found, "why": why_nothing(found.values)}
    elif project is not None:
        with through("mcp"):  # the words that a model would read
            start = view.contexts.assemble(unasked=True)
            values["start"] = context_text(replace(start, warnings=()), view.journal.moment())
    return Shown("ask.html", values)
