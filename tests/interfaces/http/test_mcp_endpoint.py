"""The MCP endpoint: the tools of the stdio server over HTTP, for many clients at once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import anyio
import anyio.to_thread
import pytest
from mcp import Client
from starlette.requests import Request

from engram_py import Engram
from engram_py.interfaces.http import mcp_endpoint
from engram_py.interfaces.mcp.profiles import stored
from engram_py.interfaces.mcp.tool_calls import Memory
from tests.interfaces.http.asking import Running, serving, serving_many
from tests.interfaces.mcp.agent import INITIALIZE, Agent

ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@asynccontextmanager
async def agent(server: Running, *, mode: str = "legacy", query: str = "") -> AsyncIterator[Agent]:
    async with Client(server.mcp(query), mode=mode) as client:
        yield Agent(client)


def sessions(data_dir: Path) -> list[tuple[str, str, bool]]:
    connection = sqlite3.connect(data_dir / "engram.db")
    try:
        rows = connection.execute("select id, project, ended_at is not null from sessions order by rowid").fetchall()
        return [(name.split("-")[0], project, bool(ended)) for name, project, ended in rows]
    finally:
        connection.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server for tests that keep to a project of their own."""
    with serving_many(tmp_path_factory.mktemp("shared"), "--tools", "all") as server:
        yield server


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_both_eras_of_clients_save_and_find(shared: Running, mode: str) -> None:
    async with agent(shared, mode=mode, query=f"?project={mode}") as one:
        assert len((await one.client.list_tools()).tools) == len(stored())
        saved = await one.value("mem_save", title="Chose uv", content="Installs are fast.")
        assert "Chose uv" in await one.told("mem_search", query="how fast are installs")
        assert (await one.refusal("mem_save", title=" ", content="x"))["error_code"] == "empty_field"
        assert "Chose uv" in str(await one.client.read_resource(f"engram://observation/{saved['id']}"))
    found = shared.ask("GET", f"/observations/{saved['id']}").value
    assert (found["title"], found["project"]) == ("Chose uv", mode)


async def test_what_one_client_starts_does_not_decide_for_another(folder: Path, data_dir: Path) -> None:
    with serving(folder, "0", "--tools", "all") as server:
        async with agent(server) as one, agent(server) as other, agent(server, mode="auto") as newest:
            await one.told("mem_session_start", id="s-1", project="gadgets")
            await newest.told("mem_session_start", id="s-2", project="gizmos")
            assert (await one.value("mem_save", title="Chose uv", content="Fast."))["project"] == "gadgets"
            assert (await other.value("mem_save", title="Chose ruff", content="Lint."))["project"] == "widgets"
            assert (await newest.value("mem_save", title="Chose mypy", content="Types."))["project"] == "widgets"
        assert ("mcp", "widgets", True) in sessions(data_dir)  # its client said goodbye
        assert server.end()[0] == 0


async def test_a_client_that_goes_without_goodbye_is_ended_with_the_server(folder: Path, data_dir: Path) -> None:
    with serving(folder) as server:
        first = server.ask("POST", "/mcp", INITIALIZE, ACCEPT)
        headers = ACCEPT | {"Mcp-Session-Id": first.headers["mcp-session-id"]}
        server.ask("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
        call = {"name": "mem_save", "arguments": {"title": "Chose uv", "content": "Fast."}}
        answer = server.ask(
            "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, headers
        )
        assert b"Saved" in answer.body
        assert sessions(data_dir) == [("mcp", "widgets", False)]
        assert server.end() == (0, "")
    assert sessions(data_dir) == [("mcp", "widgets", True)]


async def test_an_id_that_the_newest_protocol_sends_makes_no_connection(folder: Path, data_dir: Path) -> None:
    about = {"protocolVersion": "2026-07-28", "clientInfo": {"name": "x", "version": "1"}, "clientCapabilities": {}}
    call = {"name": "mem_save", "arguments": {"title": "Chose uv", "content": "Fast."}}
    call["_meta"] = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = ACCEPT | {"Mcp-Method": "tools/call", "Mcp-Name": "mem_save", "MCP-Protocol-Version": "2026-07-28"}
    with serving(folder) as server:
        for number in range(3):
            answer = server.ask("POST", "/mcp", body, headers | {"Mcp-Session-Id": f"made-up-{number}"})
            assert (answer.status, b"Chose uv" in answer.body) == (200, True)
        assert [name for name, *_ in sessions(data_dir)] == ["manual"]


async def test_the_longest_unused_connection_makes_room_for_one_too_many(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_endpoint, "MOST_CONNECTIONS", 3)
    endpoint = mcp_endpoint.McpEndpoint(app)

    def memory_of(name: str) -> Memory:
        scope = {"type": "http", "headers": [(b"mcp-session-id", name.encode())], "query_string": b""}
        return endpoint.memory_of(SimpleNamespace(request=Request(scope)))

    async with endpoint.run():
        first, *_ = [memory_of(f"client-{number}") for number in range(3)]
        kept = memory_of("client-1")
        memory_of("client-0")
        memory_of("client-3")
        assert endpoint.connected == 3
        assert memory_of("client-0") is first
        assert memory_of("client-1") is kept


async def test_a_client_may_say_where_it_stands(shared: Running, tmp_path: Path) -> None:
    (tmp_path / "gadgets").mkdir()
    async with agent(shared, query=f"?cwd={tmp_path / 'gadgets'}") as one:
        assert (await one.value("mem_save", title="Chose uv", content="Fast."))["project"] == "gadgets"
    async with agent(shared, query="?project=gizmos", mode="auto") as one:
        assert (await one.value("mem_save", title="Chose ruff", content="Lint."))["project"] == "gizmos"
    async with agent(shared, query="?cwd=nowhere") as one:
        assert (await one.refusal("mem_current_project"))["error_code"] == "invalid_argument"


async def test_many_clients_lose_nothing(folder: Path, data_dir: Path) -> None:
    with serving(folder) as server:

        async def save(name: int) -> None:
            async with agent(server) as one:
                for number in range(10):
                    await one.told("mem_save", title=f"Fact {name} {number}", content=f"Body {name}-{number}.")

        async with anyio.create_task_group() as tasks:
            for name in range(6):
                tasks.start_soon(save, name)
        assert server.ask("GET", "/stats").value["total_observations"] == 60
    assert len(sessions(data_dir)) == 6


async def test_a_stream_that_a_client_keeps_open_does_not_keep_the_server_alive(folder: Path) -> None:
    with serving(folder) as server:
        first = server.ask("POST", "/mcp", INITIALIZE, ACCEPT)
        import socket

        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as stream:
            head = f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAccept: text/event-stream\r\n"
            head += f"Authorization: {server.secret['authorization']}\r\n"
            head += f"Mcp-Session-Id: {first.headers['mcp-session-id']}\r\n\r\n"
            stream.sendall(head.encode())
            assert stream.recv(100).startswith(b"HTTP/1.1 200")
            assert server.end()[0] == 0


@pytest.mark.parametrize(("body", "status"), [
    (b"not json", 400), (b'{"jsonrpc": "2.0"}', 400), (b"[]", 400), (b" " * (5 << 20), 413), (b'{"a":' * 50_000, 400),
], ids=["text", "no-request", "batch", "large", "deep"])  # fmt: skip
async def test_what_is_no_message_is_refused(shared: Running, body: bytes, status: int) -> None:
    assert shared.ask("POST", "/mcp", body, ACCEPT).status == status
    assert shared.ask("GET", "/health").status == 200


async def test_an_unknown_connection_and_an_unknown_method_are_refused(shared: Running) -> None:
    unknown = shared.ask("POST", "/mcp", json.dumps(INITIALIZE).encode(), ACCEPT | {"Mcp-Session-Id": "nobody"})
    assert unknown.status == 404
    assert shared.ask("PATCH", "/mcp", b"", ACCEPT).status == 405


@pytest.mark.parametrize("version", ["1999-01-01", "nonsense"])
async def test_an_unknown_version_in_the_header_is_named_with_those_there_are(shared: Running, version: str) -> None:
    listing = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()

    refused = shared.ask("POST", "/mcp", listing, ACCEPT | {"Mcp-Protocol-Version": version})

    assert refused.status == 400
    error = json.loads(refused.body)["error"]
    assert (error["code"], error["data"]["requested"]) == (-32022, version)
    assert f"mcp-protocol-version is '{version}'" in error["message"]
    assert "2025-11-25, 2026-07-28" in error["message"]
