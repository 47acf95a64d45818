"""Asking the server: in this process without a socket, and as a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import anyio
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from starlette.types import ASGIApp, Message

from engram_py import Engram
from engram_py.interfaces.serve import build_application
from engram_py.interfaces.web.access import Access
from tests.forked import Server
from tests.template import ready

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


def bearer(data_dir: Path) -> dict[str, str]:
    """The header that shows the secret of a memory's server."""
    return {"authorization": f"Bearer {Access(data_dir).bearer()}"}


def asker(app: Engram, **named: Any) -> Asker:
    """The owner, who asks a server over this memory."""
    return Asker(build_application(app, port=PORT, **named), bearer(app.settings.data_dir))


class Asker:
    """A client of an application in this process, which shows ``secret`` with each request."""

    def __init__(self, application: ASGIApp, secret: Mapping[str, str] | None = None) -> None:
        self._application = application
        self._secret = dict(secret or {})

    def __call__(
        self,
        method: str,
        target: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        client: str = "127.0.0.1",
    ) -> Reply:
        return self.pieces(method, target, [as_body(body)], headers, client=client)

    def pieces(
        self,
        method: str,
        target: str,
        body: list[bytes],
        headers: Mapping[str, str] | None = None,
        *,
        client: str = "127.0.0.1",
    ) -> Reply:
        """The same with a body that comes in pieces, as a chunked one does."""
        raw_path, _, query = target.partition("?")
        given = {"host": HOST} | self._secret | {name.lower(): value for name, value in (headers or {}).items()}
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
            "client": (client, 1),
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
    data_dir: Path

    @asynccontextmanager
    async def mcp(self, query: str = "") -> AsyncIterator[TransportStreams]:
        """The transport of an MCP client that shows the secret."""
        url = f"http://127.0.0.1:{self.port}/mcp{query}"
        async with (
            create_mcp_http_client(self.secret) as http,
            streamable_http_client(url, http_client=http) as transport,
        ):
            yield transport

    @property
    def secret(self) -> dict[str, str]:
        return bearer(self.data_dir)

    def ask(self, method: str, target: str, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
        """Ask as the owner."""
        return self.ask_as(self.secret, method, target, body, headers)

    def browse(self, method: str, target: str, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
        """Ask with nothing to show."""
        return self.ask_as({}, method, target, body, headers)

    def ask_as(
        self,
        shown: Mapping[str, str],
        method: str,
        target: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """The same showing something else, or nothing."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        given = {**shown, **{name.lower(): value for name, value in (headers or {}).items()}}
        try:
            connection.request(method, target, as_body(body) or None, given)
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
    variables = {**os.environ, **environment}
    ready(Path(variables["ENGRAM_DATA_DIR"]))
    process = Server(
        ["serve", *(arguments or ("0",))],
        cwd=folder,
        env=variables,
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
        port = int(address.rpartition(":")[2]) if address.startswith("http") else 0
        yield Running(process, port, said, Path(variables["ENGRAM_DATA_DIR"]))
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
