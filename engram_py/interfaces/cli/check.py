"""The command that compares what observations are about with the working tree."""

from __future__ import annotations

import sys

import click

from engram_py.interfaces.cli.support import json_option, memory, project_option, refusing, show


@click.command("check")
@click.option("--strict", is_flag=True, help="Exit with 1 when something went stale, or no file could be looked at.")
@project_option
@json_option
@refusing
def check_command(strict: bool, project: str | None, as_json: bool) -> None:
    """List observations whose files changed under them: what they say about the code may no longer be true."""
    with memory() as app:
        checked = app.anchors.check(project)
        show(checked, app, as_json=as_json)
    if strict and (checked.stale or checked.blind):
        sys.exit(1)
