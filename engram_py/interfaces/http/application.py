"""The whole application: routes and MCP endpoint behind the guard, over one open memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from engram_py.app import Engram
from engram_py.interfaces.http.api import Api
from engram_py.interfaces.http.guard import Guard
from engram_py.interfaces.http.mcp_endpoint import PATH, McpEndpoint
from engram_py.interfaces.http.protocol import Protocol
from engram_py.interfaces.http.server import server_of
from engram_py.interfaces.http.sockets import Listening


class _Front:
    """Hands a request on by its address as it was sent: what a framework makes of a path is not always what it is."""

    def __init__(self, api: Api, mcp: McpEndpoint) -> None:
        self._api = api
        self._mcp = mcp

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with mcp.run():
                yield

        self._lifespan = Starlette(lifespan=lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
        elif scope.get("raw_path") == PATH.encode():
            await self._mcp(scope, receive, send)
        else:
            await self._api(scope, receive, send)


def build_application(
    app: Engram, *, port: int | None = None, host: str = "", token: str = "", tools: str | None = None
) -> ASGIApp:
    """The ASGI application. ``port`` is what a Host header must name, None where none has to; ``host`` one more name.

    Raises UnknownToolError for a profile or tool that does not exist.
    """
    front = _Front(Api(app, token=token), McpEndpoint(app, tools=tools))
    return Guard(front, port=port, host=host, token=token)


def run(app: Engram, listening: Listening, *, tools: str | None, announce: Callable[[str], None]) -> None:
    """Serve on a bound socket until told to end. ``announce`` is told the address once requests are taken."""
    application = build_application(
        app, port=listening.checked_port, host=listening.host, token=app.settings.http_token, tools=tools
    )
    said = f"engram serves {listening.shown} (MCP at {PATH}); Ctrl-C ends it."
    server_of(application, started=lambda: announce(said), own=Protocol).run(sockets=[listening.socket])
