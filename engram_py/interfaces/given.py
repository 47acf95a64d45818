"""What a session was shown, and why prompts of it were given nothing: the values of the page and of the terminal."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from engram_py.app import Engram
from engram_py.dataclass import dataclass, replace
from engram_py.doors import through
from engram_py.interfaces.hooks.why import injected
from engram_py.interfaces.wording.context import context_text
from engram_py.interfaces.wording.why import why_nothing
from engram_py.ledger.given import Given, GivenCounts, counts, given_to_session
from engram_py.ledger.values import Cost
from engram_py.sessions import table as session_table
from engram_py.sessions.values import Prompt, Session
from engram_py.vectors.vectors import Vectors

_PROMPTS, EXPLAINED = 200, 20
_SURFACES = {
    "session": "Given at the start",
    "compact": "Given after its context was compacted",
    "file": "Given before it edited a file",
    "subagent": "Given to its subagents",
}


@dataclass(frozen=True, slots=True)
class AskedPrompt:
    """A prompt with what it was given. Of one that was given nothing: why it would be given nothing now, the words
    that were looked up, and the memories that came nearest."""

    prompt: Prompt
    given: tuple[Given, ...]
    why: str = ""
    words: str = ""
    nearest: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class SessionGiven:
    """A session, what it was shown outside of its prompts by heading, its latest prompts, and what it cost.

    ``earlier`` is the number of prompts before those.
    """

    session: Session
    counts: GivenCounts
    sections: Mapping[str, Sequence[Given]]
    prompts: Sequence[AskedPrompt]
    earlier: int
    cost: Cost


def session_given(app: Engram, session_id: str, *, explained: int = EXPLAINED) -> SessionGiven:
    """Return what a session was given. Nobody wrote down why a prompt was given nothing, so the ``explained`` latest
    of those are asked again. Raises SessionNotFoundError."""
    session = app.sessions.get(session_id)
    given = given_to_session(app.store, session.id)
    prompts = session_table.prompts_of(app.store, session.id)
    shown = prompts[-_PROMPTS:]
    sections = {title: [one for one in given if one.surface == surface] for surface, title in _SURFACES.items()}
    return SessionGiven(
        session=session,
        counts=counts(app.store, session.id),
        sections={title: rows for title, rows in sections.items() if rows},
        prompts=_asked(app, session.id, shown, [one for one in given if one.surface == "prompt"], explained),
        earlier=len(prompts) - len(shown),
        cost=app.costs.of(session_id=session.id),
    )


def _asked(
    app: Engram, session_id: str, prompts: Sequence[Prompt], given: Sequence[Given], explained: int
) -> list[AskedPrompt]:
    """Return each prompt with what it was given: a hook stores both in one transaction, the prompt first."""
    moments = [one.created_at for one in prompts]
    of: dict[int, list[Given]] = {}
    for one in given:
        place = bisect_right(moments, one.at) - 1
        if place >= 0:
            of.setdefault(prompts[place].id, []).append(one)
    silent = [one.id for one in prompts if one.id not in of]
    asked = silent[len(silent) - explained :] if explained < len(silent) else silent
    reader = as_a_hook(app)
    return [
        _asked_again(reader, one, session_id) if one.id in asked else AskedPrompt(one, tuple(of.get(one.id, ())))
        for one in prompts
    ]


def _asked_again(app: Engram, prompt: Prompt, session_id: str) -> AskedPrompt:
    now = injected(app, prompt.content, session_id)
    why = why_nothing(now) or "it would be given something now"
    return AskedPrompt(prompt, (), why, now["heard"] or "", tuple(now["nearest"]))


def as_a_hook(app: Engram, *, project: str | None = None) -> Engram:
    """Return the memory as a hook reads it: without a model for vectors."""
    view = app.standing_in(None, project=project)
    view.vectors = Vectors(view.store, view.settings.clock)
    return view


def start_text(app: Engram, project: str) -> str:
    """Return the text that a session of the project begins with now."""
    view = as_a_hook(app, project=project)
    with through("mcp"):  # the words that a model would read
        start = view.contexts.assemble(unasked=True)
        return context_text(replace(start, warnings=()), view.journal.moment())
