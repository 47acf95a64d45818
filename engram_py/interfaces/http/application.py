"""The whole application: routes and MCP endpoint behind the guard, over one open memory."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engram_py.app import Engram
from engram_py.interfaces.http.api import Api, refused
from engram_py.interfaces.http.errors import ForeignOriginError, HttpError, UnauthorizedError, WrongHostError
from engram_py.interfaces.http.mcp_endpoint import PATH, McpEndpoint
from engram_py.interfaces.http.protocol import Protocol
from engram_py.interfaces.http.sockets import Listening
from engram_py.interfaces.http.uvicorn_server import server_of
from engram_py.interfaces.web import OTHER_ADDRESSES, Page


class _Front:
    """Hands a request on by its address as it was sent: what a framework makes of a path is not always what it is."""

    def __init__(self, api: Api, mcp: McpEndpoint, page: ASGIApp | None) -> None:
        self._api = api
        self._mcp = mcp
        self._page = page

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
        elif self._page is not None and scope["type"] == "http" and of_page(scope):
            await self._page(scope, receive, send)
        else:
            await self._api(scope, receive, send)


def build_application(
    app: Engram,
    *,
    port: int | None = None,
    host: str = "",
    token: str = "",
    tools: str | None = None,
    ending: Callable[[], bool] = lambda: False,
) -> ASGIApp:
    """Return the ASGI application. A Host header must name ``port``, unless it is None; ``host`` is one more name.

    ``ending`` says that the server is about to end: streams that a browser keeps open end then.

    Raises UnknownToolError for a profile or tool that does not exist.
    """
    # Only a browser on this machine is shown the page: elsewhere its cookie would go over the network in the clear.
    page = Page(app, port=port, ending=ending) if port is not None else None
    front = _Front(Api(app, token=token), McpEndpoint(app, tools=tools), page)
    return Guard(front, port=port, host=host, token=token)


def run(app: Engram, listening: Listening, *, tools: str | None, announce: Callable[[str], None]) -> None:
    """Serve on a bound socket until told to end. ``announce`` is told the address once requests are taken."""
    application = build_application(
        app,
        port=listening.checked_port,
        host=listening.host,
        token=app.settings.http_token,
        tools=tools,
        ending=lambda: server.should_exit,
    )
    said = f"engram serves {listening.shown} (MCP at {PATH}); Ctrl-C ends it."
    server = server_of(application, started=lambda: announce(said), own=Protocol)
    server.run(sockets=[listening.socket])


LOOPBACK = ("127.0.0.1", "localhost", "::1")
_OPEN_PATH = b"/health"
_HTTP_PORT = 80


class Guard:
    """Checks Host, Origin and token before anything else of a request is looked at.

    ``port`` None means that no name decides who is meant: a unix socket, or an address that was opened on purpose.
    ``host`` is the address of this machine that was asked for, besides its usual names.
    """

    def __init__(self, inner: ASGIApp, *, port: int | None, host: str = "", token: str = "") -> None:
        self._inner = inner
        self._token = token
        allowed = (*LOOPBACK, host.lower()) if host else LOOPBACK
        names = [f"[{name}]" if ":" in name else name for name in allowed]
        self._hosts = {f"{name}:{port}" for name in names} if port is not None else None
        if self._hosts is not None and port == _HTTP_PORT:
            self._hosts |= set(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wrong = self._wrong(scope) if scope["type"] == "http" else None
        if wrong is None:
            await self._inner(scope, receive, send)
            return
        outcome = refused(wrong)
        body = b"" if scope["method"] == "HEAD" else outcome.body
        headers = {"Content-Type": "application/json", "Cache-Control": "no-store", **outcome.headers}
        await Response(body, outcome.status, headers=headers)(scope, receive, send)

    def _wrong(self, scope: Scope) -> HttpError | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._hosts is not None and host.lower() not in self._hosts:
            # A page whose name was pointed at 127.0.0.1 sends that name here: its requests look like a program's.
            return WrongHostError(host)
        if not all(is_loopback(origin) for origin in headers.getlist("origin")):
            return ForeignOriginError()
        if headers.get("sec-fetch-site", "").lower() == "cross-site":
            return ForeignOriginError()  # what a page loads as an image or a frame has no Origin
        # The page asks for a cookie of its own: a browser sends no bearer token.
        is_open = scope.get("raw_path", b"") == _OPEN_PATH or (self._hosts is not None and of_page(scope))
        if self._token and not is_open and not self._may(headers):
            return UnauthorizedError()
        return None

    def _may(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token.encode("utf-8", "replace"))
        return scheme.lower() == "bearer" and same


def of_page(scope: Scope) -> bool:
    """Return whether a request is for the page and not for a route."""
    raw: bytes = scope.get("raw_path", b"")
    other = scope["method"] in ("GET", "HEAD") and raw.decode("latin-1") in OTHER_ADDRESSES
    return raw == b"/ui" or raw.startswith(b"/ui/") or other


def is_loopback(origin: str) -> bool:
    """Return whether a page of this origin came from this machine: ``http://localhost:5173``."""
    try:
        parts = urlsplit(origin)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and "@" not in parts.netloc and parts.hostname in LOOPBACK
