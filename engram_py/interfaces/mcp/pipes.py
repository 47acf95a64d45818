"""stdin and stdout as pipes that the event loop itself reads and writes.

The SDK reads each line and writes each answer on worker threads. To hand a message from one thread to another costs
.2 to .7 ms here, three times a call; to read or write a pipe that is ready, a few microseconds. So its transport is
given these in the place of its files. What is no pipe (a terminal, a file, Windows) stays with the SDK.
"""

from __future__ import annotations

import os
import select
import socket
import stat
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import anyio

if sys.platform != "win32":
    import fcntl

_READ_BYTES = 65_536


class Lines:
    """The lines that arrive at a file descriptor, in the order of their arrival; what is no UTF-8 is replaced."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._poll = _polling(fd, select.POLLIN)
        self._whole: deque[bytes] = deque()
        self._begun: list[bytes] = []
        self._ended = False

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> str:
        while not self._whole and not self._ended:
            await anyio.wait_readable(self._fd)
            self._read()
        if not self._whole:
            raise StopAsyncIteration
        return self._whole.popleft().decode(errors="replace")

    def _read(self) -> None:
        if not self._poll.poll(0):  # another reader of the pipe was sooner
            return
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return
        except ConnectionResetError:  # a socket whose other end died with something unread
            data = b""
        if not data:
            self._ended = True
            self._whole.extend(line for line in (b"".join(self._begun),) if line)
            return
        # As Python reads text. Between two parts \r\n makes an empty line more, which is no message.
        first, *others = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        # A line of megabytes arrives in a thousand parts, which are joined once.
        self._begun.append(first)
        if others:
            self._whole.append(b"".join(self._begun))
            self._whole.extend(others[:-1])
            self._begun = others[-1:]


class Answers:
    """Writes to a file descriptor, and waits where its reader does not keep up: meanwhile the event loop goes on.

    What nobody can read any more is dropped: the requests that were written before are still worked on.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._poll = _polling(fd, select.POLLOUT)
        self._socket = socket.socket(fileno=os.dup(fd)) if stat.S_ISSOCK(os.fstat(fd).st_mode) else None
        self._gone = False

    async def write(self, text: str) -> None:
        rest = memoryview(text.encode())
        while rest and not self._gone:
            try:
                rest = rest[self._take(rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._fd)
            except (BrokenPipeError, ConnectionResetError):
                self._gone = True

    async def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _take(self, data: memoryview) -> int:
        """How many of the bytes were written without waiting. Raises BlockingIOError when there is no room."""
        if self._socket is not None:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        # A pipe that can be written takes so many bytes at once without waiting (POSIX, write()).
        if not self._poll.poll(0):
            raise BlockingIOError
        return os.write(self._fd, data[: select.PIPE_BUF])


@contextmanager
def pipes() -> Iterator[tuple[Any, ...]]:
    """What the SDK's ``stdio_server`` takes for stdin and stdout; empty where it shall open its own.

    Meanwhile descriptor 0 is the null device and 1 is stderr, as with the SDK's own: what a library prints does not
    reach the client, and a child process does not read its messages.
    """
    if not (_is_pipe(0, sys.stdin) and _is_pipe(1, sys.stdout)):
        yield ()
        return
    sys.stdout.flush()
    reads, writes = _above_the_standard(0), _above_the_standard(1)
    lines, answers = Lines(reads), Answers(writes)
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        yield lines, answers
    finally:
        os.dup2(reads, 0)
        os.dup2(writes, 1)
        answers.close()
        os.close(reads)
        os.close(writes)


def _is_pipe(fd: int, stream: TextIO | None) -> bool:
    if sys.platform == "win32" or stream is None:
        return False
    try:
        mode = os.fstat(fd).st_mode
        return stream.fileno() == fd and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
    except (OSError, ValueError):  # closed, or no file at all
        return False


def _above_the_standard(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _polling(fd: int, event: int) -> select.poll:
    polling = select.poll()  # select() knows no descriptor above 1,023
    polling.register(fd, event)
    return polling
