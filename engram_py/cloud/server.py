"""The server behind the routes: connection pool, authentication, admission, metrics, error responses."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Literal, TypeVar, cast

import anyio
import anyio.to_thread
import prometheus_client
from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engram_py.base.asgi import PRIVATE, answered, encoded
from engram_py.base.errors import EngramError
from engram_py.base.lazy import logger_of
from engram_py.cloud.accounts import (
    Caller,
    CloudSettings,
    any_valid_token,
    apply_environment,
    authenticate,
    bearer,
    check_pepper,
)
from engram_py.cloud.database import Connection, connected, migrate, open_pool, pooled_connection, prune_audit
from engram_py.cloud.errors import CloudServerError, PolicyForbiddenError, RequestBrokenError, TooBusyError, payload_of

logger = logger_of(__name__)

T = TypeVar("T")

# The callers of a route. `scrape` is for admins, and for programs of this machine that come straight.
Audience = Literal["anybody", "account", "admin", "scrape"]

# A body of 8 MiB can become some hundreds of MB of Python objects: few are unpacked at once.
_PARSERS = 3
# Pushes wait for each other in the database. Those beyond a few wait here, where they take no connection from pulls.
_PUSHERS = 3
_PRUNE_SECONDS = 3_600.0
MOST_REQUESTS = 64
MOST_REQUESTS_EACH = 16
# What a proxy adds: a request that has one of these does not come from this machine, whatever its address says.
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


class Gate:
    """Counts the requests in progress, and refuses one too many at once instead of queueing it."""

    def __init__(self, most: int = MOST_REQUESTS, most_each: int = MOST_REQUESTS_EACH) -> None:
        self._most = most
        self._most_each = most_each
        self._each: Counter[int] = Counter()
        self.inside = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Raises TooBusyError."""
        if self.inside >= self._most:
            raise TooBusyError("the server")
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1

    @contextmanager
    def enter_as(self, principal_id: int) -> Iterator[None]:
        """Count a request of one account, so that it does not keep others out. Raises TooBusyError."""
        if self._each[principal_id] >= self._most_each:
            raise TooBusyError("this account")
        self._each[principal_id] += 1
        try:
            yield
        finally:
            self._each[principal_id] -= 1
            if not self._each[principal_id]:
                del self._each[principal_id]


class Server:
    """One server over one database. ``live`` opens and closes its resources."""

    def __init__(self, settings: CloudSettings) -> None:
        self.settings = settings
        self.gate = Gate()
        self._pool = open_pool(settings.database_url)
        self.metrics = Metrics(
            inside=lambda: self.gate.inside, pool=lambda key: int(self._pool.get_stats().get(key, 0))
        )
        self._parsers = anyio.CapacityLimiter(_PARSERS)
        self._pushers = anyio.CapacityLimiter(_PUSHERS)

    @asynccontextmanager
    async def live(self) -> AsyncIterator[None]:
        await self._pool.open()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._prune)
                yield
                tasks.cancel_scope.cancel()
        finally:
            await self._pool.close()

    def database(self) -> AbstractAsyncContextManager[Connection]:
        """Return a connection, for as short as possible. Raises DatabaseUnavailableError."""
        return pooled_connection(self._pool)

    @asynccontextmanager
    async def database_to_push(self) -> AsyncIterator[Connection]:
        """Lend a connection for writing rows."""
        async with self._pushers, self.database() as connection:
            yield connection

    async def parsed(self, parse: Callable[[bytes], T], body: bytes) -> T:
        return await anyio.to_thread.run_sync(parse, body, limiter=self._parsers)

    async def caller(self, request: Request) -> Caller:
        """Raises AuthRequiredError."""
        token = bearer(request.headers.get("authorization", ""))
        async with self.database() as connection:
            return await authenticate(connection, token, pepper=self.settings.pepper)

    async def _prune(self) -> None:
        while True:
            try:
                async with self.database() as connection:
                    await prune_audit(connection, days=self.settings.audit_days)
            except EngramError as exc:
                logger.warning("the audit log was not shortened: %s", exc)
            await anyio.sleep(_PRUNE_SECONDS)


def refusal(error: EngramError) -> Response:
    """Return the response of a refusal."""
    kind = error if isinstance(error, CloudServerError) else CloudServerError
    headers = {"Content-Type": "application/json", **PRIVATE, **kind.headers}
    return Response(encoded(payload_of(error)), kind.status, headers=headers)


Handler = Callable[[Server, Caller, Request], Awaitable[Response]]


class Endpoint:
    """A route: admits, authenticates, answers and counts. It ends when the response is sent."""

    def __init__(self, server: Server, handler: Handler, *, path: str, audience: Audience) -> None:
        self.path = path
        self.audience = audience
        self._server = server
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        metrics = self._server.metrics
        status = 499
        try:
            with ExitStack() as held:
                answer = self._answer(Request(scope, receive), held)
                response = await answered(answer, refusal, RequestBrokenError)
                status = response.status_code
                await response(scope, receive, send)
        finally:
            metrics.requests.labels(self.path, str(status)).inc()
            metrics.seconds.labels(self.path).observe(time.perf_counter() - started)

    async def _answer(self, request: Request, held: ExitStack) -> Response:
        caller = await self._let_in(request, held)
        # What is for anybody does not ask who it is.
        return await self._handler(self._server, cast("Caller", caller), request)

    async def _let_in(self, request: Request, held: ExitStack) -> Caller | None:
        if self.audience == "anybody" or (self.audience == "scrape" and _is_local(request)):
            return None
        held.enter_context(self._server.gate.enter())
        caller = await self._server.caller(request)
        held.enter_context(self._server.gate.enter_as(caller.principal_id))
        if self.audience != "account" and not caller.is_admin:
            raise PolicyForbiddenError("look after the server")
        return caller


def _is_local(request: Request) -> bool:
    if any(name in request.headers for name in _FORWARDED) or "origin" in request.headers:
        return False
    return request.client is not None and request.client.host in ("127.0.0.1", "::1")


async def prepare(settings: CloudSettings, *, open_to: str = "") -> list[str]:
    """Bring the database up and the environment's accounts with it; the names of the migrations that were applied.

    Raises:
        DatabaseUnavailableError, CloudServerError (database_too_new), InvalidCloudSettingError
        CloudServerError (nobody_to_serve): others can reach the address ``open_to``, and there is no token yet.
    """
    async with connected(settings.database_url) as connection:
        done = await migrate(connection)
        await check_pepper(connection, settings.pepper)
        await apply_environment(connection, settings)
        if open_to and not await any_valid_token(connection):
            raise CloudServerError(
                f"{open_to} can be reached from other machines, and the server has no account yet",
                hint="create one with `engram cloud users add NAME --admin`, or set ENGRAM_CLOUD_ADMIN",
                code="nobody_to_serve",
            )
    return done


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The Prometheus metrics of one server; no name of a project or an account is in them."""

    def __init__(self, *, inside: Callable[[], int], pool: Callable[[str], int]) -> None:
        self._registry = own = CollectorRegistry()
        ProcessCollector(registry=own)
        self.requests = prometheus_client.Counter(
            "engram_cloud_requests", "Requests answered, by route and status.", ["route", "status"], registry=own
        )
        self.seconds = Histogram(
            "engram_cloud_request_seconds", "Time to the end of an answer, by route.", ["route"], registry=own
        )
        self.pushed = prometheus_client.Counter(
            "engram_cloud_pushed_rows", "Rows offered, by what became of them.", ["outcome"], registry=own
        )
        self.pulled = prometheus_client.Counter("engram_cloud_pulled_rows", "Rows given.", registry=own)
        inflight = Gauge("engram_cloud_requests_in_progress", "Requests that are worked on.", registry=own)
        inflight.set_function(inside)
        connections = Gauge("engram_cloud_connections", "PostgreSQL connections, by state.", ["state"], registry=own)
        for state, key in (("open", "pool_size"), ("idle", "pool_available"), ("wanted", "requests_waiting")):
            connections.labels(state).set_function(partial(pool, key))

    def text(self) -> bytes:
        return generate_latest(self._registry)
