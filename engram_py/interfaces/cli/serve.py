"""``engram mcp``."""

from __future__ import annotations

import click

from engram_py.interfaces.cli.support import refusing, settings


@click.command("mcp")
@click.option("--tools", help="core (default), agent, admin, all, or tool names, comma-separated.")
@click.option("--project", help="The project of every call that names none.")
@refusing
def mcp_command(tools: str | None, project: str | None) -> None:
    """Run the MCP server on stdin and stdout, as an agent starts it. It ends when stdin closes."""
    from engram_py.interfaces.mcp.server import serve_stdio

    serve_stdio(settings(), tools=tools, project=project)
