"""The ASGI application of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engram_py.cloud.errors import UnknownAddressError, WrongMethodError
from engram_py.cloud.responses import refusal
from engram_py.cloud.routes import endpoints
from engram_py.cloud.server import Server
from engram_py.cloud.settings import CloudSettings


def build_cloud_application(settings: CloudSettings) -> Starlette:
    """The application. Its database has to be brought up first: ``prepare``."""
    server = Server(settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with server.live():
            yield

    routes = [Route(endpoint.path, endpoint, methods=[method]) for method, endpoint in endpoints(server)]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={404: _unknown, 405: _wrong_method})


async def _unknown(request: Request, _: Exception) -> Response:
    return refusal(UnknownAddressError(request.url.path))


async def _wrong_method(request: Request, error: Exception) -> Response:
    response = refusal(WrongMethodError(request.method, request.url.path))
    if isinstance(error, HTTPException):
        response.headers.update(error.headers or {})
    return response
