"""Runs the memory's own server: the routes and the MCP endpoint on a bound socket."""

from __future__ import annotations

from collections.abc import Callable

from engram_py.app import Engram
from engram_py.interfaces.http.application import build_application
from engram_py.interfaces.http.listening import Listening
from engram_py.interfaces.http.loop import server_of
from engram_py.interfaces.http.mcp_endpoint import PATH
from engram_py.interfaces.http.protocol import Protocol


def run(app: Engram, listening: Listening, *, tools: str | None, announce: Callable[[str], None]) -> None:
    """Serve on a bound socket until told to end. ``announce`` is told the address once requests are taken."""
    application = build_application(
        app, port=listening.checked_port, host=listening.host, token=app.settings.http_token, tools=tools
    )
    said = f"engram serves {listening.shown} (MCP at {PATH}); Ctrl-C ends it."
    server_of(application, started=lambda: announce(said), own=Protocol).run(sockets=[listening.socket])
