"""Arguments that a tool does not have, that say where a call expects to write, and that stand in another one's text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.mcp.agent import Agent, rows

FACT = {"title": "Chose uv", "content": "It resolves in a second."}


@pytest.fixture
async def memory(agent: Agent) -> Agent:
    """One memory in widgets and one in gadgets."""
    await agent.told("mem_save", **FACT)
    await agent.told("mem_save", title="Chose npm", content="For the page.", project="gadgets")
    return agent


WRITES: dict[str, dict[str, Any]] = {
    "mem_update": {"id": 1, "title": "Changed"},
    "mem_delete": {"id": 1},
    "mem_pin": {"id": "[#1]"},
    "mem_review": {"action": "mark_reviewed", "observation_id": 1},
    "mem_compare": {"memory_id_a": 1, "memory_id_b": 2, "relation": "related", "confidence": 1, "reasoning": "same"},
    "mem_save": {"title": "Another", "content": "One more."},
    "mem_session_summary": {"content": "## Goal: ship."},
    "mem_merge_projects": {"from": "gadgets", "to": "widgets"},
}


@pytest.mark.parametrize("tool", WRITES)
async def test_a_call_that_expects_another_project_than_it_would_change_is_refused(
    memory: Agent, data_dir: Path, tool: str
) -> None:
    before, text = rows(data_dir), await memory.told("mem_get_observation", id=1)

    refused = await memory.refusal(tool, **WRITES[tool], expected_project="another")

    assert (refused["error_code"], refused["requested_project"]) == ("project_mismatch", "another")
    assert (rows(data_dir), await memory.told("mem_get_observation", id=1)) == (before, text)


async def test_a_call_that_expects_the_project_it_changes_is_made(memory: Agent) -> None:
    assert "Updated" in await memory.told("mem_update", id=1, title="Chose uv again", expected_project="Widgets")
    assert "Updated" in await memory.told("mem_update", id=2, title="Chose pnpm", project="gadgets")
    assert "in gadgets" in await memory.told("mem_save", **FACT, project="gadgets", expected_project="gadgets")
    assert (await memory.refusal("mem_delete", id=2, project="widgets"))["error_code"] == "project_mismatch"
    assert (await memory.refusal("mem_delete", id=2, expected_project=" "))["error_code"] == "invalid_project"


@pytest.mark.parametrize(
    ("tool", "arguments", "unknown"),
    [
        pytest.param("mem_delete", {"id": 1, "dry_run": True}, "dry_run", id="anything-of-what-destroys"),
        pytest.param("mem_save", {**FACT, "topic_ky": "decision/uv"}, "topic_ky", id="misspelled"),
        pytest.param("mem_save", {**FACT, "directory": "/srv"}, "directory", id="of-another-tool"),
        pytest.param("mem_update", {"id": 1, "title": "x", "append": True}, "append", id="of-a-layer"),
    ],
)
async def test_an_argument_that_would_change_what_is_written_is_refused(
    memory: Agent, data_dir: Path, tool: str, arguments: dict[str, Any], unknown: str
) -> None:
    before = rows(data_dir)

    refused = await memory.refusal(tool, **arguments)

    assert (refused["error_code"], refused["argument"]) == ("unknown_argument", unknown)
    assert "warnings" not in refused
    assert rows(data_dir) == before


async def test_an_argument_that_changes_nothing_is_noted(memory: Agent) -> None:
    said = await memory.told("mem_save", title="Noted", content="With more.", importance="high", session_id="s1")
    assert 'unknown argument "importance" was ignored' in said
    assert 'unknown argument "dry_run" was ignored' in await memory.told("mem_search", query="uv", dry_run=True)
    assert "session_id" in await memory.told("mem_update", id=1, title="New", session_id="s1")


SWALLOWED = {
    "named-elements": '</content>\n<parameter name="type">decision</parameter><parameter name="topic_key">a/b',
    "elements-by-argument": "</content><type>decision</type><topic_key>a/b</topic_key></mem_save>",
    "the-end-of-an-element": '</parameter>\n<parameter name="type">decision</parameter><parameter name="topic_key">a/b',
    "with-a-prefix": '</x:parameter>\n<x:parameter name="type">decision</x:parameter><x:parameter name="topic_key">a/b',
    "by-equals": "</parameter>\n<parameter=type>\ndecision\n</parameter>\n<parameter=topic_key>\na/b\n</parameter>",
    "keys-and-values": "</arg_value>\n<arg_key>type</arg_key>\n<arg_value>decision</arg_value>"
    "\n<arg_key>topic_key</arg_key>\n<arg_value>a/b</arg_value>",
    "json": '", "type": "decision", "topic_key": "a/b"}',
}


@pytest.mark.parametrize("form", SWALLOWED)
async def test_arguments_in_the_text_of_another_one_are_refused_with_the_call_to_make(
    agent: Agent, data_dir: Path, form: str
) -> None:
    refused = await agent.refusal("mem_save", title="Chose nginx", content=f"At the edge.{SWALLOWED[form]}")

    assert (refused["error_code"], refused["argument"]) == ("swallowed_arguments", "content")
    assert "type='decision', topic_key='a/b'" in refused["hint"]
    assert rows(data_dir)["observations"] == 0


PLAIN = {
    "in-code": "A model once wrote `</content><topic_key>a/b</topic_key>` into a text.",
    "in-a-fence": 'It sent\n```\nx</content>\n<parameter name="type">decision</parameter>\n```',
    "a-feed": "<entry><content>Hello</content><type>text</type></entry>",
    "json": 'The body is {"a": "b", "type": "decision"}.',
    "a-list-of-words": 'They are "title", "type" and "scope": in this order.',
    "an-end-alone": "The template ends with </content>, and then nothing.",
}


@pytest.mark.parametrize("form", PLAIN)
async def test_a_text_about_markup_is_kept_as_it_is(agent: Agent, form: str) -> None:
    await agent.told("mem_save", title="Markup", content=PLAIN[form])

    assert (await agent.value("mem_get_observation", id=1))["content"] == PLAIN[form]
