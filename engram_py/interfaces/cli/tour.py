"""``engram tour``: what the repository answers before anything was saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engram_py.interfaces.cli.commands import prints_result, project_option
from engram_py.interfaces.cli.terminal import progress_bars

if TYPE_CHECKING:
    from engram_py.app import Engram


@click.command("tour")
@project_option
@prints_result
def tour_command(app: Engram, project: str | None) -> object:
    """Show the three most telling things that this repository's history and documents answer already."""
    with progress_bars() as report:
        app.documents.update(project=project, report=report)
    return app.documents.tour(project=project)
