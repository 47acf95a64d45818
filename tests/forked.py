"""Servers as processes that share what they import: it takes them more than a second, and their tests nothing.

They are forked from a process that has imported the servers and done nothing else. What is about starting from
nothing starts ``python -m engram_py``: the story of the SDK's client, the examples and the demo of README, `setup`.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from io import BufferedReader, BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engram_py
from engram_py.base import lazy

ROOT = Path(__file__).resolve().parent.parent
_POLL_SECONDS = 0.005
_MOST_BYTES = 1 << 20
# What starts no process here, or brings threads of its own.
_UNUSED = ("engram_py.cloud", "engram_py.interfaces.tui", "engram_py.recall.vectors.")


class Template:
    """The process that others are forked from, as the tests see it."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forked", str(theirs.fileno())],
                cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
            )  # fmt: skip
        atexit.register(self._end)

    def _end(self) -> None:
        self._channel.close()
        self._process.wait()

    def fork(self, streams: Sequence[int], **request: Any) -> int:
        return int(self._answer(request, streams))

    def status(self, pid: int) -> int | None:
        """As ``waitpid`` gives it; None while it runs."""
        status = self._answer({"status of": pid}, [])
        return None if status is None else int(status)

    def _answer(self, request: dict[str, Any], streams: Sequence[int]) -> Any:
        with self._lock:
            socket.send_fds(self._channel, [json.dumps(request).encode()], streams)
            return json.loads(self._channel.recv(_MOST_BYTES))


_STARTING = threading.Lock()


def template() -> Template:
    with _STARTING:  # two threads that ask first would have one each, and a child is waited for by its own
        return _template()


@cache
def _template() -> Template:
    return Template()


if TYPE_CHECKING or not hasattr(socket, "SOCK_SEQPACKET") or sys.platform != "linux":

    class Server(subprocess.Popen[Any]):
        """``engram`` with these words."""

        def __init__(self, words: Sequence[str], **options: Any) -> None:
            super().__init__([sys.executable, "-m", "engram_py", *words], **options)

else:

    class Server(subprocess.Popen):
        """``engram`` with these words, its three streams given."""

        def _execute_child(self, words, *given) -> None:
            _, _, _, _, cwd, environment, _, _, _, *pipes = given[:15]
            streams = [pipes[0], pipes[3], pipes[5]]
            session = given[20]
            self.pid = template().fork(
                streams, words=words, cwd=str(cwd), environment=dict(environment), session=session
            )
            self._child_created = True
            self._close_pipe_fds(*pipes)

        def _try_wait(self, wait_flags: int) -> tuple[int, int]:
            while (status := template().status(self.pid)) is None:
                if wait_flags & os.WNOHANG:
                    return 0, 0
                time.sleep(_POLL_SECONDS)
            return self.pid, status

        def _internal_poll(self, *_, **__) -> int | None:
            with self._waitpid_lock:
                if self.returncode is None:
                    pid, status = self._try_wait(os.WNOHANG)
                    if pid:
                        self._handle_exitstatus(status)
            return self.returncode


def run(words: Sequence[str], *, stdin: bytes, cwd: Path, environ: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    """Run ``engram`` with these words to its end; return its exit code and what it printed.

    Variables for the interpreter itself (``PYTHON…``) need an interpreter that starts from nothing.
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    start: Any = Server
    if any(name.startswith("PYTHON") for name in environ):
        start, words = subprocess.Popen, [sys.executable, "-m", "engram_py", *words]
    with start(words, cwd=cwd, env={**os.environ, **environ}, **pipes) as process:
        stdout, stderr = process.communicate(stdin, timeout=60)
        return process.returncode, stdout, stderr


def main(channel: socket.socket) -> None:
    """Fork when told to, until nobody is there to tell."""
    from engram_py.__main__ import main as engram

    for module in pkgutil.walk_packages(engram_py.__path__, "engram_py."):
        if not module.name.startswith(_UNUSED):
            importlib.import_module(module.name)
    for one in gc.get_objects():
        if isinstance(one, lazy._Regex):
            one._made  # noqa: B018 - compiles it, once for all
    gc.freeze()
    while True:
        message, streams, _, _ = socket.recv_fds(channel, _MOST_BYTES, 3)
        if not message:
            return
        request = json.loads(message)
        if "status of" in request:
            pid, status = os.waitpid(request["status of"], os.WNOHANG)
            channel.send(json.dumps(status if pid else None).encode())
            continue
        pid = os.fork()
        if not pid:
            break
        for stream in streams:
            os.close(stream)
        channel.send(json.dumps(pid).encode())
    channel.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # As Python makes them when it starts; the template's own are not of pipes.
    sys.stdin = TextIOWrapper(BufferedReader(FileIO(0, closefd=False)), errors=sys.stdin.errors, newline="\n")
    sys.stdout = TextIOWrapper(BufferedWriter(FileIO(1, "w", closefd=False)), errors=sys.stdout.errors, newline="\n")
    sys.stderr = TextIOWrapper(
        BufferedWriter(FileIO(2, "w", closefd=False)), errors=sys.stderr.errors, newline="\n", line_buffering=True
    )
    if request["session"]:
        os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["engram", *request["words"]]
    try:
        engram()
    except SystemExit as exc:
        if exc.code is None or isinstance(exc.code, int):
            end(exc.code or 0)
        raise


def end(code: int) -> None:
    """End as the interpreter does, but for taking apart the modules that every child has and nobody needs."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
