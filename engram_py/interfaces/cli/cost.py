"""``engram cost``: what the memory takes of the agents' context, and what of it was of use."""

from __future__ import annotations

from dataclasses import replace

import click

from engram_py.interfaces.cli.support import json_option, memory, refusing, show


@click.command("cost")
@click.option("--session", "session_id", help="Count one session only.")
@click.option("--project", help="Count one project only; default: all of them.")
@click.option("--days", type=click.IntRange(min=1), help="Count the last days only, today included (UTC).")
@json_option
@refusing
def cost_command(session_id: str | None, project: str | None, days: int | None, as_json: bool) -> None:
    """Show what answers and injections took in tokens (bytes / 4), which memories were injected, recalled, cited and
    never used, and what the tools' schemas and the instructions cost each session.

    Answers through hooks, MCP and HTTP are counted, on this machine only; those of the command line are not.
    """
    from engram_py.interfaces.mcp.sizes import profile_costs

    with memory() as app:
        cost = app.costs.of(session_id=session_id, project=project, days=days)
        show(replace(cost, profiles=profile_costs()), app, as_json=as_json)
