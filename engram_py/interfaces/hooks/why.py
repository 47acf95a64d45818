"""Say what a prompt is given unasked and why, for a person: ``engram why`` and the page. No hook loads this."""

from __future__ import annotations

from typing import Any

from engram_py.app import Engram
from engram_py.capture.host_formats import is_trivial
from engram_py.dataclass import dataclass, replace
from engram_py.doors import through
from engram_py.interfaces.hooks.prompt_context import Deserved, deserved
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording.context import context_text, not_merged
from engram_py.recall.score import threshold
from engram_py.recall.values import Near, Results

_SEARCHED, _QUERY_CHARS = 5, 200


@dataclass(frozen=True, slots=True)
class Explained:
    """What a prompt is given, by name, and what a search for its words finds."""

    values: dict[str, Any]
    found: Results


def explained(app: Engram, prompt: str, session_id: str) -> Explained:
    """Return what a prompt's hook would give, and what a search for it finds. Nothing is stored or counted.

    Pass an ``app`` without an embedder: a hook loads no model either.
    """
    values = injected(app, prompt, session_id)
    with app.usage.paused():
        found = app.searches.search(prompt, session_id=session_id or None, limit=_SEARCHED, recorded=False)
    return Explained(values | {"search": render.to_json(found)}, found)


def injected(app: Engram, prompt: str, session_id: str) -> dict[str, Any]:
    """Return the context that the hook would give the agent, as ``given``, or the ``reason`` why there is none."""
    with app.usage.paused(), through("mcp"):  # the words that a model would read
        off = not app.switches.allowed(app.projects.for_read(session_id=session_id).project, session_id).injects
        given = None if off or is_trivial(prompt) else deserved(app, prompt, session_id)
        shown = given.shown if given else None
        block = context_text(replace(shown, warnings=()), app.journal.moment()) if shown else ""
        return _values(app, prompt, given, block, off=off)


def _values(app: Engram, prompt: str, given: Deserved | None, block: str, *, off: bool) -> dict[str, Any]:
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
        "nearest": [_near(one) for one in given.nearest] if given else [],
        "given": block,
    }


def _near(one: Near) -> dict[str, Any]:
    values = {"id": one.id, "title": one.title, "words": list(one.words)}
    return values | {"probability": round(one.probability, 3), "needed": threshold("unasked")}
