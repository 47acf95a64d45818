"""Raw JSON-RPC lines, and answers held against those recorded from the SDK's server."""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.mcp.agent import INITIALIZE, Exchange, as_line, exchange, rows, start_server, talk, tool_call
from tests.interfaces.mcp.record import RECORDED, Process, normal, recorded, text_of
from tests.support import DEEP
from tests.template import ready

PING = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}
HALF = "\\ud800"  # half of a surrogate pair, as JSON writes it


def request(request_id: object, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def refusals(answered: Exchange) -> list[tuple[object, int]]:
    """(id, code) of every JSON-RPC error."""
    return [(one["id"], one["error"]["code"]) for one in answered.answers if "error" in one]


def test_lines_that_are_not_json_are_answered_and_the_server_lives(folder: Path) -> None:
    half_an_object, words, not_utf_8 = "{nope", "hello", b'\xff\xfe{"'
    nested_too_deep, ten_megabytes = "[" * DEEP + "]" * DEEP, "x" * 10_000_000
    lines: list[str | bytes] = [half_an_object, words, not_utf_8, nested_too_deep, ten_megabytes]

    answered = exchange(folder, [*lines, PING])

    assert refusals(answered) == [(None, -32700)] * len(lines)
    assert answered.to("ping")["result"] == {}


def agreed(version: str) -> dict[str, Any]:
    return INITIALIZE | {"params": INITIALIZE["params"] | {"protocolVersion": version}}  # type: ignore[operator]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
def test_an_array_of_messages_is_answered_by_one_array_where_the_version_has_batches(
    here: Path, data_dir: Path, version: str
) -> None:
    batch = [
        PING,
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}},
        tool_call("save", "mem_save", title="Chose uv", content="Fast."),
        [],
        {"jsonrpc": "2.0", "id": "odd", "method": "zap"},
    ]
    only_notices = [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
    server = start_server(here)
    talk(server, agreed(version))
    output, _ = server.communicate(b"".join(map(as_line, map(json.dumps, (batch, only_notices, [])))), timeout=60)

    arrays = [json.loads(line) for line in output.splitlines()]
    [answers] = [one for one in arrays if isinstance(one, list)]
    assert {one["id"] for one in answers} == {"ping", "save", None, "odd"}
    assert {one["id"]: one["error"]["code"] for one in answers if "error" in one} == {None: -32600, "odd": -32601}
    assert [one["error"]["code"] for one in arrays if isinstance(one, dict)] == [-32600]  # the empty array
    assert rows(data_dir)["observations"] == 1


def test_an_array_is_no_message_where_the_version_has_no_batches(folder: Path) -> None:
    answered = exchange(folder, [json.dumps([PING])])

    assert refusals(answered) == [(None, -32600)]


def test_a_batch_is_answered_without_the_request_that_was_cancelled(here: Path) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    server = start_server(here)
    talk(server, agreed("2025-03-26"))
    output, _ = server.communicate(as_line(json.dumps([tool_call(1, "mem_context"), cancel, PING])), timeout=60)

    [[*answers]] = [json.loads(line) for line in output.splitlines()]
    assert "ping" in [one["id"] for one in answers]


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
def test_a_cursor_that_nobody_gave_out_is_an_invalid_parameter(folder: Path, method: str) -> None:
    answered = exchange(folder, [request(1, method, cursor="garbage"), request(2, method, cursor="")])

    assert refusals(answered) == [(1, -32602)]
    assert "cursor" in answered.to(1)["error"]["message"]


NOT_TEXT = {"nul": ("\\u0000", "a NUL byte"), "half": (HALF, "a lone surrogate")}
TEXTS = ("title", "content", "topic_key", "type", "session_id")


@pytest.fixture(scope="module")
def not_texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Exchange, Path]:
    """A server that was sent every bad text in every argument, and its data directory."""
    room = tmp_path_factory.mktemp("not-texts")
    lines = []
    for argument, (name, (bad, _)), form in product(TEXTS, NOT_TEXT.items(), ("text", "json")):
        fields = {"title": "Chose uv", "content": "Fast.", argument: f"a@b{argument}"}
        call = tool_call(f"{argument} {name} {form}", "mem_save", **fields, response_format=form)
        lines.append(json.dumps(call).replace("@", bad))
    return exchange(room, [*lines, PING], ENGRAM_DATA_DIR=str(room / "data")), room / "data"


@pytest.mark.parametrize("name", NOT_TEXT)
@pytest.mark.parametrize("argument", TEXTS)
def test_what_is_not_text_is_refused_by_the_argument_that_holds_it(
    not_texts: tuple[Exchange, Path], name: str, argument: str
) -> None:
    answered, data_dir = not_texts

    assert answered.to("ping")["result"] == {}
    assert set(rows(data_dir).values()) == {0}
    assert answered.to(f"{argument} {name} text")["result"]["isError"] is True
    said = answered.text(f"{argument} {name} text")
    assert said.startswith(f"invalid_text: {argument} contains {NOT_TEXT[name][1]}")
    assert json.loads(answered.text(f"{argument} {name} json"))["error_code"] == "invalid_text"


HALVES = {
    "method": f'{{"jsonrpc":"2.0","id":"method","method":"{HALF}"}}',
    "params": f'{{"jsonrpc":"2.0","id":"params","method":"ping","params":{{"{HALF}":"{HALF}"}}}}',
    "tool": tool_call("tool", "@"),
    "argument": tool_call("argument", "mem_search", query="a", **{"@": 1}),
    "number": tool_call("number", "mem_search", query="a", limit="@"),
    "uri": request("uri", "resources/read", uri="engram://context/@"),
    "prompt": request("prompt", "prompts/get", name="@"),
    "topic": request("topic", "prompts/get", name="recall", arguments={"topic": "a @"}),
    "client": json.dumps(INITIALIZE | {"id": "client"}).replace("raw-lines", HALF),
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Exchange:
    """A server that was sent all of them, and what else is odd."""
    room = tmp_path_factory.mktemp("odd")
    ready(room / "data")  # calls that are not done two seconds after the last line are not waited for
    halves = [one if isinstance(one, str) else json.dumps(one).replace("@", HALF) for one in HALVES.values()]
    whole = json.dumps(tool_call("whole", "mem_save", title="Chose @", content="x")).replace("@", "\\ud83d\\ude80")
    invalid = json.dumps(tool_call("invalid", "mem_save", title="Took @", content="y")).encode()
    deep = json.dumps(tool_call("deep", "mem_save", title="@", content="z")).replace('"@"', "[" * 500 + "]" * 500)
    lines: list[dict[str, Any] | str | bytes] = [*halves, whole, invalid.replace(b"@", b"\xff"), deep, PING]
    return exchange(room, lines, ENGRAM_DATA_DIR=str(room / "data"))


@pytest.mark.parametrize("place", HALVES)
def test_half_a_surrogate_pair_anywhere_in_a_message_never_ends_the_server(odd: Exchange, place: str) -> None:
    assert odd.to(place)
    assert odd.to("ping")["result"] == {}
    assert (odd.status, odd.log) == (0, "")


def test_characters_beyond_the_common_and_deep_arguments_are_read_as_json_reads_them(odd: Exchange) -> None:
    assert "Chose 🚀" in odd.text("whole")
    assert "Took �" in odd.text("invalid")
    assert odd.text("deep").startswith("invalid_argument: title is [[[")
    assert len(odd.text("deep")) < 300


def test_ten_megabytes_are_refused_as_a_title_and_cut_as_a_content(folder: Path) -> None:
    title = tool_call("title", "mem_save", title="x" * 10_000_000, content="y")
    answered = exchange(folder, [title, tool_call("content", "mem_save", title="Big", content="word " * 2_000_000)])

    assert answered.text("title").startswith("text_too_long: title has 10,000,000 characters")
    assert "kept 50,000 of 10,000,000 bytes" in answered.text("content")


RECORDING = recorded()


@pytest.mark.skipif(sys.platform == "win32", reason="select() knows no pipes there")
@pytest.mark.parametrize("name", RECORDING)
def test_each_line_is_answered_as_recorded(tmp_path: Path, name: str) -> None:
    server = Process(tmp_path)
    try:
        for pair in RECORDING[name]:
            assert server.ask(pair["line"]) == pair["answer"], pair["line"]
    finally:
        server.end()


def test_an_answer_that_differs_from_the_sdks_says_why() -> None:
    deliberate = [pair for pairs in RECORDING.values() for pair in pairs if "sdk" in pair]
    assert len(deliberate) == 6
    assert all(pair["why"] and pair["sdk"] != pair["answer"] for pair in deliberate)
    assert normal("/a/b/data at 2026-01-01 10:00", "/a/b") == "ROOM/data at TIME"
    assert text_of(RECORDING) == RECORDED.read_text(encoding="utf-8")
