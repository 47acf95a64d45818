"""Raw JSON-RPC lines, as a host with a library of its own writes them, good and bad."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.mcp.agent import INITIALIZE, Exchange, exchange, rows, tool_call

PING = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}
HALF = "\\ud800"  # half of a surrogate pair, as JSON writes it


def request(request_id: object, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def refusals(answered: Exchange) -> list[tuple[object, int]]:
    """(id, code) of every JSON-RPC error."""
    return [(one["id"], one["error"]["code"]) for one in answered.answers if "error" in one]


def test_lines_written_by_hand_are_answered(folder: Path) -> None:
    answered = exchange(
        folder,
        [
            request("list", "tools/list"),
            tool_call("save", "mem_save", title="Chose uv", content="It resolves in a second."),
            PING,
        ],
    )

    assert answered.to("start")["result"]["serverInfo"]["name"] == "engram"
    tools = answered.to("list")["result"]["tools"]
    assert "mem_save" in [tool["name"] for tool in tools]
    assert all(tool["annotations"]["openWorldHint"] is False for tool in tools)
    assert 'Saved [#1] "Chose uv"' in answered.text("save")
    assert answered.to("save")["result"]["isError"] is False
    assert answered.to("ping")["result"] == {}
    assert (answered.status, answered.log) == (0, "")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("{nope", id="half-an-object"),
        pytest.param("hello", id="words"),
        pytest.param(b'\xff\xfe{"', id="not-utf-8"),
        pytest.param("[" * 100_000 + "]" * 100_000, id="nested-too-deep"),
        pytest.param("x" * 10_000_000, id="ten-megabytes"),
    ],
)
def test_a_line_that_is_not_json_is_answered_and_the_server_lives(folder: Path, line: str | bytes) -> None:
    answered = exchange(folder, [line, PING])

    assert refusals(answered) == [(None, -32700)]
    assert answered.to("ping")["result"] == {}


def test_json_that_is_no_json_rpc_message_is_answered_with_its_id_when_it_has_one(folder: Path) -> None:
    lines = {
        "[]": None,
        "null": None,
        "5": None,
        '"text"': None,
        '"{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"method\\":\\"ping\\"}"': None,
        '{"id": 7}': 7,
        '{"jsonrpc": "1.0", "id": 8, "method": "ping"}': 8,
        '{"jsonrpc": "2.0", "id": "nine", "method": 5}': "nine",
        '{"jsonrpc": "2.0", "id": "ten", "method": "ping", "params": [1]}': "ten",
        f'{{"jsonrpc": "2.0", "id": "{HALF}", "method": "ping"}}': None,
    }

    answered = exchange(folder, [*lines, PING])

    assert refusals(answered) == [(request_id, -32600) for request_id in lines.values()]
    assert answered.to("ping")["result"] == {}


def test_an_unknown_method_and_an_unknown_tool_are_protocol_errors(folder: Path) -> None:
    answered = exchange(folder, [request(1, "mem/save"), tool_call(2, "mem_sav"), PING])

    assert refusals(answered) == [(1, -32601), (2, -32602)]
    assert "mem_save" in answered.to(2)["error"]["message"]
    assert answered.to("ping")["result"] == {}


def test_blank_lines_between_messages_are_no_messages(folder: Path) -> None:
    answered = exchange(folder, ["", "   ", PING])

    assert [one["id"] for one in answered.answers] == ["start", "ping"]


@pytest.mark.parametrize(
    ("bad", "what"),
    [pytest.param("\\u0000", "a NUL byte", id="nul"), pytest.param(HALF, "a lone surrogate", id="half")],
)
@pytest.mark.parametrize("argument", ["title", "content", "topic_key", "type", "session_id"])
def test_what_is_not_text_is_refused_by_the_argument_that_holds_it_and_nothing_is_written(
    folder: Path, data_dir: Path, bad: str, what: str, argument: str
) -> None:
    arguments = {"title": "Chose uv", "content": "Fast.", argument: f"a@b{argument}"}
    text, as_json = (
        json.dumps(tool_call(form, "mem_save", **arguments, response_format=form)).replace("@", bad)
        for form in ("text", "json")
    )

    answered = exchange(folder, [text, as_json, PING])

    assert answered.to("text")["result"]["isError"] is True
    assert answered.text("text").startswith(f"invalid_text: {argument} contains {what}")
    assert json.loads(answered.text("json"))["error_code"] == "invalid_text"
    assert answered.to("ping")["result"] == {}
    assert set(rows(data_dir).values()) == {0}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(f'{{"jsonrpc":"2.0","id":1,"method":"{HALF}"}}', id="method"),
        pytest.param(f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"{HALF}":"{HALF}"}}}}', id="params"),
        pytest.param(json.dumps(tool_call(1, "@")).replace("@", HALF), id="tool"),
        pytest.param(json.dumps(tool_call(1, "mem_search", query="a", **{"@": 1})).replace("@", HALF), id="argument"),
        pytest.param(json.dumps(tool_call(1, "mem_search", query="a", limit="@")).replace("@", HALF), id="number"),
        pytest.param(json.dumps(request(1, "resources/read", uri="engram://context/@")).replace("@", HALF), id="uri"),
        pytest.param(json.dumps(request(1, "prompts/get", name="@")).replace("@", HALF), id="prompt"),
        pytest.param(
            json.dumps(request(1, "prompts/get", name="recall", arguments={"topic": "a @"})).replace("@", HALF),
            id="topic",
        ),
        pytest.param(json.dumps(INITIALIZE | {"id": 1}).replace("raw-lines", HALF), id="client"),
    ],
)
def test_half_a_surrogate_pair_anywhere_in_a_message_never_ends_the_server(folder: Path, line: str) -> None:
    answered = exchange(folder, [line, PING])

    assert answered.to(1)
    assert answered.to("ping")["result"] == {}
    assert (answered.status, answered.log) == (0, "")


def test_a_whole_surrogate_pair_is_a_character(folder: Path) -> None:
    line = json.dumps(tool_call(1, "mem_save", title="Chose @", content="Rockets.")).replace("@", "\\ud83d\\ude80")

    assert "Chose 🚀" in exchange(folder, [line]).text(1)


def test_invalid_utf_8_inside_a_string_becomes_a_replacement_character(folder: Path) -> None:
    line = json.dumps(tool_call(1, "mem_save", title="Chose @", content="x")).encode().replace(b"@", b"\xff")

    assert "Chose �" in exchange(folder, [line]).text(1)


def test_a_title_of_ten_megabytes_is_refused_and_a_content_of_that_size_is_cut(folder: Path) -> None:
    answered = exchange(
        folder,
        [
            tool_call("title", "mem_save", title="x" * 10_000_000, content="y"),
            tool_call("content", "mem_save", title="Big", content="word " * 2_000_000),
            tool_call("query", "mem_search", query="word " * 2_000_000, response_format="json"),
        ],
    )

    assert answered.text("title").startswith("text_too_long: title has 10,000,000 characters")
    assert "kept 50,000 of 10,000,000 bytes" in answered.text("content")
    assert len(answered.text("query")) < 2_000


def test_arguments_nested_deep_are_refused_like_any_other_wrong_type(folder: Path) -> None:
    nested = json.dumps(tool_call(1, "mem_save", title="@", content="x")).replace('"@"', "[" * 500 + "]" * 500)

    answered = exchange(folder, [nested, PING])

    assert answered.text(1).startswith("invalid_argument: title is [[[")
    assert len(answered.text(1)) < 300
    assert answered.to("ping")["result"] == {}
