"""The process ``engram mcp`` behind a URL, and ``/mcp`` behind one that shows the secret: for a client that speaks HTTP
alone and sends no header of its own.

It passes on messages and reads of them no more than their ids: what is answered is what the process wrote.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from starlette.types import Receive, Scope, Send

from engram_py import Engram
from engram_py.interfaces.http.server import server_of
from engram_py.interfaces.serve import build_application
from tests.interfaces.http.asking import bearer

SESSION = "mcp-session-id"


class Process:
    """``engram mcp --tools=all``, asked one message at a time."""

    def __init__(self, folder: Path) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "engram_py", "mcp", "--tools=all"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=dict(os.environ),
        )  # fmt: skip

    def ask(self, message: Any) -> bytes:
        """The line that answers a message, empty for a notification."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
            expects = isinstance(message, dict) and "method" in message and "id" in message
            return self._process.stdout.readline() if expects else b""

    def end(self) -> tuple[int, bytes]:
        """The exit code and what was logged, after stdin was closed."""
        _, log = self._process.communicate(timeout=60)
        return self._process.returncode, log


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        opens = isinstance(message, dict) and message.get("method") == "initialize"
        name = uuid.uuid4().hex if opens else self.headers.get(SESSION, "")
        answer = self.server.process_of(name).ask(message)
        self._reply(200 if answer else 202, answer, {SESSION: name})

    def do_GET(self) -> None:
        self._reply(405, b"", {})

    do_DELETE = do_GET

    def _reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: only the process is of interest."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._folder = folder
        self._lock = threading.Lock()
        self.processes: dict[str, Process] = {}

    def process_of(self, session: str) -> Process:
        with self._lock:
            if session not in self.processes:
                self.processes[session] = Process(self._folder)
            return self.processes[session]


@contextmanager
def bridged(folder: Path) -> Iterator[str]:
    """The URL where each session is a process of its own, which must end well when the block does."""
    server = _Server(folder)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        ended = [one.end() for one in server.processes.values()]
    assert set(ended) == {(0, b"")}


@contextmanager
def showing(folder: Path) -> Iterator[str]:
    """The URL of ``/mcp`` of a server in this process, which adds the secret to each request."""
    with Engram(directory=folder) as app, socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        application = build_application(app, port=port, tools="all")
        secret = bearer(app.settings.data_dir)["authorization"].encode()

        async def owned(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                scope["headers"] = [*scope["headers"], (b"authorization", secret)]
            await application(scope, receive, send)

        server = server_of(owned)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.should_exit = True
            thread.join(60)
