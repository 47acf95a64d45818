"""The page's ASGI application: lets a browser in, reads its forms within bounds, and sends pages and their scripts."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from starlette.requests import Request, cookie_parser
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from engram_py.app import Engram
from engram_py.base.asgi import answered, read_body
from engram_py.base.database.mutation_queue import count_rows
from engram_py.base.database.store import Store
from engram_py.base.errors import EngramError, StoreError
from engram_py.interfaces.http.api import WORKERS
from engram_py.interfaces.http.errors import (
    BodyTooLargeError,
    HttpError,
    RequestFailedError,
    UnauthorizedError,
    status_of,
)
from engram_py.interfaces.http.routing import check_text, fields_of
from engram_py.interfaces.web import access
from engram_py.interfaces.web.pages import search
from engram_py.interfaces.web.rendering import STATIC, assets, templates
from engram_py.interfaces.web.visit import HOME, OTHER_ADDRESSES, PAGES, Goto, Shown, Undo, Visit, version_of
from engram_py.memory.projects import table as project_table

ENTER, EVENTS = "/ui/enter", "/ui/events"
MOST_FORM = 1024 * 1024
# A page loads the package's own scripts and stylesheets and sends its forms home, and nothing else, whatever a memory
# says: a script or a style inside of a page does not run.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Of this page itself, or a browser sends its forms with the Origin "null".
    "Referrer-Policy": "same-origin",
}
_HTML = "text/html; charset=utf-8"
# Where the choice of another project leads from a page that is about one thing, and the fields that it keeps.
_LISTED_IN = {"/ui/session": "/ui/given", "/ui/clear": "/ui/settings", "/ui/projects": HOME}
_KEPT = ("q", "type", "scope", "match", "days", "kind", "prompt")
_Answering = Callable[[Request], Awaitable[Response]]


class PageApplication:
    """Answers everything under ``/ui`` over one open memory, on this machine only.

    Who may see it is decided before (``http.admission``). Here a form must also come from this page itself: another
    server on this machine is another port of the same site to a browser.
    """

    def __init__(self, app: Engram, *, port: int, ending: Callable[[], bool] = lambda: False) -> None:
        self._app = app
        self._changes = ChangeWatch(app.store, ending=ending)
        self._access = access.Access(app.settings.data_dir)
        self._cookie = f"engram_page_{port}"
        self._undo = Undo()
        self._workers = anyio.CapacityLimiter(WORKERS)

        self._router = self._routes()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._router(scope, receive, send)

    def _routes(self) -> Router:
        routes = [
            self._route(ENTER, self._enter),
            self._route(EVENTS, self._events),
            self._route(STATIC + "/{name}", self._asset),
            *(self._route(path, partial(self._elsewhere, page)) for path, page in OTHER_ADDRESSES.items()),
        ]
        for path in sorted({path for _, path in PAGES}):
            methods = [method for method, one in PAGES if one == path]
            routes.append(self._route(path, partial(self._page, path), methods, entered=True))

        async def unknown(scope: Scope, receive: Receive, send: Send) -> None:
            await self.refused(access.NoPageError(scope["path"]))(scope, receive, send)

        return Router(routes, default=unknown, redirect_slashes=True)

    def _route(
        self, path: str, answer: _Answering, methods: list[str] | None = None, *, entered: bool = False
    ) -> Route:
        async def endpoint(request: Request) -> Response:
            return await answered(answer(request), partial(self.refused, entered=entered), RequestFailedError)

        return Route(path, endpoint, methods=methods)

    async def _elsewhere(self, page: str, request: Request) -> Response:
        return _redirect(f"{page}{'&' if '?' in page else '?'}{request.url.query}".rstrip("?&"))

    async def _asset(self, request: Request) -> Response:
        found = assets().get(request.path_params["name"])
        if found is None:
            raise access.NoPageError(request.url.path)
        # The address holds a hash of the content.
        headers = _HEADERS | {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(found.body, headers=headers, media_type=found.media_type)

    async def _events(self, request: Request) -> Response:
        """Tell a browser that was let in of every write. No content is sent: the browser loads the page again."""
        # A browser that was cut off says itself what it knows.
        since = request.headers.get("last-event-id") or request.query_params.get("since", "")
        return self._changes.stream(since, _HEADERS)

    async def _enter(self, request: Request) -> Response:
        project = request.query_params.get("project", "")
        # No redirect: where the link was followed from elsewhere, a browser would send it without the cookie.
        home = Goto(HOME, {"project": project} if project else {}).address
        response = _rendered("entered.html", {"entered": True, "project": "", "home": home}, 200)
        response.headers["Refresh"] = f"0; url={home}"
        if request.scope["visitor"] is not None:
            return response  # the same browser comes again: by a reload, or after it looked ahead
        # A program that only asks what the link is must not use it up.
        cookie = self._access.enter(request.query_params.get("token", "")) if request.method == "GET" else None
        if cookie is None:
            raise HttpError(
                "this link no longer works: each works once, within ten minutes",
                hint="run `engram open` again. If you did not use it, somebody else on this machine did: delete "
                "page.key in the data directory, which ends every visit",
                code="link_used",
                status=401,
            )
        # Other systems' addresses of pages (`/memory/people`) lead to ours, so the cookie is for all of the server.
        response.set_cookie(self._cookie, cookie, max_age=access.COOKIE_SECONDS, httponly=True, samesite="strict")
        return response

    async def _page(self, route: str, request: Request) -> Response:
        body = await read_body(request, MOST_FORM, BodyTooLargeError) if request.method == "POST" else b""
        work = partial(self._answer, route, request, body)
        return await anyio.to_thread.run_sync(work, limiter=self._workers, abandon_on_cancel=True)

    def visitor(self, cookies: str) -> str | None:
        """Return whom a browser's cookies name; None for a stranger. Raises DataDirError."""
        cookie = cookie_parser(cookies).get(self._cookie)
        return None if cookie is None else self._access.visitor(cookie)

    def _answer(self, route: str, request: Request, body: bytes) -> Response:
        """On a worker thread."""
        query, form = _fields(request.scope.get("query_string", b"")), _fields(body)
        visitor: str = request.scope["visitor"]
        method = "GET" if request.method == "HEAD" else request.method  # Starlette answers HEAD where there is GET
        if method == "POST":
            home = f"http://{request.headers.get('host', '')}"
            is_own = self._access.is_form_token(visitor, form.get("form_token", ""))
            if request.headers.get("origin", "") != home or not is_own:
                raise HttpError(
                    "this form does not come from this page",
                    hint="reload the page, and send its form",
                    code="foreign_form",
                    status=403,
                )
        # Its own project and session, so that what a person opens teaches the search of agents nothing.
        view = self._app.for_caller(None)
        with view.usage.paused():
            answer = PAGES[method, route](Visit(view, request.path_params, query, form, self._undo))
            if isinstance(answer, Goto):
                return _redirect(answer.address)
            return self._html(answer, visitor, route, query)

    def _html(self, shown: Shown, visitor: str, route: str, query: Mapping[str, str]) -> Response:
        project = query.get("project", "").strip()
        names = project_table.names(self._app.store)
        reads = self._app.projects.for_read(project).reads if project in names else None
        values: dict[str, Any] = {
            "form_token": self._access.form_token(visitor),
            "entered": True,
            "project": project,
            "projects": names,
            "now": self._app.journal.moment(),
            "memories": count_rows(self._app.store, "observation", reads),
            "here": _LISTED_IN.get(route, HOME if "{" in route else route),
            "kept": {name: text for name in _KEPT if (text := query.get(name, ""))},
        }
        return _rendered(shown.template, values | dict(shown.values), shown.status)

    def prepare(self) -> None:
        """Answer the page that opens first to nobody: its modules are loaded and its templates compiled then."""
        view = self._app.for_caller(None)
        with suppress(EngramError), view.usage.paused():  # whoever asks for the page is told what is wrong
            self._html(search.search_page(Visit(view, {}, {}, {}, self._undo)), "", HOME, {})

    def refused(self, error: EngramError, *, entered: bool = False) -> Response:
        """Return a page that asks neither the memory nor the key: one of them may be what failed."""
        if isinstance(error, UnauthorizedError):
            error = HttpError(
                "this browser has no access, or its access ended",
                hint="run `engram open`; it prints a link that works once, within ten minutes",
                code="not_entered",
                status=401,
            )
        response = _rendered("refused.html", {"error": error, "entered": entered, "project": ""}, status_of(error))
        response.headers.update(error.headers if isinstance(error, HttpError) else {})
        return response


def _rendered(template: str, values: Mapping[str, Any], status: int) -> Response:
    body = templates().get_template(template).render(values).encode("utf-8", "replace")
    return Response(body, status, headers=_HEADERS, media_type=_HTML)


def _redirect(address: str) -> Response:
    return Response(status_code=303, headers=_HEADERS | {"Location": address})


def _fields(encoded: bytes) -> dict[str, str]:
    """Return the fields of a form or an address, the first of each name. Raises InvalidPathError, InvalidTextError."""
    values: dict[str, str] = {}
    for name, value in fields_of(encoded):
        values.setdefault(name, value)
    check_text(values)
    return values


# --- the stream that tells a browser of writes ----------------------------------------------------------------

LOOK_SECONDS = 0.5
MOST_LISTENERS = 64
# A stream ends after this long, and the browser opens another one: so a cookie that expired is noticed.
LONGEST_SECONDS = 600.0
_QUIET_SECONDS = 15.0
_RETRY = "retry: 3000\n\n"


class ChangeWatch:
    """Looks for writes of this process and of others, for all listeners together, and only while there are any.

    A look reads SQLite's counter of commits. It opens no transaction, and one worker thread at a time runs it.
    ``ending`` says that the server is told to end: then every stream ends.
    """

    def __init__(self, store: Store, *, ending: Callable[[], bool] = lambda: False) -> None:
        self._store = store
        self._ending = ending
        self._listeners = 0
        self._looking = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)
        self._version = ""
        self._looked_at = 0.0

    def stream(self, since: str, headers: Mapping[str, str]) -> StreamingResponse:
        """Return the stream of a listener that knows the version ``since``. Raises HttpError (too_many_listeners)."""
        if self._listeners >= MOST_LISTENERS:
            raise HttpError(
                f"{MOST_LISTENERS} pages are open already",
                hint="close some of them; a reload still works",
                code="too_many_listeners",
                status=503,
            )
        return _Stream(self, since, headers)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Count one more listener for the time of the block."""
        self._listeners += 1
        try:
            yield
        finally:
            self._listeners -= 1

    async def messages(self, since: str) -> AsyncIterator[str]:
        """Yield an event for every version that differs from the one before, until the server or the stream ends."""
        yield _RETRY
        opened = spoke = time.monotonic()
        while not self._ending() and time.monotonic() - opened < LONGEST_SECONDS:
            try:
                version = await self._look()
            except StoreError:
                return  # the browser comes back, and is told then
            if version != since:
                since, spoke = version, time.monotonic()
                yield f"id: {version}\nevent: changed\ndata: {version}\n\n"
            elif time.monotonic() - spoke > _QUIET_SECONDS:
                spoke = time.monotonic()
                yield ":\n\n"
            await anyio.sleep(LOOK_SECONDS)

    async def _look(self) -> str:
        async with self._looking:
            if time.monotonic() - self._looked_at >= LOOK_SECONDS / 2:
                work = partial(version_of, self._store)
                self._version = await anyio.to_thread.run_sync(work, limiter=self._thread, abandon_on_cancel=True)
                self._looked_at = time.monotonic()
            return self._version


class _Stream(StreamingResponse):
    """The response to one listener, which is counted while it is sent."""

    def __init__(self, changes: ChangeWatch, since: str, headers: Mapping[str, str]) -> None:
        super().__init__(changes.messages(since), headers=headers, media_type="text/event-stream")
        self._changes = changes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._changes.listening():
            await super().__call__(scope, receive, send)
