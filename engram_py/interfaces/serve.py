"""``engram serve``: routes, page and MCP endpoint behind the guard, over one open memory, until a signal comes."""

from __future__ import annotations

import hmac
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engram_py.app import Engram
from engram_py.base.asgi import Lingering
from engram_py.base.database.errors import DataDirError
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import EngramError
from engram_py.base.lazy import logger_of
from engram_py.base.settings import DEFAULTS, Settings, is_loopback
from engram_py.interfaces.background import update_documents
from engram_py.interfaces.http.admission import ASSETS, ENTRANCE, LOOPBACK, MCP, PAGE, RequestFacts, asker, refusal
from engram_py.interfaces.http.api import Api, refused
from engram_py.interfaces.http.mcp_endpoint import McpEndpoint
from engram_py.interfaces.http.peers import OF_THIS_USER
from engram_py.interfaces.http.server import Listening, listen, refuse_open_address, run_until_told, server_of
from engram_py.interfaces.web import Page
from engram_py.interfaces.web.access import Access

logger = logger_of(__name__)

_HTTP_PORT = 80
CLOSING_SECONDS = 0.2
_WORKER = "AnyIO worker thread"
# A query of a megabyte with every byte of it percent-encoded, and headers.
MOST_HEAD = 4 * 1024 * 1024
OPENED = "ENGRAM_HTTP_OPEN is on: every account of this machine may read and write what is not personal."


class Front:
    """Routes a request by its raw path, because the decoded path of a framework can differ."""

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
        application = self._lifespan if scope["type"] == "lifespan" else self._application(scope)
        await application(scope, receive, send)

    def _application(self, scope: Scope) -> Api | McpEndpoint | Page:
        if scope.get("raw_path") == MCP.encode():
            return self._mcp
        return self._page if self._page is not None and self._page.answers(scope) else self._api

    def reached(self, scope: Scope) -> str:
        """Return what a request asks for, as ``admission.REACH`` names it; empty where there is nothing."""
        match self._application(scope):
            case McpEndpoint():
                return MCP
            case Api() as api:
                return api.route_of(scope)
        path: str = scope["raw_path"].decode("latin-1")
        return ENTRANCE if path == ENTRANCE else ASSETS if path.startswith(f"{ASSETS}/") else PAGE

    def visitor(self, cookies: str) -> str | None:
        """Return whom a cookie of the page names. Raises DataDirError."""
        return self._page.visitor(cookies) if self._page is not None else None

    def refused(self, scope: Scope, error: EngramError) -> Response:
        """Return a refusal as what was asked answers it: a page of the page, JSON elsewhere."""
        application = self._application(scope)
        return application.refused(error) if isinstance(application, Page) else refused(error)


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

    Raises InvalidInputError (unknown_tool) for a profile or tool that does not exist.
    """
    # Only a browser on this machine is shown the page: elsewhere its cookie would go over the network in the clear.
    page = Page(app, port=port, ending=ending) if port is not None else None
    try:
        Access(app.settings.data_dir).bearer()
    except DataDirError as exc:  # what is on a medium that cannot be written is read all the same
        logger.warning("there is no token: %s", exc.message)
    front = Front(Api(app), McpEndpoint(app, tools=tools), page)
    return Lingering(Guard(front, app.settings, port=port, host=host, own_socket=own_socket))


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

    def _facts(self, scope: Scope) -> RequestFacts:
        headers = Headers(scope=scope)
        facts = RequestFacts(
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


# --- the process ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Address:
    """The address to listen on: a host and a port, or a unix socket instead."""

    host: str = "127.0.0.1"
    port: int = DEFAULTS["port"]
    socket: Path | None = None


def serve(
    settings: Settings,
    address: Address,
    *,
    directory: Path,
    project: str | None = None,
    tools: str | None = None,
    announce: Callable[[str], None],
) -> None:
    """Serve until a signal comes. ``announce`` is told the address once requests are taken.

    Raises:
        ServeError: the address is taken, cannot be used, or would be open to others without a token.
        StoreError: the database cannot be opened.
    """
    level = getattr(logging, settings.log_level.upper())
    logging.basicConfig(stream=sys.stderr, level=level, format="%(levelname)s %(name)s: %(message)s")
    if address.socket is None:
        refuse_open_address(address.host, token=settings.http_token)
    # As a server it also computes vectors and takes over what hooks could not store.
    app = Engram(settings=settings, directory=directory, project=project, session_mode="process")
    app.autosync.start()
    app.maintenance.start(app.run_upkeep)
    app.follow_documents(update_documents)
    try:
        with listen(address.host, address.port, address.socket) as listening:
            run(app, listening, tools=tools, announce=announce)
    except BaseException:
        app.close()
        raise
    _leave_stuck_requests()
    app.close()


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
    if listening.checked_port is not None:
        Page(app, port=listening.checked_port).prepare()
    server = server_of(application, most_head=MOST_HEAD)
    run_until_told(server, listening.socket, started=lambda: announce(said))


def _leave_stuck_requests() -> None:
    """End the process where a request waits for another process's lock and nobody for its answer.

    The threads of a loop that has ended are gone but for those at work; they hold what closing the memory needs.
    """
    for thread in threading.enumerate():
        if thread.name.startswith(_WORKER):
            thread.join(CLOSING_SECONDS)
            if thread.is_alive():
                sys.stderr.flush()
                os._exit(0)
