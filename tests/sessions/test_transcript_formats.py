"""Lines of transcripts, as the agents write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engram_py.sessions.transcript_formats import cited_ids, turns_of_document, turns_of_line


def line(**value: Any) -> str:
    return json.dumps(value)


THOUGHT = {"type": "thinking", "thinking": "hm"}
SAID = {"type": "text", "text": "Done, see [#3]."}
TOOL_USE = {"type": "tool_use", "name": "Edit", "input": {"text": "no"}}
OUTPUT = {"type": "output_text", "text": "Done."}
INTERRUPTED = {"type": "text", "text": "[Request interrupted by user for tool use]"}
CURSOR = "<timestamp>Wednesday</timestamp>\n<attached_files>x</attached_files>\n<user_query>\nFix it\n</user_query>"
CODEX_ITEM = {"type": "UserMessage", "id": "u1", "content": [{"type": "text", "text": "Fix it", "text_elements": []}]}
GEMINI_HOOK = {"text": "<hook_context>&lt;engram-memory&gt;</hook_context>"}
PARTS = [{"text": "hm", "thought": True}, {"text": "Done."}]

SPOKEN = [
    pytest.param(
        line(type="user", uuid="u1", timestamp="2026-03-01T10:00:00Z", message={"role": "user", "content": "Fix it"}),
        ("user", "Fix it", "u1"),
        id="claude-code-user",
    ),
    pytest.param(
        line(type="assistant", uuid="a1", message={"role": "assistant", "content": [THOUGHT, SAID, TOOL_USE]}),
        ("assistant", "Done, see [#3].", "a1"),
        id="claude-code-assistant",
    ),
    pytest.param(
        line(type="event_msg", payload={"type": "user_message", "message": "Fix it"}),
        ("user", "Fix it", None),
        id="codex-user",
    ),
    pytest.param(
        line(type="event_msg", payload={"type": "item_completed", "item": CODEX_ITEM}),
        ("user", "Fix it", "u1"),
        id="codex-item",
    ),
    pytest.param(
        line(type="response_item", payload={"type": "message", "role": "assistant", "content": [OUTPUT]}),
        ("assistant", "Done.", None),
        id="codex-assistant",
    ),
    pytest.param(line(type="user", id="g1", content="Fix it"), ("user", "Fix it", "g1"), id="gemini-user"),
    pytest.param(
        line(type="user", id="g1", content=[{"text": "Fix it\nlong file"}], displayContent=[{"text": "Fix it"}]),
        ("user", "Fix it", "g1"),
        id="gemini-what-the-user-saw",
    ),
    pytest.param(
        line(**{"$set": {"messages": [{"id": "g1", "type": "user", "content": [GEMINI_HOOK, {"text": "Fix it"}]}]}}),
        ("user", "Fix it", "g1"),
        id="gemini-set",
    ),
    pytest.param(line(type="gemini", id="g2", content="Done."), ("assistant", "Done.", "g2"), id="gemini-assistant"),
    pytest.param(
        line(type="assistant", uuid="q1", message={"role": "model", "parts": PARTS}),
        ("assistant", "Done.", "q1"),
        id="qwen-assistant",
    ),
    pytest.param(
        line(role="user", message={"content": [{"type": "text", "text": CURSOR}]}),
        ("user", "Fix it", None),
        id="cursor",
    ),
    pytest.param(
        line(type="assistant.message", id="v1", data={"content": "Done."}), ("assistant", "Done.", "v1"), id="vscode"
    ),
]


@pytest.mark.parametrize(("text", "expected"), SPOKEN)
def test_a_line_of_any_agent_says_who_spoke_and_what(text: str, expected: tuple[str, str, str | None]) -> None:
    [turn] = turns_of_line(text)
    assert (turn.role, turn.content) == expected[:2]
    assert turn.key == expected[2] or (expected[2] is None and len(turn.key) == 32)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="half"),
        pytest.param("[]", id="no-object"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param("\x00\xff", id="binary"),
        pytest.param(line(type="summary", summary="x"), id="summary"),
        pytest.param(line(type="user", isMeta=True, message={"role": "user", "content": "x"}), id="meta"),
        pytest.param(line(type="user", isCompactSummary=True, message={"role": "user", "content": "x"}), id="compact"),
        pytest.param(
            line(type="user", message={"role": "user", "content": [{"type": "tool_result", "content": "x"}]}),
            id="tool-result",
        ),
        pytest.param(line(type="user", message={"role": "user", "content": "<command-name>/x"}), id="command"),
        pytest.param(line(type="user", message={"role": "user", "content": [INTERRUPTED]}), id="interrupted"),
        pytest.param(
            line(type="assistant", isApiErrorMessage=True, message={"role": "assistant", "content": "API Error"}),
            id="no-answer-of-the-model",
        ),
        pytest.param(
            line(type="user", id="g", content=[{"text": "<session_context>x</session_context>"}]), id="gemini"
        ),
        pytest.param(
            line(type="response_item", payload={"type": "message", "role": "user", "content": "injected"}),
            id="codex-injected",
        ),
        pytest.param(
            line(type="response_item", payload={"type": "function_call", "role": "assistant"}), id="codex-call"
        ),
        pytest.param(line(type=["user"], content={"text": 1}), id="wrong-types"),
        pytest.param(line(type="user", message={"role": {}, "content": 7}), id="wrong-types-inside"),
    ],
)
def test_what_nobody_said_is_no_turn(text: str) -> None:
    assert turns_of_line(text) == []


def test_a_message_without_a_name_is_named_by_its_words() -> None:
    keys = [turn.key for text in ("one", "one", "two") for turn in turns_of_line(line(role="user", content=text))]
    assert keys[0] == keys[1] != keys[2]


def test_half_a_surrogate_pair_and_nul_do_not_reach_the_store() -> None:
    [turn] = turns_of_line('{"type": "gemini", "content": "a\\ud800b\\u0000c"}')
    assert turn.content == "a?b c"


def test_a_transcript_that_is_one_document_gives_its_messages() -> None:
    text = json.dumps({"messages": [{"type": "user", "id": "1", "content": "Fix it"}, {"type": "info"}, "x"]})
    assert [turn.content for turn in turns_of_document(text)] == ["Fix it"]
    assert turns_of_document("{") == turns_of_document('{"messages": 3}') == turns_of_document("[1]") == []


def test_citations_are_handles_in_brackets_and_counted_once() -> None:
    assert cited_ids("As [#12] says, and [#3], [#12]; not #4, [5] or [#99999999999999999999]") == [12, 3]


def test_what_is_said_in_a_side_conversation_is_said_to_an_agent() -> None:
    [turn] = turns_of_line(line(type="user", isSidechain=True, message={"role": "user", "content": "Look for it"}))
    assert turn.agent == "isSidechain"
