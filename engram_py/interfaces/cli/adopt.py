"""``engram import --from``: what other programs kept."""

from __future__ import annotations

from pathlib import Path

import click

from engram_py.interchange.importers import KINDS
from engram_py.interfaces.cli.support import here, memory, progress, show


def adopt(kind: str, path: Path | None, *, project: str | None, dry_run: bool, as_json: bool) -> None:
    """Import from ``path``, or from where the program of that kind keeps its memory."""
    usual = KINDS[kind][0]
    if path is None and not usual:
        raise click.UsageError(f"--from {kind} needs the path of the source")
    chosen = here() / path if path is not None else Path.home() / usual
    with memory() as app, progress("Importing") as report:
        done = app.adopting.adopt(kind, chosen, project=project, dry_run=dry_run, progress=report)
    show(done, app, as_json=as_json)
