"""``engram tui``: the memory in this terminal."""

from __future__ import annotations

import importlib.util
import os
import sys

import click

from engram_py.interfaces.cli.commands import memory, refusing
from engram_py.interfaces.cli.open import project_here
from engram_py.interfaces.tui.errors import NoTerminalError, TextualMissingError


def is_terminal() -> bool:
    """Return whether all three streams are a terminal: the screen is drawn on standard error."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


@click.command("tui")
@click.option("--project", help="The project to show first; default: the project of this folder, if it has memories.")
@refusing
def tui_command(project: str | None) -> None:
    """Show memories, sessions, a search and what waits for review in this terminal; ? shows the keys.

    Follows what agents save meanwhile. Needs the extra: pip install 'engram-py[tui]'.
    """
    if importlib.util.find_spec("textual") is None:
        raise TextualMissingError
    if not is_terminal():
        raise NoTerminalError("input, output or errors go elsewhere")
    if os.environ.get("TERM") == "dumb":
        raise NoTerminalError("TERM is dumb")
    from engram_py.interfaces.tui.app import TerminalApp

    with memory(embedder="") as app:
        named = app.projects.existing(project) if project else project_here(app)
        TerminalApp(app, project=named or None).run()
