"""``engram why``: what a hook would inject for a prompt, what it looked for, and what a search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engram_py.dataclass import replace
from engram_py.doors import through
from engram_py.errors import EmptyQueryError
from engram_py.interfaces.cli.commands import memory, prints_value
from engram_py.interfaces.cli.terminal import text_argument

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.interfaces.hooks.prompt_context import Deserved
    from engram_py.recall.values import Near, Results

_SEARCHED, _QUERY_CHARS = 5, 200


@click.command("why")
@click.argument("prompt", nargs=-1, required=True, help="The prompt, as typed to an agent; - reads standard input.")
@click.option("--session", "session_id", default="", help="The session; what it was shown is not shown again.")
@prints_value
def why_command(prompt: tuple[str, ...], session_id: str) -> tuple[object, str]:
    """Show what the hook gives an agent for PROMPT, what it looked for, or why it stays silent.

    Also show what a search for the same words finds. Nothing is stored or counted.
    """
    from engram_py.capture.trivial_prompts import is_trivial
    from engram_py.interfaces.hooks.prompt_context import deserved
    from engram_py.interfaces.wording import render
    from engram_py.interfaces.wording.context import context_text
    from engram_py.interfaces.wording.why import why

    text = text_argument(" ".join(prompt))
    if not text.strip():
        raise EmptyQueryError(text)
    with memory(embedder="") as app, app.usage.paused():  # a hook loads no model either
        with through("mcp"):  # the words that a model would read
            off = not app.switches.allowed(app.projects.for_read(session_id=session_id).project, session_id).injects
            given = None if off or is_trivial(text) else deserved(app, text, session_id)
            shown = given.shown if given else None
            block = context_text(replace(shown, warnings=()), app.journal.moment()) if shown else ""
        found = app.searches.search(text, session_id=session_id or None, limit=_SEARCHED, recorded=False)
        values = _values(app, text, given, found, block, off=off)
        search = render.text(found, now=app.journal.moment())
    return values, why(values, search)


def _values(
    app: Engram, prompt: str, given: Deserved | None, found: Results, block: str, *, off: bool
) -> dict[str, Any]:
    from engram_py.interfaces.wording import render
    from engram_py.interfaces.wording.context import not_merged

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
        "search": render.to_json(found),
    }


def _near(one: Near) -> dict[str, Any]:
    from engram_py.recall.score.probability import bar

    values = {"id": one.id, "title": one.title, "words": list(one.words)}
    return values | {"probability": round(one.probability, 3), "needed": bar("unasked")}
