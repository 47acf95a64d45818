"""``engram mcp``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from engram_py.config import Settings
from engram_py.errors import EngramError
from engram_py.interfaces.cli.support import refusing, settings


@click.command("mcp")
@click.option("--tools", help="core (default), agent, admin, all, or tool names, comma-separated.")
@click.option("--project", help="The project of every call that names none.")
@refusing
def mcp_command(tools: str | None, project: str | None) -> None:
    """Run the MCP server on stdin and stdout, as an agent starts it. It ends when stdin closes."""
    failure: EngramError | None = None
    try:
        chosen = settings()
    except EngramError as exc:
        # A server that ends at once shows its user no reason; one that answers its first call with it does.
        chosen, failure = Settings(Path()), exc
    if sys.stdin is not None and sys.stdin.isatty():
        click.echo("This is an MCP server for an agent to start; README.md says how. Ctrl-C ends it.", err=True)
    from engram_py.interfaces.mcp.stdio import serve_stdio

    serve_stdio(chosen, tools=tools, project=project, failure=failure)
