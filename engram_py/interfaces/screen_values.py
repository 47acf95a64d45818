"""Values that the page, the terminal and `engram why` show: what a session was given and why, and what waits for a
person's review. No hook loads this.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from engram_py.app import Engram
from engram_py.base.capture.host_formats import is_trivial
from engram_py.base.capture.passive import goal
from engram_py.base.dataclass import dataclass, replace
from engram_py.guidance.context.prompt_gate import Gated, LookedUp
from engram_py.guidance.context.values import Context
from engram_py.guidance.ledger.costs import Cost
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording.acting import rule_and_use
from engram_py.interfaces.wording.context import context_text, not_merged, why_nothing
from engram_py.interfaces.wording.phrases import anchors, plain_line, whence
from engram_py.interfaces.wording.reasons import Door
from engram_py.memory.anchors.values import StaleLine
from engram_py.memory.observations.listing import HandEditLine, ReviewLine, UntakenLine
from engram_py.memory.observations.values import Observation
from engram_py.memory.privacy.provenance import WAITS
from engram_py.memory.relations.values import Relation
from engram_py.memory.sessions import table as session_table
from engram_py.memory.sessions.citations import Given, GivenCounts, counts, given_to_session
from engram_py.memory.sessions.values import Prompt, Session, SessionLine
from engram_py.recall.values import Related, Results
from engram_py.recall.vectors.vectors import Vectors
from engram_py.upkeep.distill.table import failures

_SEARCHED, _QUERY_CHARS = 5, 200


@dataclass(frozen=True, slots=True)
class Explained:
    """The memories that a prompt is given, by name, and those that a search for its words finds."""

    values: dict[str, Any]
    found: Results


def explained(app: Engram, prompt: str, session_id: str, *, door: Door) -> Explained:
    """Return what a prompt's hook would give, and what a search for it finds. Nothing is stored or counted.

    Pass an ``app`` without an embedder: a hook loads no model either.
    """
    values = injected(app, prompt, session_id)
    with app.usage.paused():
        found = app.searches.search(prompt, session_id=session_id or None, limit=_SEARCHED, recorded=False)
    return Explained(values | {"search": render.to_json(found, door)}, found)


def injected(app: Engram, prompt: str, session_id: str) -> dict[str, Any]:
    """Return the context that the hook would give the agent, as ``given``, or the ``reason`` why there is none."""
    with app.usage.paused():
        off = not app.switches.allowed(app.projects.for_read(session_id=session_id).project, session_id).injects
        given = None if off or is_trivial(prompt) else app.prompt_gate.gated(prompt, session_id)
        shown = given.shown if given else None
        block = _for_a_model(app, shown) if shown else ""
        return _values(app, prompt, given, block, off=off)


def _values(app: Engram, prompt: str, given: Gated | None, block: str, *, off: bool) -> dict[str, Any]:
    context = given.context if given else None
    reason = given.reason if given else "off" if off else "trivial"
    unmerged = ""
    if given and reason == "unlikely":  # asked outright, the same look-up says which branches hold what it needs
        unmerged = not_merged(app.contexts.assemble(query=prompt, mode="query"))
    return {
        "prompt": prompt[:_QUERY_CHARS],
        "reason": reason or None,
        "heard": context.cue if context else None,
        "looked_in": context.section if context else None,
        "not_merged": unmerged or None,
        "nearest": [_near(one, given.looked_up) for one in given.nearest] if given and given.looked_up else [],
        "given": block,
    }


def _near(one: Related, looked_up: LookedUp) -> dict[str, Any]:
    values = {"id": one.id, "title": one.title, "words": list(one.words)}
    return values | {"probability": round(one.probability, 3), "needed": looked_up.needed}


_FIRST, _NAME_CHARS = 3, 120
_PROMPTS, EXPLAINED = 200, 20
_SURFACES = {
    "session": "Given at the start",
    "pointer": "Titles given with a prompt",
    "compact": "Given after its context was compacted",
    "file": "Given before it edited a file",
    "subagent": "Given to its subagents",
    "project": "Given when it moved to another project",
}


def session_names(app: Engram, sessions: Sequence[SessionLine | Session]) -> dict[str, str]:
    """Return what each session is called, by its id: its first prompt that asks for something, else the goal of its
    summary, else what it saved."""
    asked = prompt_names(app, [one.id for one in sessions])
    saved = {one.id: f", {one.observations:,} saved" for one in sessions if isinstance(one, SessionLine)}
    unnamed = {one.id: f"No prompt{saved.get(one.id, '')}" for one in sessions}
    return {one.id: asked.get(one.id) or goal(one.summary or "") or unnamed[one.id] for one in sessions}


def called(row: Any) -> str:
    """Return the title of a memory; of a session's summary its goal: every one has the same title."""
    is_summary = row.type == "session_summary" and row.title.startswith("Session summary")
    return (goal(row.content) if is_summary else "") or str(row.title)


def prompt_names(app: Engram, sessions: Sequence[str]) -> dict[str, str]:
    """Return the first prompt of each session that asks for something, on a line; a session without one is left out."""
    found = session_table.first_prompts(app.store, sessions, each=_FIRST)
    asked = {one: next((text for text in texts if not is_trivial(text)), "") for one, texts in found.items()}
    return {one: plain_line(text, _NAME_CHARS) for one, text in asked.items() if text.strip()}


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
    why = why_nothing(now) or "none, it would get memory now"
    return AskedPrompt(prompt, (), why, now["heard"] or "", tuple(now["nearest"]))


def as_a_hook(app: Engram, *, project: str | None = None) -> Engram:
    """Return the memory as a hook reads it: without a model for vectors."""
    view = app.for_caller(None, project=project)
    view.vectors = Vectors(view.store, view.settings.clock)
    return view


def start_text(app: Engram, project: str) -> str:
    """Return the text that a session of the project begins with now."""
    view = as_a_hook(app, project=project)
    return _for_a_model(view, view.contexts.assemble(unasked=True))


def _for_a_model(app: Engram, context: Context) -> str:
    return context_text(replace(context, warnings=()), app.journal.calendar.local, "mcp")


_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Waiting:
    """A memory that waits for a person, and why. ``other`` is its text numbered ``version``, which a merge did not
    take."""

    row: Observation
    why: str
    other: str = ""
    version: int = 0


@dataclass(frozen=True, slots=True)
class FailedSession:
    """A session that a distiller failed on; ``state`` is ``dead`` where it gave up."""

    id: str
    project: str
    state: str
    detail: str


@dataclass(frozen=True, slots=True)
class Review:
    """Pairs without a verdict; memories with two texts after a merge, edited by hand, that read like an order, came
    from elsewhere, were derived, are overdue, whose files changed or whose text offers a guard; failed sessions."""

    pairs: Sequence[Relation]
    untaken: Sequence[Waiting]
    edited: Sequence[Waiting]
    orders: Sequence[Waiting]
    unchecked: Sequence[Waiting]
    derived: Sequence[Waiting]
    due: Sequence[Waiting]
    stale: Sequence[Waiting]
    offered: Sequence[Waiting]
    failed: Sequence[FailedSession]


def review(app: Engram, project: str | None) -> Review:
    """Return what waits in a project, in all of them for None, the first 50 of each kind."""
    place: dict[str, Any] = {"project": project, "all_projects": project is None, "limit": _SHOWN}
    due = app.observations.due_for_review(**place).items
    orders = app.browsing.quarantined(**place)
    held = {row.id for row in orders}
    unchecked = [row for row in app.browsing.unchecked(**place) if row.id not in held]
    derived = [row for row in app.browsing.unconfirmed(**place) if row.id not in held]
    overdue = {one.id: _due(app, one.review_after) for one in due if isinstance(one, ReviewLine)}
    untaken = {one.id: one for one in due if isinstance(one, UntakenLine)}
    stale = {one.id: anchors(one.anchors) for one in due if isinstance(one, StaleLine)}
    return Review(
        pairs=app.relations.pending(**place),
        untaken=[_untaken(row, untaken[row.id]) for row in app.browsing.whole(list(untaken))],
        edited=_waiting(app, {one.id: one.file for one in due if isinstance(one, HandEditLine)}),
        orders=[Waiting(row, _source(row)) for row in orders],
        unchecked=[Waiting(row, _source(row)) for row in unchecked],
        derived=[Waiting(row, "") for row in derived if row.unchecked in (None, WAITS)],
        due=_waiting(app, overdue),
        stale=_waiting(app, stale),
        offered=_waiting(app, {one.id: rule_and_use(one.rule) for one in app.guards.offered(**place)}),
        failed=[
            FailedSession(row["id"], row["project"], row["distill_state"], row["distill_detail"] or "")
            for row in failures(app.store)
            if project in (None, row["project"])
        ],
    )


def _due(app: Engram, moment: str) -> str:
    return (
        f"due {app.journal.calendar.day_of(moment)}"
        if moment
        else "more harm than help; agents get it only when they ask"
    )


def _waiting(app: Engram, why: Mapping[int, str]) -> list[Waiting]:
    return [Waiting(row, why[row.id]) for row in app.browsing.whole(list(why))]


def _untaken(row: Observation, one: UntakenLine) -> Waiting:
    title = f"{one.other_title}\n\n" if one.other_title != row.title else ""
    return Waiting(row, "", f"{title}{one.other}", one.version)


def _source(row: Observation) -> str:
    return ", ".join(whence(row.unchecked, row.author)) or {"import": "imported"}.get(row.origin, row.origin)
