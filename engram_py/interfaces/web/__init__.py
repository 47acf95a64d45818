"""The page of ``engram serve``: what is remembered, what agents were given, and why.

It is rendered by the server; scripts add keys, plots and live parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from starlette.types import ASGIApp, Receive, Scope, Send

from engram_py.app import Engram

# The addresses of Aurelius's pages (spec/seed-capabilities.md row 129), and the page here that shows the same.
OTHER_ADDRESSES = {
    "/memory": "/ui/",
    "/memory/people": "/ui/entities",
    "/memory/projects": "/ui/projects",
    "/memory/timeline": "/ui/timeline",
    "/memory/search": "/ui/",
}


class Page:
    """The page as an ASGI application; it is loaded when it is first looked at, which most servers never are."""

    def __init__(self, app: Engram, *, port: int, ending: Callable[[], bool] = lambda: False) -> None:
        self._app = app
        self._port = port
        self._ending = ending

    @cached_property
    def _application(self) -> ASGIApp:
        from engram_py.interfaces.web.application import PageApplication

        return PageApplication(self._app, port=self._port, ending=self._ending)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._application(scope, receive, send)
