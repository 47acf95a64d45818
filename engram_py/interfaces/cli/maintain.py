"""``engram maintain``, ``engram runs`` and ``engram hot``: the passes of upkeep, and what they and use tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engram_py.interfaces.cli.commands import limit_option, prints_result, project_options

if TYPE_CHECKING:
    from engram_py.app import Engram


@click.command("maintain")
@click.argument(
    "name", metavar="[PASS]", required=False, help="heartbeat, consolidate or synthesize; default: what is due."
)
@prints_result
def maintain_command(app: Engram, name: str | None) -> object:
    """Tend the memory now: notice names, let what nobody uses fade, write summaries.

    Servers do that by themselves, and so does the end of a session. Only what was derived fades or is put away.
    """
    return app.maintenance.run(name)


@click.command("runs")
@click.argument("name", metavar="[PASS]", required=False, help="Only this pass.")
@limit_option(20)
@prints_result
def runs_command(app: Engram, name: str | None, limit: int) -> object:
    """List the latest runs of upkeep: what they did, and how long they took."""
    return app.upkeep_reports.runs(name=name, limit=limit)


@click.command("hot")
@click.argument("count", metavar="[N]", type=int, required=False, default=10, help="How many of each.")
@project_options
@prints_result
def hot_command(app: Engram, count: int, project: str | None, *, all_projects: bool) -> object:
    """List the memories and the entities that are used most."""
    return app.upkeep_reports.hot(limit=count, project=project, all_projects=all_projects)
