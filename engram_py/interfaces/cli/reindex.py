"""The command that rebuilds the search index."""

from __future__ import annotations

import click

from engram_py.interfaces.cli.support import json_option, memory, progress, refusing, show


@click.command("reindex")
@json_option
@refusing
def reindex_command(as_json: bool) -> None:
    """Rebuild what searches are answered from: derived terms and full-text indexes. Others may search and save
    meanwhile; stopped in the middle, the next run goes on from there."""
    with memory() as app, progress("Indexing") as report:
        rebuilt = app.reindexing.run(progress=report)
    show(rebuilt, app, as_json=as_json)
