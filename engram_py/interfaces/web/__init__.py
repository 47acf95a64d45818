"""The page of ``engram serve``: what is remembered, what agents were given, and why.

It is rendered by the server; scripts add keys, plots and live parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engram_py.app import Engram
from engram_py.base.errors import EngramError
from engram_py.interfaces.web.visit import OTHER_ADDRESSES

if TYPE_CHECKING:
    from engram_py.interfaces.web.application import PageApplication


class Page:
    """The page as an ASGI application; it is loaded when a server starts, or when it is first asked for."""

    def __init__(self, app: Engram, *, port: int, ending: Callable[[], bool] = lambda: False) -> None:
        self._app = app
        self._port = port
        self._ending = ending

    @cached_property
    def _application(self) -> PageApplication:
        from engram_py.interfaces.web.application import PageApplication

        return PageApplication(self._app, port=self._port, ending=self._ending)

    @staticmethod
    def answers(scope: Scope) -> bool:
        """Return whether a request is for the page and not for a route."""
        path: str = scope.get("raw_path", b"").decode("latin-1")
        is_other = scope["method"] in ("GET", "HEAD") and path in OTHER_ADDRESSES
        return path == "/ui" or path.startswith("/ui/") or is_other

    def prepare(self) -> None:
        """Load what the page that opens first needs before anybody asks for it."""
        self._application.prepare()

    def visitor(self, cookies: str) -> str | None:
        """Return whom a browser's cookies name; None for a stranger. Raises DataDirError."""
        return self._application.visitor(cookies)

    def refused(self, error: EngramError) -> Response:
        """Return the page that says why a request is not answered."""
        return self._application.refused(error)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._application(scope, receive, send)
