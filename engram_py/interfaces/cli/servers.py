"""``engram mcp`` and ``engram serve``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from engram_py.errors import EngramError
from engram_py.files import expanded
from engram_py.interfaces.cli.commands import PATH, here, refusing, settings
from engram_py.settings import Settings


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


@click.command("serve")
@click.argument("port", required=False, type=click.IntRange(0, 65_535), help="Default: ENGRAM_PORT, else 7437.")
@click.option("--port", "port_option", type=click.IntRange(0, 65_535), help="The same as the argument PORT.")
@click.option("--host", default="127.0.0.1", show_default=True, help="One beyond loopback needs ENGRAM_HTTP_TOKEN.")
@click.option("--socket", "path", type=PATH, help="A unix socket instead of a port.")
@click.option("--project", help="The project of every request that names none.")
@click.option("--tools", help="What /mcp offers: core (default), agent, admin, all, or tool names.")
@click.option("--unit", type=click.Choice(["systemd", "launchd"]), help="Print a unit file that starts the server.")
@click.option("--token", "show_token", is_flag=True, help="Print the token that requests must show, and end.")
@refusing
def serve_command(
    port: int | None,
    port_option: int | None,
    host: str,
    path: Path | None,
    project: str | None,
    tools: str | None,
    unit: str | None,
    show_token: bool,
) -> None:
    """Serve the memory over HTTP, on this machine only: Engram's routes, /openapi.json, and MCP at /mcp.

    Requests show a token as `Authorization: Bearer TOKEN`, or come through a socket. SIGTERM and Ctrl-C end the server
    after the requests it is working on.
    """
    if port is not None and port_option is not None and port != port_option:
        raise click.UsageError(f"two ports: {port} and --port {port_option}; give one")
    port = port_option if port is None else port
    if path is not None and port is not None:
        raise click.UsageError("a socket and a port exclude each other")
    loaded = settings()
    if unit is not None:
        click.echo(_unit(unit, port, host, path, project, tools), nl=False)
        return
    if show_token:
        from engram_py.interfaces.web.access import Access

        click.echo(loaded.http_token or Access(loaded.data_dir).bearer())
        return
    if path is None and port is None and loaded.socket:
        path = expanded(loaded.socket)
    from engram_py.interfaces.http.application import Address, serve

    address = Address(host, loaded.port if port is None else port, here() / path if path else None)
    serve(
        loaded,
        address,
        directory=here(),
        project=project,
        tools=tools,
        announce=lambda said: click.echo(said, err=True),
    )


def _unit(kind: str, port: int | None, host: str, path: Path | None, project: str | None, tools: str | None) -> str:
    from engram_py.interfaces.http.server import launchd_unit, systemd_unit

    command = [sys.executable, "-m", "engram_py", "serve"]
    command += [str(port)] if port is not None else []
    command += ["--host", host] if host != "127.0.0.1" else []
    command += ["--socket", str(here() / path)] if path else []
    command += ["--project", project] if project else []
    command += ["--tools", tools] if tools else []
    kept = ("ENGRAM_DATA_DIR", "ENGRAM_PORT", "ENGRAM_SOCKET", "ENGRAM_PROJECT", "ENGRAM_TOOLS")
    environment = {name: os.environ[name] for name in kept if os.environ.get(name)}
    return (systemd_unit if kind == "systemd" else launchd_unit)(command, environment)
