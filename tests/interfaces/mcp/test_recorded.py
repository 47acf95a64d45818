"""The server on stdin and stdout answers as the SDK's own did when it was recorded, but for what is listed here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.mcp.record import RECORDED, Process, conversations, normal

Answer = dict[str, Any]

# The SDK says nothing to a request whose id is neither text nor a whole number, so its sender waits for ever.
NO_ID: Answer = {"id": None, "error": {"code": -32600, "message": "not a JSON-RPC 2.0 request"}}


def _unknown(request_id: int, method: str) -> Answer:
    return {"id": request_id, "error": {"code": -32601, "message": "Method not found", "data": method}}


DIFFERENT: dict[str, Answer] = {
    **{f'{{"jsonrpc":"2.0","id":{bad},"method":"ping"}}': NO_ID for bad in ("null", "1.5", "true", "[1]", "1.0")},
    # The SDK checks the params of methods that nobody serves: that there is no such method helps more.
    "completion/complete": _unknown(1, "completion/complete"),
    "subscriptions/listen": _unknown(30, "subscriptions/listen"),
}
CONVERSATIONS = dict(conversations())


def expected(line: Any, answer: Answer | None) -> Answer | None:
    found = DIFFERENT.get(line if isinstance(line, str) else line["method"])
    return answer if found is None else {"jsonrpc": "2.0", **found}


@pytest.mark.skipif(sys.platform == "win32", reason="select() knows no pipes there")
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_each_line_is_answered_as_recorded(tmp_path: Path, name: str) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))[name]
    assert len(recorded) == len(CONVERSATIONS[name])
    server = Process(tmp_path)
    try:
        for line, known in zip(CONVERSATIONS[name], recorded, strict=True):
            assert server.ask(line) == expected(line, known["answer"]), line
    finally:
        server.end()


def test_the_recording_knows_no_room_of_its_own() -> None:
    assert normal("/a/b/data at 2026-01-01 10:00", "/a/b") == "ROOM/data at TIME"
