"""The event loop of a server: uvicorn around an application, ended by a signal."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from socket import socket
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from starlette.types import ASGIApp

if TYPE_CHECKING:
    from engram_py.interfaces.http.protocol import Protocol

# How long requests in flight, and streams that a client keeps open, may go on after a signal, in seconds.
GRACE_SECONDS = 3


class LoopServer(uvicorn.Server):
    """uvicorn's server, which says when it listens, and for which a signal is a way to end and not to die."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._told = started

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._told()

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


def server_of(application: ASGIApp, *, started: Callable[[], None], own: type[Protocol] | None = None) -> LoopServer:
    """A server of ``application``; ``started`` is called once requests are taken. ``own`` reads longer addresses than
    uvicorn does, bounds what all connections hold, and words its own refusals."""
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
