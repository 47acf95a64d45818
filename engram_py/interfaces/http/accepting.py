"""The listening socket of both servers: it takes no more connections than leave the process file descriptors for its
work, and closes the others at once instead of letting them wait.

A process without a free descriptor cannot even refuse: asyncio then tries again thousands of times a second, and logs
each time.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
import time
from collections import Counter
from typing import Any

from engram_py.log import logger_of

logger = logger_of(__name__)

# Of 1,024 descriptors, which is what most systems give, half; the rest is for files, git and the database.
MOST_CONNECTIONS = 512
_LEAST = 8
# One address alone does not keep the others out. A proxy in front of a server is one address.
_SHARE_OF_ONE = 0.75
# Closed in a row before others get their turn.
_AT_ONCE = 64
_SAY_SECONDS = 60.0
_REST_SECONDS = 0.05
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def most_connections() -> int:
    """How many connections may be open at once: half of the descriptors this process may have."""
    if sys.platform == "win32":
        return MOST_CONNECTIONS
    import resource

    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(_LEAST, min(MOST_CONNECTIONS, descriptors // 2))


class BoundedSocket(socket.socket):
    """A socket whose ``accept`` answers a connection that may stay. For one thread: that of the event loop."""

    def __init__(self, family: int, kind: int, protocol: int = 0) -> None:
        super().__init__(family, kind, protocol)
        self._open: Counter[str] = Counter()
        self._turned_away = 0
        self._said_at = -_SAY_SECONDS
        self._spare = _spare_descriptor()

    def accept(self) -> tuple[socket.socket, Any]:
        """Raises BlockingIOError when nobody waits, or enough were turned away for now."""
        for _ in range(_AT_ONCE):
            try:
                made, address = super().accept()
            except OSError as exc:
                if exc.errno not in _EXHAUSTED:
                    raise
                self._turn_away_without_descriptor()
                continue
            source = _source(address)
            most = most_connections()
            if self._open.total() < most and self._open[source] < most * _SHARE_OF_ONE:
                return _Accepted(self._open, source, made), address
            made.close()
            self._count(f"{self._open.total()} are open, {self._open[source]} of them from {source}")
        raise BlockingIOError

    def close(self) -> None:
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
        super().close()

    def _turn_away_without_descriptor(self) -> None:
        """Close one that waits, with the descriptor kept for this; without it, rest: nothing else stops the loop."""
        if self._spare < 0:
            time.sleep(_REST_SECONDS)
            self._spare = _spare_descriptor()
            self._count("there are no file descriptors left")
            raise BlockingIOError
        os.close(self._spare)
        try:
            super().accept()[0].close()
        finally:
            self._spare = _spare_descriptor()
        self._count("there are no file descriptors left")

    def _count(self, why: str) -> None:
        self._turned_away += 1
        now = time.monotonic()
        if now - self._said_at >= _SAY_SECONDS:
            logger.error("turned away %d connections since the last such line: %s", self._turned_away, why)
            self._said_at, self._turned_away = now, 0


class _Accepted(socket.socket):
    """A connection that counts until it is closed."""

    def __init__(self, open_ones: Counter[str], source: str, made: socket.socket) -> None:
        super().__init__(made.family, made.type, made.proto, fileno=made.detach())
        self._counted: Counter[str] | None = open_ones
        self._source = source
        open_ones[source] += 1

    def close(self) -> None:
        super().close()
        if self._counted is not None:
            self._counted[self._source] -= 1
            if not self._counted[self._source]:
                del self._counted[self._source]
            self._counted = None


def _source(address: Any) -> str:
    """Whose a connection is: its address, of IPv6 the network that one machine usually has to itself."""
    host = address[0] if isinstance(address, tuple) else ""
    if ":" not in host:
        return host or "this machine"
    return str(ipaddress.ip_network((host.partition("%")[0], 64), strict=False))


def _spare_descriptor() -> int:
    try:
        return os.open(os.devnull, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return -1
