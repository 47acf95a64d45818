"""The folder of a server that its client started elsewhere: the client is asked for its roots."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.mcp.agent import INITIALIZE, INITIALIZED, as_line, close, start_server, tool_call

CAPABLE = INITIALIZE | {"params": INITIALIZE["params"] | {"capabilities": {"roots": {"listChanged": True}}}}  # type: ignore[operator]
CHANGED = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}


class Editor:
    """A client that works in ``roots``; None answers nothing when it is asked for them."""

    def __init__(self, server: subprocess.Popen[bytes], roots: Sequence[Path] | None) -> None:
        self._server, self.roots, self.asked = server, roots, 0

    def send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(as_line(message))
        self._server.stdin.flush()

    def ask(self, message: dict[str, Any]) -> Any:
        assert self._server.stdout is not None
        self.send(message)
        while (found := json.loads(self._server.stdout.readline())).get("id") != message["id"]:
            assert found["method"] == "roots/list"
            self.asked += 1
            if self.roots is not None:
                roots = [{"uri": root.as_uri(), "name": root.name} for root in self.roots]
                self.send({"jsonrpc": "2.0", "id": found["id"], "result": {"roots": roots}})
        return found["result"]

    def project_here(self, number: int = 1) -> str:
        answer = self.ask(tool_call(number, "mem_current_project", response_format="json"))
        return str(json.loads(answer["content"][0]["text"])["project"])


@contextmanager
def editor(folder: Path, roots: Sequence[Path] | None) -> Iterator[Editor]:
    server = start_server(folder)
    try:
        client = Editor(server, roots)
        client.ask(CAPABLE)
        client.send(INITIALIZED)
        yield client
    finally:
        assert close(server) == ""


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    found = {name: tmp_path / "work" / name for name in ("widgets", "gadgets", "wrong place")}
    for folder in found.values():
        folder.mkdir(parents=True)
    return found


def test_a_server_started_anywhere_works_in_the_first_root_that_is_there(folders: dict[str, Path]) -> None:
    with editor(Path(folders["widgets"].anchor), [folders["widgets"] / "gone", folders["gadgets"]]) as client:
        assert client.project_here() == "gadgets"
    with editor(folders["widgets"], [folders["wrong place"], folders["gadgets"]]) as client:
        assert client.project_here() == "wrong place"


def test_a_server_started_inside_of_a_root_stays_where_it_is(folders: dict[str, Path]) -> None:
    with editor(folders["widgets"], [folders["gadgets"], folders["widgets"].parent]) as client:
        assert client.project_here() == "widgets"


@pytest.mark.parametrize("roots", [None, []], ids=["no-answer", "none"])
def test_a_client_that_tells_no_roots_is_where_the_server_was_started(
    folders: dict[str, Path], roots: list[Path] | None
) -> None:
    with editor(folders["widgets"], roots) as client:
        assert client.project_here() == "widgets"
        assert client.asked == 1


def test_a_call_after_the_roots_changed_is_in_the_new_one(folders: dict[str, Path]) -> None:
    with editor(Path(folders["widgets"].anchor), [folders["widgets"]]) as client:
        assert client.project_here() == "widgets"
        client.roots = [folders["gadgets"]]
        client.send(CHANGED)
        client.ask({"jsonrpc": "2.0", "id": "between", "method": "ping"})
        assert client.project_here(2) == "gadgets"
