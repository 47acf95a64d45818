"""The command that computes vectors, or says how far they are."""

from __future__ import annotations

import click

from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.cli.support import json_option, memory, progress, refusing, show


@click.command("embed")
@click.option("--now", "now", is_flag=True, help="Compute what is pending; downloads the model if it has to.")
@click.option("--clear", "clear", is_flag=True, help="Delete all vectors; they can be computed again.")
@json_option
@refusing
def embed_command(now: bool, clear: bool, as_json: bool) -> None:
    """Say how far vectors are computed, or compute what is pending.

    Vectors are optional: `pip install "engram-py[vectors]"` and the setting `embedder`. A running server computes them
    after each save; this command is for the first time, and for a machine where no server stays running.
    """
    if now and clear:
        raise InvalidArgumentError("--clear", "given with --now", expected="given alone")
    with memory() as app:
        if clear:
            show(app.vectors.clear(), app, as_json=as_json)
        elif now:
            with progress("Computing vectors") as report:
                done = app.vectors.compute(progress=report)
            show(done, app, as_json=as_json)
        else:
            show(app.vectors.state(ask=True), app, as_json=as_json)
