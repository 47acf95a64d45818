"""``engram why``: what a hook would inject for a prompt, what it looked for, and what a search finds."""

from __future__ import annotations

import click

from engram_py.errors import EmptyQueryError
from engram_py.interfaces.cli.commands import memory, prints_value
from engram_py.interfaces.cli.terminal import text_argument


@click.command("why")
@click.argument("prompt", nargs=-1, required=True, help="The prompt, as typed to an agent; - reads standard input.")
@click.option("--session", "session_id", default="", help="The session; what it was shown is not shown again.")
@prints_value
def why_command(prompt: tuple[str, ...], session_id: str) -> tuple[object, str]:
    """Show what the hook gives an agent for PROMPT, what it looked for, or why it stays silent.

    Also show what a search for the same words finds. Nothing is stored or counted.
    """
    from engram_py.interfaces.hooks.why import explained
    from engram_py.interfaces.wording import render
    from engram_py.interfaces.wording.why import why

    text = text_argument(" ".join(prompt))
    if not text.strip():
        raise EmptyQueryError(text)
    with memory(embedder="") as app:  # a hook loads no model either
        done = explained(app, text, session_id)
        search = render.text(done.found, now=app.journal.moment())
    return done.values, why(done.values, search)
