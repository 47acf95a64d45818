"""Asking the server: in this process without a socket, and as a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import anyio
from starlette.types import ASGIApp, Message

from tests.forked import Server

PORT = 7437
HOST = f"127.0.0.1:{PORT}"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a refusal, having checked that it has the one shape."""
        value = self.value
        assert self.headers["content-type"] == "application/json"
        assert all(isinstance(value[name], str) and value[name] for name in ("error", "code", "hint"))
        assert not {"detail", "message", "error_code"} & value.keys()
        return str(value["code"])


def notes_of(reply: Reply) -> list[str]:
    return list(json.loads(reply.headers.get("x-engram-notes", "[]")))


def as_body(value: object) -> bytes:
    return value if isinstance(value, bytes) else b"" if value is None else json.dumps(value).encode()


class Asker:
    """A client of an application in this process."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    def __call__(
        self, method: str, target: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        return self.pieces(method, target, [as_body(body)], headers)

    def pieces(self, method: str, target: str, body: list[bytes], headers: Mapping[str, str] | None = None) -> Reply:
        """The same with a body that comes in pieces, as a chunked one does."""
        raw_path, _, query = target.partition("?")
        given = {"host": HOST} | {name.lower(): value for name, value in (headers or {}).items()}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote_to_bytes(raw_path).decode("utf-8", "replace"),
            "raw_path": raw_path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", PORT),
        }
        messages: list[Message] = [
            {"type": "http.request", "body": piece, "more_body": number < len(body) - 1}
            for number, piece in enumerate(body)
        ]
        sent: list[Message] = []

        async def receive() -> Message:
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        anyio.run(self._application, scope, receive, send)
        answered = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        return Reply(sent[0]["status"], answered, b"".join(one.get("body", b"") for one in sent[1:]))

    def ok(self, method: str, target: str, body: object = None) -> Any:
        """The value of an answer that must be a success."""
        reply = self(method, target, body)
        assert reply.status < 300, reply.body
        return reply.value


@dataclass
class Running:
    """``engram serve`` as a process."""

    process: subprocess.Popen[str]
    port: int
    said: str

    def ask(self, method: str, target: str, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, target, as_body(body) or None, dict(headers or {}))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def end(self) -> tuple[int, str]:
        """The exit code and what was logged, after the process was told to end."""
        if self.process.poll() is None:
            self.process.terminate()
        _, log = self.process.communicate(timeout=60)
        return self.process.returncode, log


@contextmanager
def serving(folder: Path, *arguments: str, **environment: str) -> Iterator[Running]:
    """A server on a port of its own choice."""
    process = Server(
        ["serve", *(arguments or ("0",))],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.startswith("engram serves "), said + process.stderr.read()
        address = said.split()[2]
        yield Running(process, int(address.rpartition(":")[2]) if address.startswith("http") else 0, said)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@contextmanager
def serving_many(room: Path, *arguments: str) -> Iterator[Running]:
    """The same for tests that share a server: in a folder widgets of its own, with a memory beside it."""
    folder = room / "widgets"
    folder.mkdir()
    with serving(folder, "0", *arguments, ENGRAM_DATA_DIR=str(room / "data")) as server:
        yield server
