"""What the tests call tools with, and the server as a process of its own."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.types import CallToolResult, TextContent

from tests.forked import Server
from tests.template import ready

TABLES = ("observations", "observation_versions", "sessions", "user_prompts", "memory_relations", "projects")

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "start",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw-lines", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@dataclass(frozen=True)
class Answer:
    text: str
    failed: bool

    @property
    def values(self) -> dict[str, Any]:
        found = json.loads(self.text)
        assert isinstance(found, dict)
        return found


class Agent:
    """A coding agent, as far as a server sees one."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, /, **arguments: Any) -> Answer:
        result = await self.client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        [part] = result.content
        assert isinstance(part, TextContent)
        assert result.structured_content is None  # some hosts show it to the model instead of the text
        return Answer(part.text, bool(result.is_error))

    async def told(self, tool: str, /, **arguments: Any) -> str:
        """The text of a call that must succeed."""
        answer = await self.call(tool, **arguments)
        assert not answer.failed, answer.text
        return answer.text

    async def value(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The JSON of a call that must succeed."""
        answer = await self.call(tool, **arguments, response_format="json")
        assert not answer.failed, answer.text
        return answer.values

    async def refusal(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The facts of a call that must fail, having checked that the text says the same as the JSON."""
        as_json = await self.call(tool, **arguments, response_format="json")
        assert as_json.failed, as_json.text
        facts = as_json.values
        as_text = await self.call(tool, **arguments)
        assert as_text.failed
        assert as_text.text.startswith(f"{facts['error_code']}: {facts['message']}\nhint: {facts['hint']}")
        return facts


def rows(data_dir: Path) -> dict[str, int]:
    """How many rows each table holds; none when there is no database yet."""
    path = data_dir / "engram.db"
    if not path.is_file():
        return dict.fromkeys(TABLES, 0)
    connection = sqlite3.connect(path)
    try:
        return {table: connection.execute(f"select count(*) from {table}").fetchone()[0] for table in TABLES}
    finally:
        connection.close()


def sessions(data_dir: Path) -> list[tuple[str, str | None]]:
    """(agent, when it ended) of every session, oldest first."""
    connection = sqlite3.connect(data_dir / "engram.db")
    try:
        return connection.execute("select agent, ended_at from sessions order by started_at, id").fetchall()
    finally:
        connection.close()


def start_server(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    """``engram mcp`` in ``folder``, in a process session of its own, which finds the database made."""
    if (data_dir := Path((os.environ | environment)["ENGRAM_DATA_DIR"])).is_absolute():
        ready(data_dir)
    return Server(
        ["mcp", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, **environment},
        start_new_session=True,
    )


def talk(server: subprocess.Popen[bytes], *messages: dict[str, Any]) -> bytes:
    """Write requests, and read the answer to the last."""
    assert server.stdin is not None
    assert server.stdout is not None
    answer = b""
    for message in messages:
        server.stdin.write(as_line(message))
        server.stdin.flush()
        if "id" in message:
            answer = server.stdout.readline()
    return answer


def close(server: subprocess.Popen[bytes]) -> str:
    """Close all pipes and wait; what was logged."""
    for stream in (server.stdin, server.stdout):
        if stream is not None and not stream.closed:
            stream.close()
    assert server.stderr is not None
    log = server.stderr.read().decode()
    server.stderr.close()
    server.wait(timeout=60)
    return log


def tool_call(request_id: int | str, tool: str, /, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def as_line(message: dict[str, Any] | str | bytes) -> bytes:
    if isinstance(message, bytes):
        return message + b"\n"
    return (message if isinstance(message, str) else json.dumps(message)).encode() + b"\n"


@dataclass(frozen=True)
class Exchange:
    """What a server answered to lines that were written at once, with stdin closed behind them."""

    answers: list[dict[str, Any]]
    status: int
    log: str

    def to(self, request_id: int | str | None) -> dict[str, Any]:
        [found] = [answer for answer in self.answers if answer.get("id") == request_id]
        return found

    def text(self, request_id: int | str) -> str:
        text = self.to(request_id)["result"]["content"][0]["text"]
        assert isinstance(text, str)
        return text


def exchange(
    folder: Path, lines: Sequence[dict[str, Any] | str | bytes], *arguments: str, **environment: str
) -> Exchange:
    server = start_server(folder, *arguments, **environment)
    sent = b"".join(as_line(line) for line in (INITIALIZE, INITIALIZED, *lines))
    output, log = server.communicate(sent, timeout=120)
    answers = [json.loads(line) for line in output.decode().splitlines()]
    return Exchange(answers, server.returncode, log.decode())
