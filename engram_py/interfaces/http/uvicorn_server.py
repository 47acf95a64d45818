"""The event loop of a server: uvicorn around an application, ended by a signal."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from socket import socket
from types import FrameType
from typing import NamedTuple

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from engram_py.interfaces.http.protocol import Protocol

# How long requests in flight, and streams that a client keeps open, may go on after a signal, in seconds.
GRACE_SECONDS = 3
# How long a head may take, of a new connection from its beginning.
HEAD_SECONDS = 15.0
_TICKS = 10  # of uvicorn's, a tenth of a second each


class LoopServer(uvicorn.Server):
    """uvicorn's server, which says when it listens, and for which a signal is a way to end and not to die."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._told = started
        self._heads: dict[H11Protocol, _Head] = {}

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._told()

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS == 0:
            self._end_slow_heads()
        return await super().on_tick(counter)

    def _end_slow_heads(self) -> None:
        """End each connection whose next head did not come in time: uvicorn waits for it without end."""
        now = time.monotonic()
        known, self._heads = self._heads, {}
        for one in self.server_state.connections:
            # Between two requests uvicorn's own time for that runs, until the first byte of the second.
            if not isinstance(one, H11Protocol) or one.conn.their_state is not h11.IDLE or one.timeout_keep_alive_task:
                continue
            head = known.get(one)
            if head is None or head.after is not one.cycle:
                head = _Head(one.cycle, now)
            self._heads[one] = head
            if now - head.since < HEAD_SECONDS:
                continue
            if isinstance(one, Protocol):
                one.end_slow_head(HEAD_SECONDS)
            else:
                one.transport.close()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def leave(_: int, __: FrameType | None) -> None:
            self.should_exit = True

        before = {one: signal.signal(one, leave) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


class _Head(NamedTuple):
    """The head that a connection sends: after which request, and since when it is waited for."""

    after: object
    since: float


def server_of(application: ASGIApp, *, started: Callable[[], None], own: type[Protocol] | None = None) -> LoopServer:
    """Return a server of ``application``; ``started`` is called once requests are taken.

    ``own`` reads longer addresses than uvicorn does, bounds what all connections hold, and words its own refusals.
    """
    config = uvicorn.Config(
        application,
        loop="asyncio",
        http=own or "h11",
        h11_max_incomplete_event_size=own.MOST_UNREAD if own else None,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return LoopServer(config, started)
