"""``mem_search`` and ``mem_context`` as a model calls them, and what a search teaches."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.settings import Settings
from tests.interfaces.mcp.agent import Agent


async def test_the_query_says_what_it_may_hold(agent: Agent) -> None:
    listed = await agent.client.list_tools()
    schema = next(tool for tool in listed.tools if tool.name == "mem_search").input_schema
    description = schema["properties"]["query"]["description"]

    parts = ("question", "#id", '"phrases"', "-word", "type:", "topic:", "file:", "since:", "is:")
    assert all(part in description for part in parts)


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


def learned(data_dir: Path, folder: Path) -> dict[str, list[int | None]]:
    with Engram(settings=Settings(data_dir), directory=folder) as app:
        return {one.question: [answer.id for answer in one.answers] for one in app.evaluations.questions()}


async def test_a_search_that_led_to_opening_hits_is_learned(agent: Agent, data_dir: Path, here: Path) -> None:
    for title in ("Access tokens", "Refresh tokens", "Listening port"):
        await agent.told("mem_save", title=title, content=f"What was decided about {title}.")
    await agent.told("mem_search", query="what was decided about tokens")
    await agent.told("mem_get_observation", id=1)
    await agent.told("mem_get_observation", id=2)
    await agent.refusal("mem_get_observation", id=9)
    await agent.told("mem_search", query="#3")
    await agent.told("mem_get_observation", id=3)

    assert learned(data_dir, here) == {"what was decided about tokens": [1, 2]}


@pytest.fixture
async def memory(agent: Agent) -> Agent:
    await agent.told("mem_save", title="Chose uv over poetry", content="It resolves in a second.", type="decision")
    await agent.told("mem_session_summary", content="Built the parser.\n## Next Steps\n- ship it", session_id="s-1")
    return agent


async def test_a_query_gets_one_section_or_one_short_sentence(memory: Agent) -> None:
    assert "- [#1] Chose uv over poetry" in await memory.told("mem_context", query="why did we choose uv?")
    assert "## Earlier sessions" in await memory.told("mem_context", query="where were we?")
    said = await memory.told("mem_context", query="sort a list")
    assert said == "This asks for no memory, or none is near enough; mem_search asks directly."
    assert len(said) / 4 <= 20


async def test_without_a_query_it_is_the_start_of_a_session(memory: Agent) -> None:
    said = await memory.told("mem_context")

    assert said == await memory.told("mem_context", mode="session")
    assert "## Recent sessions" in said
    assert "next: ship it" in said


async def test_each_mode_has_its_own_budget(memory: Agent) -> None:
    budgets = {
        mode: (await memory.value("mem_context", mode=mode, query="uv"))["max_bytes"]
        for mode in ("session", "query", "cascade", "full")
    }
    assert budgets == {"session": 6_000, "query": 3_200, "cascade": 8_000, "full": 40_000}
    assert (await memory.value("mem_context", max_bytes=700))["max_bytes"] == 700
    assert (await memory.value("mem_context", budget_tokens=300))["max_bytes"] == 1_200


async def test_listing_resources_counts_nothing_and_reading_one_does(memory: Agent) -> None:
    await memory.client.list_resources()
    assert (await memory.value("mem_get_observation", id=1))["access_count"] == 0
    await memory.client.read_resource("engram://observation/1")
    await memory.told("mem_save", title="Other", content="So that the counters are written.")

    assert (await memory.value("mem_get_observation", id=1))["access_count"] == 2
