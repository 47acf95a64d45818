"""``engram tui``: the memory in this terminal."""

from __future__ import annotations

import importlib.util
import os
import sys

import click

from engram_py.interfaces.cli.commands import memory, refusing
from engram_py.interfaces.cli.open import project_here
from engram_py.interfaces.tui.errors import NoTerminalError, TextualMissingError


@click.command("tui")
@click.option("--project", help="The project to show first; default: the project of this folder, if it has memories.")
@refusing
def tui_command(project: str | None) -> None:
    """Show memories, sessions, a search and what waits for review in this terminal; ? shows the keys.

    Follows what agents save meanwhile. Needs the extra: pip install 'engram-py[tui]'.
    """
    if importlib.util.find_spec("textual") is None:
        raise TextualMissingError
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise NoTerminalError("input, output or errors go elsewhere")
    if os.environ.get("TERM") == "dumb":
        raise NoTerminalError("TERM is dumb")
    from engram_py.interfaces.tui.app import TerminalApp

    with memory(embedder="") as app:
        named = app.projects.existing(project) if project else project_here(app)
        TerminalApp(app, project=named or None).run()
