"""The answers of ``engram mcp`` to some hundred requests, good and bad, as one JSON file to hold the server to.

``python -m tests.interfaces.mcp.record`` writes it again. It was first written by the SDK's own server on stdio. Where
this server is to answer otherwise, the pair says ``why`` and holds the SDK's answer beside its own: it stays as it is.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.forked import Server

RECORDED = Path(__file__).with_name("recorded.json")
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST = "2026-07-28"
WAIT_SECONDS = 20.0
LONGEST_TEXT = 500
LATE = "\N{ROCKET}"
LAST = "that was all"

Line = dict[str, Any] | str
Pair = dict[str, Any]
Recording = dict[str, list[Pair]]


def request(number: object, method: str, params: object = None, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method} | ({} if params is None else {"params": params}) | more


def notification(method: str, params: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})


def hello(version: object = "2025-11-25", **changed: Any) -> dict[str, Any]:
    client = {"name": "recorder", "version": "1"}
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": client} | changed


def call(tool: object, arguments: object = None, number: object = 1) -> dict[str, Any]:
    return request(number, "tools/call", {"name": tool} | ({} if arguments is None else {"arguments": arguments}))


def envelope(version: object = NEWEST, **changed: Any) -> dict[str, Any]:
    names = {"protocolVersion": version, "clientInfo": {"name": "recorder", "version": "1"}, "clientCapabilities": {}}
    return {"_meta": {f"io.modelcontextprotocol/{name}": one for name, one in (names | changed).items()}}


def _opened(*lines: Line) -> list[Line]:
    return [request(0, "initialize", hello()), notification("notifications/initialized"), *lines]


FACT = {"title": "Chose uv", "content": "**What** uv. **Why** it resolves in a second."}
VERDICT = {"relation": "related", "confidence": 0.9, "reasoning": "the same"}

TOOLS: dict[str, list[Any]] = {
    "mem_save": [
        FACT,
        FACT | {"title": "Chose ruff \N{ROCKET} ünï", "type": "decision", "topic_key": "tools/lint"},
        FACT | {"title": "Aliases", "aliases": ["one", "two"], "files": "a.py, b.py"},
        FACT | {"title": "Listed", "aliases": '["one", "two"]', "operation_id": "op-1", "capture_prompt": "false"},
        FACT | {"capture_prompt": 2}, FACT | {"capture_prompt": "maybe"}, FACT | {"capture_prompt": 1.0},
        FACT | {"aliases": [1]}, FACT | {"aliases": {"a": 1}}, FACT | {"aliases": 5}, FACT | {"aliases": ["a", None]},
        {"title": "x"}, {}, None, [], "text", 5, {"title": 5, "content": "x"}, {"title": True, "content": "x"},
        {"title": None, "content": "x"}, {"title": ["a"], "content": "x"}, FACT | {"title": ""},
        FACT | {"content": " \n"}, FACT | {"scope": "team"}, FACT | {"project": "../etc"}, FACT | {"titel": "x"},
        {"title": "x", "observation": "By its alias."}, FACT | {"response_format": "json", "title": "In JSON"},
        FACT | {"response_format": "yaml"}, FACT | {"response_format": 5}, FACT | {"type": ["a"]},
        FACT | {"title": "a\0b"}, FACT | {"project_choice_reason": "x"},
    ],
    "mem_search": [
        {"query": "uv"}, {"query": "uv", "limit": "3"}, {"query": "uv", "limit": 3.0}, {"query": "uv", "limit": 3.5},
        {"query": "uv", "limit": "three"}, {"query": "uv", "limit": True}, {"query": "uv", "limit": " 4 "},
        {"query": "uv", "limit": "3.0"}, {"query": "uv", "limit": "1_0"}, {"query": "uv", "limit": ""},
        {"query": "uv", "limit": 2**70}, {"query": "uv", "limit": None}, {"query": "uv", "limit": [3]},
        {"query": "uv", "limit": 1e400}, {"query": "uv", "limit": "+2"}, {"query": "uv", "limit": "-2"},
        {"query": "uv", "all_projects": "yes"}, {"query": "uv", "all_projects": 0},
        {"query": "uv", "all_projects": "T"},
        {"query": "uv", "all_projects": "Off"}, {"query": "uv", "all_projects": 1.5}, {"query": "uv", "explain": 1},
        {"query": "uv", "all_projects": " true "}, {"query": "uv", "all_projects": []},
        {"query": ""}, {"query": 5}, {}, {"query": "uv", "response_format": "full"}, {"query": "\N{ROCKET}"},
        {"query": "uv", "response_format": "json"}, {"query": "uv", "limt": 3}, {"query": "nothing of it"},
    ],
    "mem_context": [{}, None, {"compact": True}, {"query": "Which tool resolves?"}, {"budget_tokens": "many"}],
    "mem_get_observation": [
        {"id": 1}, {"id": "1"}, {"id": "#1"}, {"id": "[#1]"}, {"id": " [#1] "}, {"id": "x"}, {"id": 1.0}, {"id": 1.5},
        {"id": True}, {"id": 999}, {"id": -1}, {"id": 10**30}, {"id": "9" * 5000}, {"id": None}, {}, {"id": {}},
        {"observation_id": 1}, {"id": "1e3"}, {"id": "１"}, {"id": 2, "include_history": True},
    ],
    "mem_update": [{"id": 1, "title": "Took uv"}, {"id": 1}, {"id": 1, "find": "uv"}, {"id": "one"}],
    "mem_timeline": [{"observation_id": 1}, {"id": 1, "before": -1}, {"observation_id": 1, "before": "x"}],
    "mem_pin": [{"id": 2}, {"id": 99}], "mem_unpin": [{"id": 2}],
    "mem_suggest_topic_key": [{"type": "decision", "title": "Chose uv"}, {}, {"type": None}],
    "mem_session_start": [{"id": "s1"}, {"id": " "}, {"id": 5}],
    "mem_session_summary": [{"content": "## Goal\nRecord."}, {}],
    "mem_session_end": [{"id": "s1", "summary": "Done."}, {"id": "none"}],
    "mem_save_prompt": [{"content": "Which one?"}],
    "mem_capture_passive": [{"content": "## Key Learnings\n- uv is fast"}],
    "mem_judge": [
        {"judgment_id": "rel-none", "relation": "related"}, {"judgment_id": "rel-none", "relation": "likes"},
        {"judgment_id": "rel-none", "relation": "related", "confidence": "high"},
        {"judgment_id": "rel-none", "relation": "related", "confidence": True},
    ],
    "mem_compare": [
        {"memory_id_a": 1, "memory_id_b": "#2", **VERDICT},
        {"memory_id_a": 1, "memory_id_b": 2, **VERDICT, "confidence": "0.5"},
        {"memory_id_a": 1, "memory_id_b": 2, **VERDICT, "confidence": 1.5},
        {"memory_id_a": 1, "memory_id_b": 2, **VERDICT, "confidence": "nan"},
        {"memory_id_a": 1, "memory_id_b": 2, **VERDICT, "confidence": 1},
        {"memory_id_a": True, "memory_id_b": 2, **VERDICT}, {"memory_id_a": 1, **VERDICT},
    ],
    "mem_review": [{"action": "list"}, {"action": "mark_reviewed", "id": 1}, {"action": "zap"},
        {"action": "mark_reviewed"}],
    "mem_current_project": [{}, {"zzz": 1}], "mem_list_projects": [{}],
    "mem_merge_projects": [{"from": "gadgets", "to": "widgets"}, {"from_": "gadgets", "to": "widgets"}, {"to": "x"}],
    "mem_stats": [{}], "mem_doctor": [{"check": "integrity"}, {"check": "zap"}],
    "mem_delete": [{"id": 2}, {"id": True}, {"id": 2, "hard_delete": "x"}],
    "mem_sav": [{}],
}  # fmt: skip

ODD: list[Line] = [
    "{nope", "hello", "[]", "null", "5", '"text"', "", "   ", '{"id": 7}', "[" * 2000 + "]" * 2000,
    '{"jsonrpc":"1.0","id":8,"method":"ping"}', '{"jsonrpc":"2.0","id":"nine","method":5}',
    '{"jsonrpc":"2.0","id":"ten","method":"ping","params":[1]}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":null}',
    '{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', '{"jsonrpc":"2.0","id":true,"method":"ping"}',
    '{"jsonrpc":"2.0","id":[1],"method":"ping"}', '{"jsonrpc":"2.0","id":1.0,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"result":{}}', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}',
    '{"jsonrpc":"2.0","id":3,"method":"ping"} {"jsonrpc":"2.0","id":4,"method":"ping"}',
    '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]',
    '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', '{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":NaN}}',
    request("a string", "ping"), request("", "ping"), request(-1, "ping"), request(0, "ping"), request(2**53, "ping"),
    request(2**70, "ping"), request(LATE, "ping"), request(1, "ping", {"a": 1}), request(1, "ping", extra=1),
    request(1, "ping", {"_meta": {"progressToken": 1}}), request(1, "ping", {"_meta": 5}),
    request(1, "mem/save"), request(1, ""), request(1, "tools/lists"), request(1, "server/discover"),
    request(1, "logging/setLevel", {"level": "info"}), request(1, "completion/complete", {}),
    request(1, "resources/subscribe", {"uri": "engram://observation/1"}), request(1, "roots/list"),
    request(1, "notifications/initialized"), request(1, "initialize", hello()),
    request(1, "tools/list", {}), request(1, "tools/list", {"cursor": "x"}), request(1, "tools/list", {"cursor": 5}),
    request(1, "tools/list", envelope()), request(1, "tools/call"), request(1, "tools/call", {}),
    call(5), call(None), call("mem_stats", {}, "unicode \N{ROCKET}"), request(1, "tools/call", {"arguments": {}}),
    request(1, "tools/call", {"name": "mem_current_project", "arguments": {}, "_meta": {"progressToken": "p"}, "x": 1}),
    request(1, "tools/call", {"name": "mem_current_project", "arguments": None}),
    request(1, "resources/list"), request(1, "resources/list", {"cursor": "x"}), request(1, "resources/templates/list"),
    request(1, "resources/read", {"uri": "engram://observation/1"}), request(1, "resources/read", {"uri": "x:y"}),
    request(1, "resources/read", {"uri": "engram://observation/999"}), request(1, "resources/read", {"uri": 5}),
    request(1, "resources/read", {"uri": "engram://observation/x"}), request(1, "resources/read", {}),
    request(1, "resources/read", {"uri": "engram://context/widgets"}), request(1, "resources/read"),
    request(1, "prompts/list"), request(1, "prompts/get", {"name": "wrap-up"}),
    request(1, "prompts/get", {"name": 1}),
    request(1, "prompts/get", {"name": "recall", "arguments": {"topic": "uv"}}), request(1, "prompts/get", {}),
    request(1, "prompts/get", {"name": "recall", "arguments": {"topic": 5}}),
    request(1, "prompts/get", {"name": "zap"}),
    request(1, "prompts/get", {"name": "recall", "arguments": []}),
    notification("notifications/cancelled", {"requestId": 77}), notification("notifications/cancelled"),
    notification("notifications/progress", {"progressToken": 1, "progress": 1}), notification("notifications/odd", {}),
    notification("notifications/roots/list_changed"), notification("tools/list"), request("last", "ping"),
]  # fmt: skip

BAD_HELLOS: list[dict[str, Any] | None] = [
    None, {}, hello(5), hello(clientInfo=None), hello(clientInfo={"name": 5, "version": "1"}), hello(capabilities=None),
    hello(clientInfo={"name": "x"}), hello(capabilities=[]), {"protocolVersion": "2025-11-25"},
]  # fmt: skip


def modern(number: object, method: str, **params: Any) -> dict[str, Any]:
    return request(number, method, envelope() | params)


ENVELOPED: list[Line] = [
    modern(1, "server/discover"), modern(2, "tools/list"), modern(3, "tools/call", name="mem_save", arguments=FACT),
    modern(4, "tools/call", name="mem_search", arguments={"query": "uv"}), modern(5, "tools/call", name="mem_sav"),
    modern(6, "resources/list"), modern(7, "resources/read", uri="engram://observation/1"),
    modern(8, "resources/templates/list"), modern(9, "prompts/list"), modern(10, "prompts/get", name="wrap-up"),
    modern(11, "ping"), modern(12, "zap"), request(13, "tools/list"), request(14, "tools/list", {}),
    request(15, "tools/list", {"_meta": 5}), request(16, "tools/list", {"_meta": {}}),
    request(17, "initialize", hello()),
    request(18, "tools/list", envelope("2025-11-25")), request(19, "tools/list", envelope(5)),
    request(20, "tools/list", envelope(clientCapabilities=5)), request(21, "tools/list", envelope(clientInfo=5)),
    modern(22, "resources/read", uri="engram://observation/9"), modern(23, "prompts/get", name="zap"),
    modern(24, "logging/setLevel", level="info"), modern(25, "tools/call"), modern(26, "server/discover", x=1),
    request(27, "initialize", {}), notification("notifications/cancelled", {"requestId": 3}), modern(28, "tools/list"),
    request(29, "tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": NEWEST}}),
    modern(30, "subscriptions/listen"), modern(31, "tools/call", name="mem_context", arguments=[1]),
]  # fmt: skip


def conversations() -> Iterator[tuple[str, list[Line]]]:
    """(name, the lines one client sends), each to a process of its own."""
    for version in (*HANDSHAKES, NEWEST, "1999-01-01", ""):
        yield f"hello {version}", [request(1, "initialize", hello(version)), request(2, "ping")]
    bad = [request(number, "initialize", params) for number, params in enumerate(BAD_HELLOS)]
    yield "hello, wrongly", [*bad, request("then", "initialize", hello()), request("again", "initialize", hello())]
    early = [request(1, "ping"), request(2, "tools/list"), call("mem_stats", {}, 3), request(4, "server/discover")]
    yield "before hello", [*early, request(5, "initialize", hello()), request(6, "tools/list")]
    yield "hello, no initialized", [request(1, "initialize", hello()), request(2, "tools/list"), request(3, "ping")]
    tools = [call(tool, one, f"{tool} {n}") for tool, several in TOOLS.items() for n, one in enumerate(several)]
    yield "tools", _opened(request("list", "tools/list"), *tools)
    yield "odd", _opened(call("mem_save", FACT), *ODD)
    yield "2026-07-28", ENVELOPED
    yield "2026-07-28, unknown version first", [request(1, "server/discover", envelope("2027-01-01")), *ENVELOPED[:1]]
    yield "hello with an envelope", [request(1, "initialize", hello() | envelope()), request(2, "ping")]


class Process:
    """``engram mcp`` in a folder of its own, asked one line at a time."""

    def __init__(self, room: Path) -> None:
        folder = room / "widgets"
        folder.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ENGRAM_", "XDG_", "GIT_"))}
        env = kept | {"ENGRAM_DATA_DIR": str(room / "data"), "HOME": str(room)}
        self._room = room
        self._process = Server(
            ["mcp", "--tools=all"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=env, bufsize=0,
        )  # fmt: skip

    def ask(self, line: Line) -> Any:
        """The answer, without what differs from run to run; None when there is none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n")
        answered = isinstance(line, dict) and "id" in line
        if not answered:  # what answers this asks after it has been read
            self._process.stdin.write(json.dumps(request(LAST, "ping")).encode() + b"\n")
        if not select.select([self._process.stdout], [], [], WAIT_SECONDS)[0]:
            return None
        data = self._process.stdout.readline()
        if not answered:
            found = json.loads(data)
            if found.get("id") == LAST:
                return None
            assert json.loads(self._process.stdout.readline())["id"] == LAST
        return normal(json.loads(data), str(self._room)) if data else None

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=WAIT_SECONDS)
        self._process.stdout.close()


def normal(value: Any, room: str) -> Any:
    """The value with one word for each time, generated id, path, and what else no two runs have alike."""
    if isinstance(value, dict):
        tools = value.get("tools")
        if isinstance(tools, list):  # the first stands for all: each is held to its schema elsewhere
            value = value | {"tools": tools[:1] + [one["name"] for one in tools[1:]]}
        return {name: normal(one, room) for name, one in value.items()}
    if isinstance(value, list):
        return [normal(one, room) for one in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"\b(rel|session|ses|proc|obs)-[0-9a-z-]{8,}", r"\1-ID", value.replace(room, "ROOM"))
    value = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?", "TIME", value)
    value = re.sub(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{12,}\b", "ID", value)
    value = re.sub(r"\b\d\d:\d\d\b", "TIME", value)
    value = re.sub(r"\d+(\.\d+)? (ms|s|seconds?|minutes?) ?(ago)?|just now", "AGO", value)
    return value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + f" ... {len(value) // 100}00"


def record() -> Recording:
    """What the server answers to each line of each conversation."""
    found: Recording = {}
    for name, lines in conversations():
        with tempfile.TemporaryDirectory() as room:
            server = Process(Path(room).resolve())
            try:
                found[name] = [{"line": shown(line), "answer": server.ask(line)} for line in lines]
            finally:
                server.end()
    return found


def shown(line: Line) -> Line:
    """The line, shortened where nobody would read it."""
    text = line if isinstance(line, str) else json.dumps(line)
    return line if len(text) < LONGEST_TEXT else text[:LONGEST_TEXT]


def renewed(old: Recording, new: Recording) -> Recording:
    """The new recording, but for the old one's pairs that say why they differ from the SDK's."""
    kept = {(name, json.dumps(pair["line"])): pair for name, pairs in old.items() for pair in pairs if "why" in pair}
    return {name: [kept.get((name, json.dumps(pair["line"])), pair) for pair in pairs] for name, pairs in new.items()}


def text_of(recording: Recording) -> str:
    """The file: one pair a line."""
    parts = []
    for name, pairs in recording.items():
        rows = ",\n".join("  " + json.dumps(pair, sort_keys=True) for pair in pairs)
        parts.append(f"{json.dumps(name)}: [\n{rows}\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    RECORDED.write_text(text_of(renewed(json.loads(RECORDED.read_text()), record())))
