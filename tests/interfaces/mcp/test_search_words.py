"""What a model reads of ``mem_search``: how to ask, and an empty answer it can act on."""

from __future__ import annotations

import pytest

from tests.interfaces.mcp.agent import Agent

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("part", ["question", "#id", '"phrases"', "-word", "type:", "topic:", "file:", "since:", "is:"])
async def test_the_query_says_what_it_may_hold(agent: Agent, part: str) -> None:
    listed = await agent.client.list_tools()
    schema = next(tool for tool in listed.tools if tool.name == "mem_search").input_schema

    assert part in schema["properties"]["query"]["description"]


async def test_an_empty_answer_is_four_lines_at_most_and_ends_with_the_next_step(agent: Agent) -> None:
    await agent.told("mem_save", title="Raised the login timeout", content="To 30 seconds.")
    lines = (await agent.told("mem_search", query="kubernetes ingress")).splitlines()

    assert len(lines) <= 4
    assert "Never seen in this memory: kubernetes, ingress." in lines[1]
    assert lines[-1].startswith("Next: ")
