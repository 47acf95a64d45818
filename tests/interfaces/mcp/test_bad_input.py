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
    "mem_compare": {"memory_id_a": 1, "memory_id_b": "<id>", "relation": "related", "confidence": 0.5}
    | {"reasoning": "same"},
}


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "names"),
    [
        pytest.param("mem_save", {"title": "", "content": "x"}, "empty_field", "title", id="empty-title"),
        pytest.param("mem_save", {"title": "x", "content": " \n"}, "empty_field", "content", id="blank-content"),
        pytest.param("mem_save", FACT | {"aliases": [1]}, "invalid_argument", "aliases", id="number-as-alias"),
        pytest.param("mem_update", {"id": 1}, "invalid_argument", "title, content", id="update-of-nothing"),
        pytest.param("mem_update", {"id": 1, "title": " "}, "empty_field", "title", id="update-to-blank-title"),
        pytest.param("mem_search", {"query": "x", "scope": "team"}, "invalid_argument", "scope", id="search-scope"),
        pytest.param(
            "mem_judge", {"judgment_id": "rel-1", "relation": "related"}, "judgment_not_found", "rel-1", id="judgment"
        ),
        pytest.param(
            "mem_compare",
            BY_ID["mem_compare"] | {"memory_id_b": 1, "confidence": -0.1},
            "invalid_argument",
            "confidence",
            id="confidence-below-0",
        ),
        pytest.param("mem_session_start", {"id": " "}, "empty_field", "session_id", id="blank-session"),
        pytest.param("mem_context", {"mode": "every"}, "invalid_argument", "session, query, cascade, full", id="mode"),
        pytest.param("mem_search", {"query": "  "}, "empty_query", "search for", id="blank-query"),
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


@pytest.mark.parametrize("tool", BY_ID)
@pytest.mark.parametrize("bad", [0, -1, 2, 2**63, -(2**63) - 1, 10**30, "#999"])
async def test_an_id_that_names_nothing_is_refused(agent: Agent, data_dir: Path, tool: str, bad: int | str) -> None:
    await agent.told("mem_save", **FACT)
    before = rows(data_dir)

    facts = await agent.refusal(tool, **{k: bad if v == "<id>" else v for k, v in BY_ID[tool].items()})

    assert facts["error_code"] in {"observation_not_found", "invalid_argument"}
    assert str(bad).strip("#") in facts["message"]
    assert rows(data_dir) == before


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        pytest.param("mem_search", {"query": "parser", "limit": 0}, "limit 0 is outside 1..20; used 1", id="0"),
        pytest.param("mem_search", {"query": "parser", "limit": 2**70}, "used 20", id="2**70"),
        pytest.param("mem_review", {"action": "list", "limit": 0}, "limit 0 is outside 1..100; used 1", id="review"),
        pytest.param("mem_timeline", {"observation_id": 1, "after": 2**70}, "used 50", id="after"),
        pytest.param("mem_context", {"max_bytes": 2**70}, "used 65536", id="too-many-bytes"),
    ],
)
async def test_a_number_out_of_range_is_moved_into_it_and_said(
    agent: Agent, tool: str, arguments: dict[str, Any], said: str
) -> None:
    await agent.told("mem_save", **FACT)

    assert said in await agent.told(tool, **arguments)
    assert any(said in warning for warning in (await agent.value(tool, **arguments))["warnings"])


async def test_unknown_arguments_are_named_with_what_they_resemble_and_summed_up(agent: Agent) -> None:
    said = 'unknown argument "contnet" was ignored, did you mean "content"?'
    assert f"note: {said}" in (await agent.call("mem_save", title="x", contnet="y")).text
    facts = await agent.refusal("mem_save", title="x", contnet="y")
    assert (facts["argument"], facts["warnings"]) == ("content", [said])

    assert 'unknown argument "zzz" was ignored' in await agent.told("mem_current_project", zzz=1)
    assert (await agent.value("mem_current_project", zzz=1))["warnings"] == ['unknown argument "zzz" was ignored']
    many = await agent.told("mem_current_project", **{f"x{number}": 1 for number in range(1000)})
    assert ("995 more unknown arguments" in many, len(many) < 1_000) == (True, True)


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
