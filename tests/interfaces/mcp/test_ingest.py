"""Conversations and their search as tools (shared/spec/seed-capabilities.md section 4, row 104)."""

from __future__ import annotations

import pytest

from tests.interfaces.mcp.agent import Agent

TURNS = [
    {"user": "Keep port 4173 open for the narwhal, please, and add a test for it.", "assistant": "Open, and tested."}
]


@pytest.mark.anyio
async def test_row_104_its_scopes_are_those_of_osaurus_and_no_other(agent: Agent) -> None:
    done = await agent.value("mem_ingest", conversation_id="c1", turns=TURNS)
    assert (done["turns_ingested"], done["distillation"]) == (1, "distilled")
    await agent.told("mem_save", title="Narwhal", content="The narwhal lives in the basement.")

    pinned = await agent.value("search_memory", scope="pinned", query="narwhal")
    assert [hit["type"] for hit in pinned["results"]] == ["manual", "session_summary"]
    episodes = await agent.value("search_memory", scope="episodes", query="narwhal")
    assert [hit["id"] for hit in episodes["results"]] == [done["episode_id"]]
    said = await agent.value("search_memory", scope="transcript", query="narwhal")
    assert [one["content"] for one in said["results"]] == [TURNS[0]["user"]]
    for scope in ("turns", "dreams"):
        refused = await agent.refusal("search_memory", scope=scope, query="narwhal")
        assert refused["hint"] == "scope must be one of pinned, episodes, transcript"


@pytest.mark.anyio
async def test_turns_may_come_as_the_json_of_a_list(agent: Agent) -> None:
    text = '[{"role": "user", "content": "Where is the narwhal?"}]'
    assert "1 turn of c2 kept in widgets: skipped:low_novelty:21chars" in await agent.told(
        "mem_ingest", conversation_id="c2", turns=text
    )
    for turns in ("hello", {"user": "x"}, 5):
        refused = await agent.refusal("mem_ingest", conversation_id="c2", turns=turns)
        assert refused["argument"] == "turns"
    refused = await agent.refusal("mem_ingest", conversation_id="c2", turns=["hello"])
    assert refused["argument"] == "turns.0"


@pytest.mark.anyio
async def test_mem_search_takes_a_layer_that_its_schema_does_not_name(agent: Agent) -> None:
    await agent.told("mem_ingest", conversation_id="c1", turns=TURNS)

    text = await agent.told("mem_search", query="narwhal", **{"in": "transcript"})
    assert TURNS[0]["user"] in text
    listed = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
    assert "in" not in listed["mem_search"].input_schema["properties"]
    refused = await agent.refusal("mem_search", query="narwhal", **{"in": "dreams"})
    assert "memories, episodes, turns, prompts" in refused["hint"]
