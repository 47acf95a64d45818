"""What a model reads of ``mem_search``: how to ask, and an empty answer it can act on."""

from __future__ import annotations

import pytest

from tests.interfaces.mcp.agent import Agent


@pytest.mark.parametrize("part", ["question", "#id", '"phrases"', "-word", "type:", "topic:", "file:", "since:", "is:"])
async def test_the_query_says_what_it_may_hold(agent: Agent, part: str) -> None:
    listed = await agent.client.list_tools()
    schema = next(tool for tool in listed.tools if tool.name == "mem_search").input_schema

    assert part in schema["properties"]["query"]["description"]


async def test_explain_is_the_table_of_the_command_line_and_json_holds_its_numbers(agent: Agent) -> None:
    await agent.told("mem_save", title="Raised the login timeout", content="To 30 seconds.")
    table = await agent.told("mem_search", query="login timeouts", explain=True)
    values = await agent.value("mem_search", query="login timeouts", explain=True)
    plain = await agent.value("mem_search", query="login timeouts")

    for legend in ("Hits: score = ", "Steps: in the order they ran", "Words: rows = how many memories hold it"):
        assert f"\n{legend}" in table
    assert [rung["name"] for rung in values["explain"]["rungs"]] == ["all words", "any word", "evidence"]
    assert all(rung["why"] for rung in values["explain"]["rungs"])
    assert "explain" not in plain
    empty = await agent.told("mem_search", query="kubernetes ingress", explain=True)
    assert empty.startswith('Nothing found for "kubernetes ingress"')
    assert "Steps: " in empty
