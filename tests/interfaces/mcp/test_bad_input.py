"""What bad arguments get: a code, a fact and a next step, in text and in JSON, and nothing written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engram_py.recall.search import Search
from tests.interfaces.mcp.agent import Agent, rows

FACT = {"title": "Fixed the parser", "content": "The cause was a tab."}
BY_ID: dict[str, dict[str, Any]] = {
    "mem_get_observation": {"id": "<id>"},
    "mem_update": {"id": "<id>", "title": "New"},
    "mem_delete": {"id": "<id>"},
    "mem_timeline": {"observation_id": "<id>"},
    "mem_pin": {"id": "<id>"},
    "mem_unpin": {"id": "<id>"},
    "mem_review": {"action": "mark_reviewed", "observation_id": "<id>"},
    "mem_compare": {
        "memory_id_a": 1,
        "memory_id_b": "<id>",
        "relation": "related",
        "confidence": 0.5,
        "reasoning": "same",
    },
}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "arguments", "code", "names"),
    [
        pytest.param("mem_save", {"title": "", "content": "x"}, "empty_field", "title", id="empty-title"),
        pytest.param("mem_save", {"title": " \t\n", "content": "x"}, "empty_field", "title", id="blank-title"),
        pytest.param("mem_save", {"title": "x", "content": ""}, "empty_field", "content", id="empty-content"),
        pytest.param("mem_save", {"title": "x", "content": " \n"}, "empty_field", "content", id="blank-content"),
        pytest.param("mem_save", {"content": "x"}, "invalid_argument", "title", id="no-title"),
        pytest.param("mem_save", {"title": 5, "content": "x"}, "invalid_argument", "title", id="number-as-title"),
        pytest.param("mem_save", FACT | {"title": "x" * 10_000_000}, "text_too_long", "title", id="huge-title"),
        pytest.param("mem_save", FACT | {"title": "a\0b"}, "invalid_text", "title", id="nul-in-title"),
        pytest.param("mem_save", FACT | {"content": "a\0b"}, "invalid_text", "content", id="nul-in-content"),
        pytest.param("mem_save", FACT | {"scope": "team"}, "invalid_argument", "scope", id="scope-team"),
        pytest.param("mem_save", FACT | {"topic_key": "--//!?"}, "invalid_topic_key", "topic_key", id="topic-of-marks"),
        pytest.param("mem_save", FACT | {"project": "../etc"}, "invalid_project", "../etc", id="path-as-project"),
        pytest.param("mem_save", FACT | {"aliases": [1]}, "invalid_argument", "aliases", id="number-as-alias"),
        pytest.param("mem_update", {"id": 1}, "invalid_argument", "title, content", id="update-of-nothing"),
        pytest.param("mem_update", {"id": 1, "title": " "}, "empty_field", "title", id="update-to-blank-title"),
        pytest.param("mem_update", {"id": 1, "content": ""}, "empty_field", "content", id="update-to-no-content"),
        pytest.param("mem_update", {"id": 1, "scope": "team"}, "invalid_argument", "scope", id="update-scope-team"),
        pytest.param("mem_update", {"id": 1, "find": "tab"}, "invalid_argument", "replace", id="find-alone"),
        pytest.param("mem_update", {"id": 1, "replace": "tab"}, "invalid_argument", "find", id="replace-alone"),
        pytest.param("mem_update", {"id": 1, "find": "", "replace": "x"}, "nothing_replaced", "#1", id="find-nothing"),
        pytest.param("mem_search", {"query": "x", "scope": "team"}, "invalid_argument", "scope", id="search-scope"),
        pytest.param("mem_context", {"scope": "team"}, "invalid_argument", "scope", id="context-scope"),
        pytest.param(
            "mem_judge", {"judgment_id": "rel-1", "relation": "likes"}, "invalid_argument", "supersedes", id="verb"
        ),
        pytest.param(
            "mem_judge", {"judgment_id": "rel-1", "relation": "related"}, "judgment_not_found", "rel-1", id="judgment"
        ),
        pytest.param(
            "mem_judge",
            {"judgment_id": "rel-1", "relation": "related", "confidence": 1.5},
            "invalid_argument",
            "confidence",
            id="confidence-1.5",
        ),
        pytest.param(
            "mem_compare",
            BY_ID["mem_compare"] | {"memory_id_b": 1, "confidence": -0.1},
            "invalid_argument",
            "confidence",
            id="confidence-below-0",
        ),
        pytest.param("mem_review", {"action": "zap"}, "invalid_argument", "action", id="review-action"),
        pytest.param("mem_review", {"action": "mark_reviewed"}, "invalid_argument", "observation_id", id="review-none"),
        pytest.param("mem_get_observation", {"id": "first"}, "invalid_argument", "whole number", id="word-as-id"),
        pytest.param("mem_get_observation", {"id": 1.5}, "invalid_argument", "whole number", id="half-an-id"),
        pytest.param("mem_delete", {"id": True}, "invalid_argument", "id", id="true-as-id"),
        pytest.param("mem_doctor", {"check": "zap"}, "invalid_argument", "integrity", id="doctor-check"),
        pytest.param("mem_session_start", {"id": " "}, "empty_field", "session_id", id="blank-session"),
    ],
)
async def test_a_bad_argument_is_named_with_what_it_must_be_and_nothing_is_written(
    agent: Agent, data_dir: Path, tool: str, arguments: dict[str, Any], code: str, names: str
) -> None:
    await agent.told("mem_save", **FACT)
    before = rows(data_dir)

    facts = await agent.refusal(tool, **arguments)

    assert facts["error_code"] == code
    assert names in facts["message"] + facts["hint"]
    assert len(facts["message"]) < 500
    assert rows(data_dir) == before
    assert (await agent.value("mem_get_observation", id=1))["content"] == FACT["content"]


@pytest.mark.anyio
@pytest.mark.parametrize("tool", BY_ID)
@pytest.mark.parametrize("bad", [0, -1, 2, 2**63, -(2**63) - 1, 10**30, "#999"])
async def test_an_id_that_names_nothing_is_refused(agent: Agent, data_dir: Path, tool: str, bad: int | str) -> None:
    await agent.told("mem_save", **FACT)
    before = rows(data_dir)

    facts = await agent.refusal(tool, **{k: bad if v == "<id>" else v for k, v in BY_ID[tool].items()})

    assert facts["error_code"] in {"observation_not_found", "invalid_argument"}
    assert str(bad).strip("#") in facts["message"]
    assert rows(data_dir) == before


@pytest.mark.anyio
@pytest.mark.parametrize("query", ["", "   "])
async def test_a_blank_query_says_what_is_missing(agent: Agent, query: str) -> None:
    facts = await agent.refusal("mem_search", query=query)

    assert facts["error_code"] == "empty_query"


@pytest.mark.anyio
@pytest.mark.parametrize("query", ["...", '"', '""', "'", "*", "^", "()", "- + :", "?!", "\u2026", "«»", "{}[]"])
async def test_a_query_without_a_word_is_answered_with_the_reason(agent: Agent, query: str) -> None:
    assert "no word in it to search for" in await agent.told("mem_search", query=query)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "query",
    [
        pytest.param("AND", id="and"),
        pytest.param("AND OR NOT", id="operators"),
        pytest.param("NEAR(tab cause, 5)", id="near"),
        pytest.param("title:tab", id="column"),
        pytest.param('tab" OR "1"="1', id="quotes"),
        pytest.param("'; drop table observations; --", id="sql"),
        pytest.param("tab*", id="prefix"),
        pytest.param("^tab -cause +parser", id="marks"),
        pytest.param("C++ {x} (y", id="brackets"),
        pytest.param("what's the cause?", id="apostrophe"),
        pytest.param("tab\0cause", id="nul"),
        pytest.param("🚀 tab", id="emoji"),
        pytest.param("x" * 100_000, id="one-long-word"),
        pytest.param("#" + "9" * 30, id="huge-id"),
    ],
)
async def test_search_syntax_is_only_words(agent: Agent, data_dir: Path, query: str) -> None:
    await agent.told("mem_save", **FACT)

    found = await agent.value("mem_search", query=query)

    assert [hit["id"] for hit in found["results"]] in ([], [1])
    assert rows(data_dir)["observations"] == 1


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        pytest.param("mem_search", {"query": "parser", "limit": 0}, "limit 0 is outside 1..20; used 1", id="0"),
        pytest.param("mem_search", {"query": "parser", "limit": 10_000}, "used 20", id="10000"),
        pytest.param("mem_search", {"query": "parser", "limit": 2**70}, "used 20", id="2**70"),
        pytest.param("mem_review", {"action": "list", "limit": 0}, "limit 0 is outside 1..100; used 1", id="review"),
        pytest.param("mem_timeline", {"observation_id": 1, "before": -1}, "used 0", id="before"),
        pytest.param("mem_timeline", {"observation_id": 1, "after": 2**70}, "used 50", id="after"),
        pytest.param("mem_context", {"max_bytes": 1}, "used 600", id="too-few-bytes"),
        pytest.param("mem_context", {"max_bytes": 2**70}, "used 65536", id="too-many-bytes"),
    ],
)
async def test_a_number_out_of_range_is_moved_into_it_and_said(
    agent: Agent, tool: str, arguments: dict[str, Any], said: str
) -> None:
    await agent.told("mem_save", **FACT)

    assert said in await agent.told(tool, **arguments)
    assert any(said in warning for warning in (await agent.value(tool, **arguments))["warnings"])


@pytest.mark.anyio
async def test_a_cursor_out_of_range_is_an_empty_page(agent: Agent) -> None:
    await agent.told("mem_save", **FACT)

    for cursor in (-1, 2**70):
        page = await agent.value("mem_get_observation", id=1, include_history=True, history_cursor=cursor)
        assert page["versions"] == []


@pytest.mark.anyio
async def test_an_unknown_argument_is_named_with_the_one_it_resembles(agent: Agent) -> None:
    await agent.told("mem_save", **FACT)
    said = 'unknown argument "limt" was ignored, did you mean "limit"?'

    assert f"note: {said}" in await agent.told("mem_search", query="parser", limt=3)
    assert said in (await agent.value("mem_search", query="parser", limt=3))["warnings"]
    assert 'unknown argument "zzz" was ignored' in await agent.told("mem_current_project", zzz=1)


@pytest.mark.anyio
async def test_a_misspelt_required_argument_is_named_in_the_refusal(agent: Agent) -> None:
    said = 'unknown argument "contnet" was ignored, did you mean "content"?'

    answer = await agent.call("mem_save", title="x", contnet="y")
    facts = await agent.refusal("mem_save", title="x", contnet="y")

    assert f"note: {said}" in answer.text
    assert (facts["argument"], facts["warnings"]) == ("content", [said])


@pytest.mark.anyio
async def test_a_thousand_unknown_arguments_are_summed_up(agent: Agent) -> None:
    answer = await agent.told("mem_current_project", **{f"x{number}": 1 for number in range(1000)})

    assert "995 more unknown arguments" in answer
    assert len(answer) < 1_000


@pytest.mark.anyio
@pytest.mark.parametrize("wanted", ["xml", 5, ["json"], {"a": 1}])
async def test_an_unknown_response_format_is_refused_with_those_there_are(agent: Agent, wanted: object) -> None:
    answer = await agent.call("mem_search", query="x", response_format=wanted)

    assert answer.failed
    assert answer.text.startswith("invalid_argument: response_format is ")
    assert "compact, full, json" in answer.text


@pytest.mark.anyio
@pytest.mark.parametrize("form", ["compact", "json"])
async def test_a_bug_in_a_tool_is_said_without_what_it_was_about(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, form: str
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("the password is swordfish")

    await agent.told("mem_save", **FACT)
    with monkeypatch.context() as patch:
        patch.setattr(Search, "search", crash)
        answer = await agent.call("mem_search", query="parser", response_format=form)

    assert answer.failed
    assert "swordfish" not in answer.text
    assert "mem_search failed" in caplog.text
    if form == "json":
        assert set(json.loads(answer.text)) == {"error_code", "message", "hint"}
        assert answer.values["error_code"] == "internal_error"
    else:
        assert answer.text.startswith("internal_error: mem_search failed\nhint: ")
    assert "[#1]" in await agent.told("mem_search", query="parser")
