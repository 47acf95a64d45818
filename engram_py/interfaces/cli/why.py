"""``engram why``: what a hook would inject for a prompt, what it looked for, and what a search finds."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from engram_py.dataclass import replace
from engram_py.doors import through
from engram_py.errors import EmptyQueryError
from engram_py.interfaces.cli.support import json_option, memory, printable, refusing, text_argument

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.interfaces.hooks.prompt_context import Deserved
    from engram_py.recall.values import Near, Results

_SEARCHED, _QUERY_CHARS = 5, 200
_TRIVIAL = "it only keeps an agent going, so the hook does not open the memory"
_REASONS = {
    "off": "it is switched off (`engram on --status`)",
    "no_project": "the hook reads one project, and this folder does not name one (`engram projects current`)",
    "no_word": "no memory here has a word that says what it is about",
    "unlikely": "nothing there is likely to be needed for it",
    "shown_before": "the session was shown all of it before",
}


@click.command("why")
@click.argument("prompt", nargs=-1, required=True, help="The prompt, as typed to an agent; - reads standard input.")
@click.option("--session", "session_id", default="", help="The session; what it was shown is not shown again.")
@json_option
@refusing
def why_command(prompt: tuple[str, ...], session_id: str, as_json: bool) -> None:
    """Show what the hook gives an agent for PROMPT, what it looked for, or why it stays silent.

    Also show what a search for the same words finds. Nothing is stored or counted.
    """
    from engram_py.capture.trivial_prompts import is_trivial
    from engram_py.interfaces.context_text import context_text

    text = text_argument(" ".join(prompt))
    if not text.strip():
        raise EmptyQueryError(text)
    with ExitStack() as stack:
        app = stack.enter_context(memory(embedder=""))  # a hook loads no model either
        stack.enter_context(app.trail.paused())
        stack.enter_context(app.usage.paused())
        from engram_py.interfaces.hooks.prompt_context import deserved

        with through("mcp"):  # the words that a model would read
            off = not app.switches.allowed(app.projects.for_read(session_id=session_id).project, session_id).injects
            given = None if off or is_trivial(text) else deserved(app, text, session_id)
            shown = given.shown if given else None
            block = context_text(replace(shown, warnings=()), app.journal.moment()) if shown else ""
        found = app.searches.search(text, session_id=session_id or None, limit=_SEARCHED)
        values = _values(app, text, given, found, block, off=off)
    if as_json:
        import json

        click.echo(json.dumps(values, ensure_ascii=False, indent=2))
    else:
        click.echo(printable(_words(values, found, app)))


def _values(
    app: Engram, prompt: str, given: Deserved | None, found: Results, block: str, *, off: bool
) -> dict[str, Any]:
    from engram_py.interfaces import render
    from engram_py.interfaces.context_text import not_merged

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
    from engram_py.recall.score.evidence import bar

    values = {"id": one.id, "title": one.title, "words": list(one.words)}
    return values | {"probability": round(one.probability, 3), "needed": bar("unasked")}


def _words(values: dict[str, Any], found: Results, app: Engram) -> str:
    from engram_py.interfaces import render

    lines = []
    if values["heard"] is not None:
        where = f", looked in {values['looked_in']}" if values["looked_in"] else ""
        lines.append(f"Found by: {values['heard']}{where}.")
    if values["reason"]:
        why = values["not_merged"] or _REASONS.get(values["reason"], _TRIVIAL)
        lines.append(f"The agent is given nothing: {why}.")
        lines += [
            f"  [#{one['id']}] {one['title']} has {', '.join(one['words'])}:"
            f" {one['probability']:.0%} likely to be needed, {one['needed']:.0%} is asked"
            for one in values["nearest"]
        ]
    else:
        lines += [f"The agent is given {len(values['given'].encode()) // 4} tokens:", "", values["given"]]
    return "\n".join([*lines, "", "A search for the same words:", render.text(found, now=app.journal.moment())])
