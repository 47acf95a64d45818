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
