"""The server with an embedder: it computes after the saves, and neither its answers nor its end wait for a model."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.embedders import Endpoint, endpoint
from tests.interfaces.mcp.agent import INITIALIZE, INITIALIZED, start_server, talk, tool_call


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with endpoint() as found:
        monkeypatch.setenv("ENGRAM_EMBEDDER", found.setting)
        yield found


@pytest.fixture
def server(served: Endpoint, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with start_server(folder) as process:
        yield process
        process.kill()


def end(server: subprocess.Popen[bytes]) -> int:
    assert server.stdin is not None
    server.stdin.close()
    return server.wait(30)


def save(number: int, content: str) -> dict[str, Any]:
    return tool_call(number, "mem_save", title=f"Note {number}", content=content)


def vectors(data_dir: Path) -> int:
    with closing(sqlite3.connect(data_dir / "engram.db")) as connection:
        return int(connection.execute("select count(*) from observation_vectors").fetchone()[0])


def test_what_is_saved_gets_its_vector_while_the_server_goes_on(
    server: subprocess.Popen[bytes], served: Endpoint, data_dir: Path
) -> None:
    talk(server, INITIALIZE, INITIALIZED, save(1, "Access tokens last fifteen minutes."))
    talk(server, save(2, "Jobs wait until a worker takes them."))
    while vectors(data_dir) < 2:
        served.arrived.wait(0.05)
    sent = [text for request in served.requests for text in request["input"]]
    assert "Note 1: Access tokens last fifteen minutes." in sent
    assert end(server) == 0


def test_a_model_that_never_answers_holds_up_neither_a_save_nor_the_end(
    server: subprocess.Popen[bytes], served: Endpoint
) -> None:
    def never(_: object) -> tuple[int, bytes]:
        served.released.wait(60)
        return 503, b""

    served.answer = never
    talk(server, INITIALIZE, INITIALIZED)
    assert b"Saved [#1]" in talk(server, save(1, "Access tokens last fifteen minutes."))
    assert served.arrived.wait(60)
    assert b"Saved [#2]" in talk(server, save(2, "Jobs wait until a worker takes them."))
    assert b"fifteen" in talk(server, tool_call(3, "mem_search", query="tokens"))
    assert end(server) == 0
