"""Taking the address: a TCP port of this machine, or a unix socket that is its owner's alone."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from engram_py.dataclass import dataclass
from engram_py.interfaces.http.accepting import BoundedSocket
from engram_py.interfaces.http.errors import AddressInUseError, AddressUnusableError, TokenRequiredError

BACKLOG = 128
_ASK_SECONDS = 1.0
_LONGEST_SOCKET_PATH = 100  # the system's limit is 104 to 108 bytes


@dataclass(frozen=True, slots=True)
class Listening:
    """A bound socket. ``checked_port`` is what a Host header must name, None where none has to, with ``host`` or a
    usual name of this machine before it."""

    socket: socket.socket
    shown: str
    checked_port: int | None
    host: str = ""


def refuse_open_address(host: str, *, token: str) -> None:
    """Raises TokenRequiredError when others could reach ``host`` and nothing asks who they are."""
    if not token and not _is_loopback(host):
        raise TokenRequiredError(host)


@contextmanager
def listen(host: str, port: int, path: Path | None) -> Iterator[Listening]:
    """The socket, closed at the end. Raises AddressInUseError, AddressUnusableError."""
    if path is not None:
        with _unix(path) as listening:
            yield listening
        return
    bound = _tcp(host, port)
    with closing(bound):
        port = bound.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        yield Listening(bound, f"http://{shown}:{port}", port if _is_loopback(host) else None, host)


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
                yield Listening(bound, f"unix socket {path}", None)
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
