"""Listen for both servers: on a TCP port of this machine or a unix socket that is its owner's alone, and uvicorn."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import ClassVar

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import HANDLED_SIGNALS

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import ServeError
from engram_py.base.settings import is_loopback
from engram_py.interfaces.http.errors import AddressInUseError, AddressUnusableError
from engram_py.interfaces.http.peers import OF_THIS_USER, is_of_this_user

BACKLOG = 128
_ASK_SECONDS = 1.0
_LONGEST_SOCKET_PATH = 100  # the system's limit is 104 to 108 bytes
# Past it a request is answered with 503.
MOST_CONNECTIONS = 512
# How long the head of a request, or the next piece of its body, may take, and how many connections of one address may
# wait for either: one more closes the one that waits longest.
HALF_REQUEST_SECONDS = 10.0
MOST_WAITING = MOST_CONNECTIONS // 2
# Seconds that requests in flight, and streams that a client keeps open, may go on after a signal.
GRACE_SECONDS = 3
_REPEATED_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Listening:
    """A bound socket. ``checked_port`` is what a Host header must name, None where none has to, with ``host`` or a
    usual name of this machine before it. ``is_private``: the system lets its owner alone connect."""

    socket: socket.socket
    shown: str
    checked_port: int | None
    host: str = ""
    is_private: bool = False


def refuse_open_address(host: str, *, token: str) -> None:
    """Raises ServeError (token_required) when others could reach ``host`` and nothing asks who they are."""
    if not token and not is_loopback(host):
        raise ServeError(
            f"other machines can reach {host} without a token",
            hint="set ENGRAM_HTTP_TOKEN, or use --host 127.0.0.1",
            code="token_required",
        )


@contextmanager
def listen(host: str, port: int, path: Path | None) -> Iterator[Listening]:
    """Give the bound socket, which is closed at the end. Raises AddressInUseError, AddressUnusableError."""
    if path is not None:
        with _unix(path) as listening:
            yield listening
        return
    bound = _tcp(host, port)
    with closing(bound):
        port = bound.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        yield Listening(bound, f"http://{shown}:{port}", port if is_loopback(host) else None, host)


def _tcp(host: str, port: int) -> socket.socket:
    shown = f"{host}:{port}"
    try:
        [(family, kind, protocol, _, where), *_] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        bound = socket.socket(family, kind, protocol)
    except (OSError, ValueError) as exc:  # a name that is none, or holds what no name can
        raise AddressUnusableError(shown, str(exc)) from exc
    try:
        if sys.platform == "win32":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:  # a port is free again at once after its server ended; there it never means that two share it
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(where)
        bound.listen(BACKLOG)
    except OSError as exc:
        bound.close()
        if exc.errno in (errno.EADDRINUSE, getattr(errno, "WSAEADDRINUSE", 0)):
            raise AddressInUseError(shown) from exc
        raise AddressUnusableError(shown, exc.strerror or str(exc)) from exc
    return bound


@contextmanager
def _unix(path: Path) -> Iterator[Listening]:
    if sys.platform == "win32":
        raise AddressUnusableError(str(path), "unix sockets are not served on Windows")
    if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
        raise AddressUnusableError(str(path), f"the path has more than {_LONGEST_SOCKET_PATH} bytes")
    with _only_one(path):
        _remove_stale(path)
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with closing(bound):
            _bind_private(bound, path)
            made = path.lstat()
            try:
                yield Listening(bound, f"unix socket {path}", None, is_private=True)
            finally:
                with suppress(OSError):
                    now = path.lstat()
                    if (now.st_dev, now.st_ino) == (made.st_dev, made.st_ino):
                        path.unlink()


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Hold a lock beside the socket: two servers that find the same stale socket must not both replace it."""
    import fcntl

    lock = path.with_name(path.name + ".lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except (OSError, ValueError) as exc:
        raise AddressUnusableError(str(path), getattr(exc, "strerror", None) or str(exc)) from exc
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise AddressInUseError(str(path)) from exc
        yield
    finally:
        os.close(descriptor)  # and with it the lock; the file stays, for removing it would race with the next


def _remove_stale(path: Path) -> None:
    """Remove a socket that nobody answers on. Raises AddressInUseError, AddressUnusableError."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    except OSError as exc:
        raise AddressUnusableError(str(path), exc.strerror or str(exc)) from exc
    if not stat.S_ISSOCK(found.st_mode):
        raise AddressUnusableError(str(path), "something else is there, not a socket")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as asked:
        asked.settimeout(_ASK_SECONDS)
        try:
            asked.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError as exc:
            raise AddressUnusableError(str(path), exc.strerror or str(exc)) from exc
    raise AddressInUseError(str(path))


def _bind_private(bound: socket.socket, path: Path) -> None:
    before = os.umask(0o177)  # nobody else may connect in the moment before its mode could be changed
    try:
        bound.bind(str(path))
        bound.listen(BACKLOG)
    except OSError as exc:
        raise AddressUnusableError(str(path), exc.strerror or str(exc)) from exc
    finally:
        os.umask(before)


class HttpConnection(H11Protocol):
    """uvicorn's connection, which lets the application ask whose it is, and ends when half a request stays half."""

    # Those of each address that wait for a request or for the rest of one, the longest first.
    _waiting: ClassVar[dict[str, dict[HttpConnection, None]]] = {}
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Asked when somebody shows no secret, once for a connection: reading the kernel's table takes a while.
        asked = cache(partial(is_of_this_user, transport.get_extra_info("socket")))
        self.app_state = self.app_state | {OF_THIS_USER: asked}
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:  # a head must be whole in time, of a body something must come
            self._end_wait()
        self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY) or self.transport.is_closing():
            self._end_wait()
        elif self._timer is None:
            self._timer = self.loop.call_later(HALF_REQUEST_SECONDS, self._wait_is_over)
            if self.client is not None:  # a unix socket is its owner's alone
                others = self._waiting.setdefault(self.client[0], {})
                others[self] = None
                if len(others) > MOST_WAITING:
                    longest = next(iter(others))
                    longest._end_wait()
                    longest.transport.close()

    def _end_wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.client is not None and (others := self._waiting.get(self.client[0])):
            others.pop(self, None)
            if not others:
                del self._waiting[self.client[0]]

    def _wait_is_over(self) -> None:
        is_read = not self.flow.read_paused
        self._end_wait()
        if is_read:
            self.transport.close()
        else:  # the application has not taken what came
            self._wait()


class Seldom(logging.Filter):
    """Lets each line of a program log once a minute: whoever floods a server must not fill the disk."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[tuple[str, int], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        line, now = (record.pathname, record.lineno), time.monotonic()
        last, dropped = self._logged.get(line, (now - _REPEATED_SECONDS, 0))
        if now - last < _REPEATED_SECONDS:
            self._logged[line] = (last, dropped + 1)
            return False
        self._logged[line] = (now, 0)
        if dropped:
            record.msg, record.args = f"{record.getMessage()} ({dropped} more since the last such line)", ()
        return True


_SELDOM = Seldom()


def server_of(application: ASGIApp, *, most_head: int | None = None) -> uvicorn.Server:
    """Return a server of ``application``; ``most_head`` are the most bytes of a request's address and headers."""
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(_SELDOM)
    config = uvicorn.Config(
        application,
        loop="asyncio",
        http=HttpConnection,
        h11_max_incomplete_event_size=most_head,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return uvicorn.Server(config)


def run_until_told(server: uvicorn.Server, bound: socket.socket, *, started: Callable[[], None]) -> None:
    """Serve on a bound socket until SIGINT or SIGTERM comes, and return.

    uvicorn raises a signal again when it has ended: by default that ends the process, before the memory is closed.
    """

    def leave(*_: object) -> None:
        server.should_exit = True

    before = {one: signal.signal(one, leave) for one in HANDLED_SIGNALS}
    try:
        started()
        server.run(sockets=[bound])
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
