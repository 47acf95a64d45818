"""The events of the page: a stream that tells a browser when somebody wrote to the memory."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import anyio
import anyio.to_thread
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from engram_py.database.store import Store
from engram_py.errors import StoreError
from engram_py.interfaces.web.errors import TooManyListenersError

LOOK_SECONDS = 0.5
MOST_LISTENERS = 64
# A stream ends after this long, and the browser opens another one: so a cookie that expired is noticed.
LONGEST_SECONDS = 600.0
_QUIET_SECONDS = 15.0
_RETRY = "retry: 3000\n\n"


class Changes:
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
        """Return the stream of a listener that knows the version ``since``. Raises TooManyListenersError."""
        if self._listeners >= MOST_LISTENERS:
            raise TooManyListenersError(MOST_LISTENERS)
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


def version_of(store: Store) -> str:
    """Return what changes with every write, as a page and its stream name it."""
    return ".".join(map(str, store.version()))


class _Stream(StreamingResponse):
    """The response to one listener, which is counted while it is sent."""

    def __init__(self, changes: Changes, since: str, headers: Mapping[str, str]) -> None:
        super().__init__(changes.messages(since), headers=headers, media_type="text/event-stream")
        self._changes = changes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._changes.listening():
            await super().__call__(scope, receive, send)
