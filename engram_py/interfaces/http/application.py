"""The whole application: routes and MCP endpoint behind the guard, over one open memory."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engram_py.app import Engram
from engram_py.database.errors import DataDirError
from engram_py.dataclass import replace
from engram_py.errors import EngramError
from engram_py.interfaces.http.admission import ASSETS, ENTRANCE, LOOPBACK, MCP, PAGE, Facts, asker, refusal
from engram_py.interfaces.http.api import Api, refused
from engram_py.interfaces.http.mcp_endpoint import McpEndpoint
from engram_py.interfaces.http.protocol import OF_THIS_USER, Protocol
from engram_py.interfaces.http.sockets import Listening, is_loopback
from engram_py.interfaces.http.uvicorn_server import server_of
from engram_py.interfaces.web import OTHER_ADDRESSES, Page
from engram_py.interfaces.web.access import Access
from engram_py.log import logger_of
from engram_py.settings import Settings


class Front:
    """Hands a request on by its address as it was sent: what a framework makes of a path is not always what it is."""

    def __init__(self, api: Api, mcp: McpEndpoint, page: Page | None) -> None:
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
        elif scope.get("raw_path") == MCP.encode():
            await self._mcp(scope, receive, send)
        elif self._page is not None and of_page(scope):
            await self._page(scope, receive, send)
        else:
            await self._api(scope, receive, send)

    def reached(self, scope: Scope) -> str:
        """Return what a request asks for, as ``admission.REACH`` names it; empty where there is nothing."""
        path: str = scope.get("raw_path", b"").decode("latin-1")
        if path == MCP:
            return MCP
        if self._page is not None and of_page(scope):
            return ENTRANCE if path == ENTRANCE else ASSETS if path.startswith(f"{ASSETS}/") else PAGE
        return self._api.route_of(scope)

    def visitor(self, cookies: str) -> str | None:
        """Return whom a cookie of the page names. Raises DataDirError."""
        return self._page.visitor(cookies) if self._page is not None else None

    def refused(self, scope: Scope, error: EngramError) -> Response:
        """Return a refusal as what was asked answers it: a page of the page, JSON elsewhere."""
        if self._page is not None and of_page(scope):
            return self._page.refused(error)
        outcome = refused(error)
        body = b"" if scope["method"] == "HEAD" else outcome.body
        headers = {"Content-Type": "application/json", "Cache-Control": "no-store", **outcome.headers}
        return Response(body, outcome.status, headers=headers)


def build_application(
    app: Engram,
    *,
    port: int | None = None,
    host: str = "",
    own_socket: bool = False,
    tools: str | None = None,
    ending: Callable[[], bool] = lambda: False,
) -> ASGIApp:
    """Return the ASGI application. A Host header must name ``port``, unless it is None; ``host`` is one more name.

    ``own_socket``: nobody but the owner can connect. ``ending`` says that the server is about to end: streams that a
    browser keeps open end then.

    Raises UnknownToolError for a profile or tool that does not exist.
    """
    # Only a browser on this machine is shown the page: elsewhere its cookie would go over the network in the clear.
    page = Page(app, port=port, ending=ending) if port is not None else None
    try:
        Access(app.settings.data_dir).bearer()
    except DataDirError as exc:  # what is on a medium that cannot be written is read all the same
        logger.warning("there is no token: %s", exc.message)
    front = Front(Api(app), McpEndpoint(app, tools=tools), page)
    return Guard(front, app.settings, port=port, host=host, own_socket=own_socket)


def run(app: Engram, listening: Listening, *, tools: str | None, announce: Callable[[str], None]) -> None:
    """Serve on a bound socket until told to end. ``announce`` is told the address once requests are taken."""
    application = build_application(
        app,
        port=listening.checked_port,
        host=listening.host,
        own_socket=listening.is_private,
        tools=tools,
        ending=lambda: server.should_exit,
    )
    said = f"engram serves {listening.shown} (MCP at {MCP}); Ctrl-C ends it."
    if app.settings.http_open and not listening.is_private:
        said += f" {OPENED}"
    server = server_of(application, started=lambda: announce(said), own=Protocol)
    server.run(sockets=[listening.socket])


logger = logger_of(__name__)

_HTTP_PORT = 80
OPENED = "ENGRAM_HTTP_OPEN is on: every account of this machine may read and write what is not personal."


class Guard:
    """Collects what a request shows, and lets ``admission`` decide before anything else of it is looked at.

    ``port`` None means that no name decides who is meant: a unix socket, or an address that was opened on purpose.
    ``host`` is the address of this machine that was asked for, besides its usual names. Who reaches an ``own_socket``
    is the owner: nobody else may open it.
    """

    def __init__(self, inner: Front, settings: Settings, *, port: int | None, host: str, own_socket: bool) -> None:
        self._inner = inner
        self._access = Access(settings.data_dir)
        self._token, self._opened, self._own_socket = settings.http_token, settings.http_open, own_socket
        allowed = (*LOOPBACK, host.lower()) if host else LOOPBACK
        names = [f"[{name}]" if ":" in name else name for name in allowed]
        hosts = {f"{name}:{port}" for name in names} | (set(names) if port == _HTTP_PORT else set())
        self._hosts = frozenset(hosts) if port is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        try:
            facts = await anyio.to_thread.run_sync(self._facts, scope)
            wrong: EngramError | None = refusal(facts)
            scope["asker"] = asker(facts)
        except EngramError as exc:  # the secret cannot be read, so nobody has it
            wrong = exc
        if wrong is None:
            await self._inner(scope, receive, send)
        else:
            await self._inner.refused(scope, wrong)(scope, receive, send)

    def _facts(self, scope: Scope) -> Facts:
        headers = Headers(scope=scope)
        facts = Facts(
            scope["method"],
            self._inner.reached(scope),
            headers.get("host", ""),
            self._hosts,
            tuple(headers.getlist("origin")),
            headers.get("sec-fetch-site", "").lower(),
            headers.get("content-type", "").partition(";")[0].strip().lower(),
            secret=self._own_socket or self._is_secret(headers.get("authorization", "")),
        )
        if facts.reached in (PAGE, ENTRANCE):
            scope["visitor"] = "owner" if facts.secret else self._inner.visitor(headers.get("cookie", ""))
            return replace(facts, cookie=scope["visitor"] is not None)
        return facts if facts.secret else replace(facts, vouched=not self._token and self._vouched(scope))

    def _is_secret(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        if not given.strip():
            return False
        own = (self._access.bearer(), self._token)
        same = [hmac.compare_digest(_bytes(given.strip()), _bytes(one)) for one in own if one]
        return scheme.lower() == "bearer" and any(same)

    def _vouched(self, scope: Scope) -> bool:
        """Return whether the kernel, or the user who opened this server to their machine, answers for the client."""
        host = (scope.get("client") or ("",))[0]
        of_this_user: Callable[[], bool] = scope.get("state", {}).get(OF_THIS_USER, lambda: False)
        return is_loopback(host) and (self._opened or of_this_user())


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def of_page(scope: Scope) -> bool:
    """Return whether a request is for the page and not for a route."""
    raw: bytes = scope.get("raw_path", b"")
    other = scope["method"] in ("GET", "HEAD") and raw.decode("latin-1") in OTHER_ADDRESSES
    return raw == b"/ui" or raw.startswith(b"/ui/") or other
