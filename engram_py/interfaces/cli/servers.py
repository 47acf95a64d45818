"""``engram mcp``, ``engram serve``, ``engram open`` (the page in a browser) and ``engram tui`` (the memory in this
terminal).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from engram_py.base.errors import EngramError, TerminalError
from engram_py.base.files import expanded, here
from engram_py.interfaces.cli.commands import PATH, json_command, memory, print_value, refusing, settings, value_command


@click.command("mcp")
@click.option(
    "--tools", help="Profiles (core, agent, admin, layers, all) or tool names, comma-separated. Default: core."
)
@click.option("--project", help="The project of calls that name none.")
@refusing
def mcp_command(tools: str | None, project: str | None) -> None:
    """Run the MCP server on stdin and stdout, as an agent starts it. It ends when stdin closes."""
    from engram_py.interfaces.mcp.stdio import serve_agent

    serve_agent(settings, tools=tools, project=project)


@click.command("serve")
@click.argument(
    "port", required=False, type=click.IntRange(0, 65_535), help="The port; default: ENGRAM_PORT, else 7437."
)
@click.option("--port", "port_option", type=click.IntRange(0, 65_535), help="The same as the argument PORT.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Other than 127.0.0.1 requires ENGRAM_HTTP_TOKEN.",
)
@click.option("--socket", "path", type=PATH, help="Listen on a unix socket instead of a port.")
@click.option("--project", help="The project of requests that name none.")
@click.option(
    "--tools",
    help="Tools of /mcp: profiles (core, agent, admin, layers, all) or names, comma-separated. Default: core.",
)
@click.option("--unit", type=click.Choice(["systemd", "launchd"]), help="Print a unit file that starts the server.")
@click.option("--token", "show_token", is_flag=True, help="Print the token that requests need, and exit.")
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
    """Serve the memory over HTTP, on this machine only: the original Engram's routes, /openapi.json, and MCP at /mcp.

    Requests need the header `Authorization: Bearer TOKEN`, unless they use a socket. On SIGTERM or Ctrl-C the server
    finishes open requests, then exits.
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
    from engram_py.interfaces.serve import Address, serve

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
    from engram_py.interfaces.setup.services import launchd_unit, systemd_unit

    command = [sys.executable, "-m", "engram_py", "serve"]
    command += [str(port)] if port is not None else []
    command += ["--host", host] if host != "127.0.0.1" else []
    command += ["--socket", str(here() / path)] if path else []
    command += ["--project", project] if project else []
    command += ["--tools", tools] if tools else []
    kept = ("ENGRAM_DATA_DIR", "ENGRAM_PORT", "ENGRAM_SOCKET", "ENGRAM_PROJECT", "ENGRAM_TOOLS")
    environment = {name: os.environ[name] for name in kept if os.environ.get(name)}
    return (systemd_unit if kind == "systemd" else launchd_unit)(command, environment)


_SECONDS, _PAUSE, _ASKING = 15.0, 0.1, 2.0


@click.command("open")
@click.option("--port", type=click.IntRange(1, 65_535), help="The server's port; default: ENGRAM_PORT.")
@click.option("--print", "print_only", is_flag=True, help="Print the link without opening a browser.")
@click.option("--project", help="The project to show; default: the project of this folder, if it has memories.")
@click.option("--stop", is_flag=True, help="Stop the server that this command started.")
@json_command
def open_command(port: int | None, print_only: bool, project: str | None, stop: bool, as_json: bool) -> None:
    """Open a page in your browser: the memory, what agents got, and why.

    It starts `engram serve` in the background if needed; `engram open --stop` ends it. The link works once, within ten
    minutes; the browser then has access for a week. Deleting page.key in the data directory ends all access.
    """
    from engram_py.interfaces.web.access import Access

    with memory(embedder="") as app:
        port = app.settings.port if port is None else port
        access = Access(app.settings.data_dir)
        if stop:
            ended = stop_server(app.settings.data_dir, app.browsing.instance(), access.bearer())
            said = (
                f"Stopped the server on port {ended}." if ended else "No server that this command started is running."
            )
            print_value({"stopped": ended}, said, as_json=as_json)
            return
        _ensure_server(app.browsing.instance(), port, access.bearer(), app.settings.data_dir)
        named = app.projects.existing(project) if project else project_here(app)
        token = access.link_token()
    link = f"http://127.0.0.1:{port}/ui/enter?{_query(token, named)}"
    print_value({"link": link, "port": port}, link, as_json=as_json)
    if not (print_only or as_json):
        import webbrowser

        # Everybody sees the words that a browser is started with, so these name a file that leads to the link.
        if not webbrowser.open(access.leading_to(link, token).as_uri()):
            click.echo("No browser was found: open the link above in one on this machine.", err=True)


def project_here(app: Any) -> str:
    try:
        return str(app.projects.existing(app.projects.current().project or ""))
    except EngramError:
        return ""


def _query(token: str, project: str) -> str:
    from urllib.parse import urlencode

    return urlencode({"token": token} | ({"project": project} if project else {}))


STARTED = "page-server"  # process and port of the server that this command started


def stop_server(data_dir: Path, instance: str, secret: str) -> int | None:
    """End the server that `engram open` started, if it still serves this memory; return its port."""
    try:
        process, port = map(int, (data_dir / STARTED).read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return None
    (data_dir / STARTED).unlink(missing_ok=True)
    if _instance_at(port, secret) != instance:
        return None
    with suppress(OSError):  # it ended meanwhile
        os.kill(process, signal.SIGTERM)
    return port


def _ensure_server(instance: str, port: int, secret: str, data_dir: Path) -> None:
    """Raises ServeError (not_started, port_taken)."""
    from engram_py.base.errors import ServeError

    found = _instance_at(port, secret)
    if found is None:
        process = _start(port)
        (data_dir / STARTED).write_text(f"{process} {port}\n", encoding="ascii")
        until = time.monotonic() + _SECONDS
        while not found and time.monotonic() < until:  # one that is still starting may accept and not answer yet
            time.sleep(_PAUSE)
            found = _instance_at(port, secret)
    if found is None:
        raise ServeError(
            f"no server answered on port {port} within {_SECONDS:.0f} seconds",
            hint=f"`engram serve {port}` in a terminal says why",
            code="not_started",
        )
    if found != instance or not _has_page(port, secret):
        why = "serves this memory without its page: it is open to other machines, or too old"
        if found != instance:
            why = "serves another memory" if found else "is another program's"
        raise ServeError(
            f"port {port} {why}", hint="choose another port: `engram open --port NUMBER`", code="port_taken"
        )


def _instance_at(port: int, secret: str) -> str | None:
    """The memory that is served there; empty for another program, None where nobody listens."""

    try:
        answer = json.loads(_asked(port, "/health", secret)[1])
    except ConnectionRefusedError:
        return None
    except (OSError, ValueError):
        return ""
    return str(answer.get("instance_id", "")) if isinstance(answer, dict) else ""


def _has_page(port: int, secret: str) -> bool:
    try:
        return _asked(port, "/ui/static/style.css", secret)[0] == 200
    except OSError:
        return False


def _asked(port: int, path: str, secret: str) -> tuple[int, bytes]:
    """Return the status and the beginning of an answer. Raises OSError."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_ASKING)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {secret}"})
        answer = connection.getresponse()
        return answer.status, answer.read(10_000)
    except http.client.HTTPException as exc:
        raise OSError(str(exc)) from exc
    finally:
        connection.close()


def _start(port: int) -> int:
    from engram_py.interfaces.background import start_in_background

    root = click.get_current_context().find_root().obj
    more = ["--data-dir", root] if root else []
    return start_in_background("engram_py", *more, "serve", str(port), folder=here())


def is_terminal() -> bool:
    """Return whether all three streams are a terminal: the screen is drawn on standard error."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


@click.command("tui")
@click.option("--project", help="The project to show first; default: the project of this folder, if it has memories.")
@refusing
def tui_command(project: str | None) -> None:
    """Show memories, sessions, search, review, guards, projects and upkeep in this terminal; ? shows the keys.

    The screen shows new memories while agents save them.
    """
    if not is_terminal() or os.environ.get("TERM") == "dumb":
        why = "TERM is dumb" if is_terminal() else "input, output or errors go elsewhere"
        raise TerminalError(
            f"engram tui needs a terminal that it can draw on: {why}",
            hint="`engram list`, `engram search` and `engram sessions` print anywhere",
            code="no_terminal",
        )
    from engram_py.interfaces.tui.app import TerminalApp

    with memory(embedder="") as app:
        named = app.projects.existing(project) if project else project_here(app)
        TerminalApp(app, project=named or None).run()


@value_command("instance-id")
def instance_id_command() -> tuple[object, str]:
    """Print the id of this database, which its server shows as instance_id at /health."""
    with memory() as app:
        name = app.browsing.instance()
    return {"instance_id": name}, name
