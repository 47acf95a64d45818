"""A TCP proxy that can be told to refuse, to stall, and to break connections in their middle."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PIECE = 4_096


class Proxy:
    """Forwards to ``upstream``; ``trouble`` is the share of connections that break after some bytes, or at once."""

    def __init__(self, seed: int) -> None:
        self.upstream: tuple[str, int] | None = None
        self.trouble = 0.0
        self.broken = 0
        self._dice = random.Random(seed)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break everything that is open."""
        with self._lock:
            sockets, self._open = self._open, set()
        for one in sockets:
            _end(one)

    def close(self) -> None:
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with self._lock:
            allowed = self._dice.choice((0, 100, 3_000, 20_000)) if self._dice.random() < self.trouble else None
        if allowed == 0 or self.upstream is None:
            _end(client)
            return
        try:
            server = socket.create_connection(self.upstream, timeout=5)
        except OSError:
            _end(client)
            return
        with self._lock:
            self._open |= {client, server}
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=self._pump, args=(one, other, allowed), daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket, allowed: int | None) -> None:
        left = allowed
        with contextlib.suppress(OSError):
            while piece := one.recv(_PIECE):
                if left is not None:
                    piece, left = piece[:left], left - len(piece)
                other.sendall(piece)
                if left is not None and left <= 0:
                    self.broken += 1
                    break
        _end(one)
        _end(other)
        with self._lock:
            self._open -= {one, other}


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        one.close()


@contextmanager
def proxy(seed: int) -> Iterator[Proxy]:
    made = Proxy(seed)
    try:
        yield made
    finally:
        made.close()
