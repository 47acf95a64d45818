"""Commands for what the memory costs and what it was worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engram_py.base.dataclass import replace
from engram_py.interfaces.cli.commands import (
    OBSERVATION_ID,
    limit_option,
    one_project_option,
    result_command,
)

if TYPE_CHECKING:
    from engram_py.app import Engram


@result_command("cost")
@click.option("--session", "session_id", help="Only this session.")
@one_project_option
@click.option("--days", type=click.IntRange(min=1), help="Only the last N days, with today.")
def cost_command(app: Engram, **options: Any) -> object:
    """Show how many tokens (bytes / 4) answers and hooks took, which memories were injected, recalled, cited and never
    used, and what tool schemas and instructions cost each session.

    Answers through hooks, MCP and HTTP are counted, on this machine only; those of the command line are not.
    """
    from engram_py.interfaces.mcp.profiles import profile_costs

    return replace(app.costs.of(**options), profiles=profile_costs())


@result_command("worth")
@click.argument("observation_id", metavar="[ID]", type=OBSERVATION_ID, required=False, help="Only this memory.")
@one_project_option
@click.option("--days", type=click.IntRange(min=1, max=3_650), help="Only memories given in the last N days.")
@limit_option(20)
def worth_command(app: Engram, observation_id: int | None, **options: Any) -> object:
    """Show how agents used the memories they got, compared with cases where none was given.

    Percentages need at least five cases. `ENGRAM_HOLDOUT=.1` gives no memory in a tenth of the cases, for comparison.
    """
    return app.worths.of(observation_id, **options)
