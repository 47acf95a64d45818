"""The listening sockets of both servers: a TCP port of this machine, or a unix socket that is its owner's alone.

A socket accepts no more connections than leave the process file descriptors for its work, and closes the others at
once. A process without a free descriptor cannot even refuse: asyncio then tries again thousands of times a second,
and logs each time.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import stat
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from engram_py.dataclass import dataclass
from engram_py.interfaces.http.errors import AddressInUseError, AddressUnusableError, TokenRequiredError
from engram_py.log import logger_of

logger = logger_of(__name__)

BACKLOG = 128
_ASK_SECONDS = 1.0
_LONGEST_SOCKET_PATH = 100  # the system's limit is 104 to 108 bytes
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
_CONNECTIONS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = 1


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
    """Raises TokenRequiredError when others could reach ``host`` and nothing asks who they are."""
    if not token and not is_loopback(host):
        raise TokenRequiredError(host)


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


def is_loopback(host: str) -> bool:
    """Return whether a name or an address is this machine's own."""
    if host.lower() == "localhost":
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


def _tcp(host: str, port: int) -> socket.socket:
    shown = f"{host}:{port}"
    try:
        [(family, kind, protocol, _, where), *_] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        bound = BoundedSocket(family, kind, protocol)
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
        bound = BoundedSocket(socket.AF_UNIX, socket.SOCK_STREAM)
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


def most_connections() -> int:
    """Return how many connections may be open at once: half of the descriptors this process may have."""
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
    """Return the address of a connection, of IPv6 the network that one machine usually has to itself."""
    host = address[0] if isinstance(address, tuple) else ""
    if ":" not in host:
        return host or "this machine"
    return str(ipaddress.ip_network((host.partition("%")[0], 64), strict=False))


def is_of_this_user(ours: socket.socket) -> bool:
    """Return whether the kernel says that this user opened the other end of a connection; False where it says nothing.

    The line of a socket whose process closed it names no inode and the user 0: it is nobody's, least of all root's.
    """
    try:
        wanted = (_packed(ours.getpeername()), _packed(ours.getsockname()))
        lines = [line.split() for path in _CONNECTIONS if path.exists() for line in path.read_text().splitlines()[1:]]
        alive = [line for line in lines if int(line[3], 16) == _ESTABLISHED and int(line[9])]
        users = {int(line[7]) for line in alive if _ends(line) == wanted}
        # While ours stands, no other connection can have its two addresses.
        stands = ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED
    except (OSError, ValueError, IndexError, AttributeError):  # another system, or a connection that is gone
        return False
    return stands and users == {os.geteuid()}


def _packed(address: Any) -> tuple[ipaddress.IPv6Address, int]:
    """Return an address and a port, of IPv4 as IPv6 maps it. Raises ValueError for a unix socket's."""
    if not isinstance(address, tuple):
        raise ValueError("no address of TCP")
    return _mapped(ipaddress.ip_address(address[0].partition("%")[0]).packed), address[1]


def _ends(line: list[str]) -> tuple[tuple[ipaddress.IPv6Address, int], ...]:
    """Return where a connection of the kernel's table comes from and goes to."""
    ends = (one.partition(":") for one in line[1:3])
    return tuple((_mapped(_in_network_order(host)), int(port, 16)) for host, _, port in ends)


def _in_network_order(words: str) -> bytes:
    """Return the bytes of an address that is printed as words of this machine."""
    number = bytes.fromhex(words)
    parts = (number[at : at + 4] for at in range(0, len(number), 4))
    return b"".join(int.from_bytes(part, sys.byteorder).to_bytes(4, "big") for part in parts)


def _mapped(packed: bytes) -> ipaddress.IPv6Address:
    return ipaddress.IPv6Address(packed if len(packed) == 16 else bytes(10) + b"\xff\xff" + packed)


def _spare_descriptor() -> int:
    try:
        return os.open(os.devnull, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return -1
