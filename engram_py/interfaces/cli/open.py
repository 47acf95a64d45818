"""``engram open``: the page of this memory in a browser."""

from __future__ import annotations

import time
from typing import Any

import click

from engram_py.errors import EngramError
from engram_py.interfaces.cli.commands import here, json_command, memory
from engram_py.interfaces.cli.terminal import print_value

_SECONDS, _PAUSE, _ASKING = 15.0, 0.1, 2.0


@click.command("open")
@click.option("--port", type=click.IntRange(1, 65_535), help="Where the server is, or is to be; default: ENGRAM_PORT.")
@click.option("--print", "print_only", is_flag=True, help="Print the link, and open no browser.")
@click.option("--project", help="The project to show; default: the project of this folder, if it has memories.")
@json_command
def open_command(port: int | None, print_only: bool, project: str | None, as_json: bool) -> None:
    """Open the page that shows what is remembered, what agents were given, and why.

    Starts `engram serve` in the background where it does not run. The link works once, within ten minutes; the browser
    is let in for a week. Deleting page.key in the data directory ends every visit.
    """
    from engram_py.interfaces.web.access import Access

    with memory(embedder="") as app:
        port = app.settings.port if port is None else port
        access = Access(app.settings.data_dir)
        _ensure_server(app.browsing.instance(), port, access.bearer())
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


def _ensure_server(instance: str, port: int, secret: str) -> None:
    """Raises PortTakenError, NotStartedError."""
    from engram_py.interfaces.web.errors import NotStartedError, PortTakenError

    found = _instance_at(port, secret)
    if found is None:
        _start(port)
        until = time.monotonic() + _SECONDS
        while not found and time.monotonic() < until:  # one that is still starting may accept and not answer yet
            time.sleep(_PAUSE)
            found = _instance_at(port, secret)
    if found is None:
        raise NotStartedError(port, _SECONDS)
    if found != instance:
        raise PortTakenError(port, "serves another memory" if found else "is another program's")
    if not _has_page(port, secret):
        raise PortTakenError(port, "serves this memory without its page: to other machines, or as an older version")


def _instance_at(port: int, secret: str) -> str | None:
    """The memory that is served there; empty for another program, None where nobody listens."""
    import json

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


def _start(port: int) -> None:
    from engram_py.background import start_in_background

    root = click.get_current_context().find_root().obj
    more = ["--data-dir", root] if root else []
    start_in_background("engram_py", *more, "serve", str(port), folder=here())
