"""Who may ask: programs of this machine, and no web page's script from elsewhere."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engram_py.interfaces.http.api import refused, same_token
from engram_py.interfaces.http.errors import ForeignOriginError, HttpError, UnauthorizedError, WrongHostError

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
        if self._token and scope.get("raw_path", b"") != _OPEN_PATH and not self._may(headers):
            return UnauthorizedError()
        return None

    def _may(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and same_token(given.strip(), self._token)


def is_loopback(origin: str) -> bool:
    """Whether a page of this origin came from this machine: ``http://localhost:5173``."""
    try:
        parts = urlsplit(origin)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and "@" not in parts.netloc and parts.hostname in LOOPBACK
