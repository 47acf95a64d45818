"""What a host is shown of the tools, and that each takes what Engram's takes and answers JSON with Engram's keys."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import Tool

import engram_py
from engram_py.base.errors import InvalidInputError
from engram_py.base.settings import Settings
from engram_py.interfaces.http.mcp_endpoint import build_server
from engram_py.interfaces.mcp.profiles import declared
from tests.interfaces.mcp.agent import Agent
from tests.support import raising

CORE = {
    "mem_save", "mem_search", "mem_context", "mem_get_observation", "mem_update", "mem_delete", "mem_timeline",
    "mem_session_summary", "mem_judge", "mem_current_project",
}  # fmt: skip
ADMIN = {"mem_delete", "mem_stats", "mem_timeline", "mem_merge_projects"}

# Engram's table (spec/engram-behaviour.md 5.2): what is required, and what else is taken, aliases included.
# Against it, the JSON of an answer and the keys programs read.
OURS: dict[str, set[str]] = {
    "mem_fact": {"entity"},
    "mem_entity": set(),
    "mem_note": set(),
    "mem_write": {"path", "content"},
    "mem_get": set(),
    "mem_ingest": {"conversation_id", "turns"},
    "search_memory": {"scope", "query"},
    "mem_identity": set(),
    "mem_checkpoint": {"action"},
    "mem_maintain": set(),
}
CONTRACT: dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]] = {
    "mem_save": (
        {"title": "Chose uv", "content": "It resolves fast."},
        {"type": "decision", "session_id": "s1", "scope": "project", "topic_key": "decision/uv", "project": "widgets"}
        | {"capture_prompt": False, "project_choice_reason": "the user said so", "recovery_token": "t"},
        {"id", "sync_id", "outcome", "project", "project_source", "project_path", "state", "candidates", "warnings"}
        | {"judgment_required", "review_after", "truncation", "session_id"},
    ),
    "mem_search": (
        {"query": "parser"},
        {"type": "bugfix", "project": "widgets", "all_projects": False, "scope": "project", "match_mode": "any"}
        | {"limit": 5},
        {"results", "count", "query", "warnings"},
    ),
    "mem_context": (
        {},
        {"project": "widgets", "scope": "project", "max_bytes": 2000, "compact": True},
        {"project", "pinned", "sessions", "recent", "prompts", "memories"},
    ),
    "mem_get_observation": (
        {"id": 1},
        {"include_history": True, "history_cursor": 9},
        {"id", "sync_id", "title", "content", "type", "project", "versions", "next_cursor", "relations"},
    ),
    "mem_update": (
        {"id": 1},
        {"title": "Fixed it", "find": "cause", "replace": "reason", "type": "bugfix", "scope": "project"}
        | {"topic_key": "bug/it"},
        {"id", "outcome", "changed", "revision_count"},
    ),
    "mem_suggest_topic_key": ({}, {"type": "decision", "title": "Auth", "content": "Tokens."}, {"topic_key"}),
    "mem_save_prompt": (
        {"content": "Fix the parser."},
        {"session_id": "s1", "project": "widgets", "project_choice_reason": "r", "recovery_token": "t"},
        {"id", "outcome", "project"},
    ),
    "mem_session_summary": (
        {"content": "## Goal\nShip."},
        {"session_id": "s1", "project": "widgets", "project_choice_reason": "r", "recovery_token": "t"},
        {"id", "type", "outcome", "project"},
    ),
    "mem_session_start": ({"id": "s2"}, {"directory": "."}, {"session", "event"}),
    "mem_session_end": ({"id": "s1"}, {"summary": "Done."}, {"session", "event"}),
    "mem_capture_passive": (
        {"content": "## Key Learnings\n1. The cache must be cleared before each deploy.\n"},
        {"session_id": "s1", "source": "subagent-stop"},
        {"extracted", "saved", "duplicates", "ids"},
    ),
    "mem_review": ({"action": "list"}, {"project": "widgets", "limit": 5}, {"due", "count"}),
    "mem_pin": ({"id": 1}, {}, {"id", "pinned"}),
    "mem_unpin": ({"id": 1}, {}, {"id", "pinned"}),
    "mem_judge": (
        {"judgment_id": "<judgment>", "relation": "supersedes"},
        {"reason": "newer", "evidence": "the code", "confidence": 0.9, "session_id": "s1"},
        {"sync_id", "relation", "judgment_status", "confidence"},
    ),
    "mem_compare": (
        {"memory_id_a": 1, "memory_id_b": 2, "relation": "related", "confidence": 0.5, "reasoning": "same file"},
        {"model": "a-model"},
        {"sync_id", "relation", "judgment_status", "confidence"},
    ),
    "mem_current_project": ({}, {}, {"project", "project_source", "project_path"}),
    "mem_list_projects": ({}, {}, {"projects", "count"}),
    "mem_doctor": ({}, {"project": "widgets", "check": "integrity"}, {"status", "summary", "checks"}),
    "mem_stats": ({}, {"project": "widgets"}, {"total_sessions", "total_observations", "total_prompts", "projects"}),
    "mem_timeline": (
        {"observation_id": 1},
        {"before": 1, "after": 1, "project": "widgets"},
        {"focus", "before", "after", "total_in_session"},
    ),
    "mem_delete": ({"id": 1}, {"hard_delete": True}, {"id", "hard"}),
    "mem_merge_projects": ({"from": "gadgets", "to": "widgets"}, {}, {"into", "merged"}),
}


async def listed(settings: Settings, tools: str | None = None) -> dict[str, Tool]:
    async with Client(build_server(settings, tools=tools)) as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}


async def seeded(agent: Agent) -> str:
    """Two observations that may be related, in session s1, and another project; the relation's judgment id."""
    await agent.told("mem_save", title="Fixed the parser", content="The cause was a tab.", session_id="s1")
    await agent.told("mem_save", title="Gadget", content="Other.", project="gadgets")
    second = await agent.value("mem_save", title="Fixed the parser", content="It was a space.", session_id="s1")
    await agent.told("mem_delete", id=2)
    await agent.told("mem_save", title="Cached the lexer", content="For speed.", session_id="s1")
    return str(second["candidates"][0]["judgment_id"])


async def test_all_of_engrams_tools_are_there_with_its_required_arguments(settings: Settings) -> None:
    tools = await listed(settings, "all")

    assert {name: set(tool.input_schema.get("required", ())) for name, tool in tools.items()} == {
        name: set(required) for name, (required, _, _) in CONTRACT.items()
    } | OURS


@pytest.mark.parametrize("tool", CONTRACT)
async def test_every_tool_takes_engrams_arguments_and_answers_json_with_the_keys_programs_read(
    agent: Agent, tool: str
) -> None:
    judgment = await seeded(agent)
    required, optional, keys = CONTRACT[tool]
    own: dict[str, dict[str, Any]] = {"mem_judge": {"judgment_id": judgment}, "mem_compare": {"memory_id_b": 3}}
    own |= {"mem_update": {"title": "Fixed"}, "mem_suggest_topic_key": {"title": "Auth"}}
    required = required | own.get(tool, {})

    values = await agent.value(tool, **optional | required)
    if tool not in ("mem_delete", "mem_merge_projects"):  # nothing is left to do it to
        assert not (await agent.told(tool, **required)).startswith(("{", " ", "\n"))

    assert keys <= set(values), keys - set(values)
    assert not [said for said in values.get("warnings", ()) if "unknown argument" in said]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        pytest.param(None, CORE, id="default"),
        pytest.param("", CORE, id="empty"),
        pytest.param("core", CORE, id="core"),
        pytest.param("agent", set(CONTRACT) - ADMIN, id="agent"),
        pytest.param("admin", ADMIN, id="admin"),
        pytest.param("all", {*CONTRACT, *OURS}, id="all"),
        pytest.param("layers", {"mem_search", *OURS}, id="layers"),
        pytest.param("mem_save, mem_search", {"mem_save", "mem_search"}, id="names"),
        pytest.param("admin,mem_save", ADMIN | {"mem_save"}, id="mixed"),
    ],
)
async def test_a_profile_decides_which_tools_are_offered(
    settings: Settings, wanted: str | None, names: set[str]
) -> None:
    assert set(await listed(settings, wanted)) == names
    if wanted is not None:
        assert set(await listed(replace(settings, tools=wanted))) == names


def test_a_profile_that_does_not_exist_is_refused_with_those_that_do(settings: Settings) -> None:
    with raising(InvalidInputError, "unknown_tool", match="'mem_sav'") as caught:
        build_server(settings, tools="core,mem_sav")

    assert "core, agent, admin, layers, all" in caught.value.hint
    assert "mem_save" in caught.value.hint


async def test_every_tool_says_what_it_may_do(settings: Settings) -> None:
    tools = await listed(settings, "all")

    for name, tool in tools.items():
        hints = tool.annotations
        assert hints is not None, name
        assert hints.title, name
        told = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        assert None not in told, name
        assert tool.description, name
    reads = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
    destroys = {name for name, tool in tools.items() if tool.annotations and tool.annotations.destructive_hint}
    assert destroys == {
        "mem_delete", "mem_merge_projects",
        "mem_write",  # a file is overwritten
        "mem_ingest",  # another conversation of the same name replaces it
        "mem_entity", "mem_identity",  # merge, archive and remove
    }  # fmt: skip
    repeatable = {name for name, tool in tools.items() if tool.annotations and tool.annotations.idempotent_hint}
    assert repeatable.isdisjoint({"mem_write", "mem_update", "mem_note", "mem_checkpoint"})  # append, find and replace
    assert all(tool.title == tool.annotations.title for tool in tools.values() if tool.annotations)
    assert reads == {
        "mem_search", "mem_context", "mem_get_observation", "mem_timeline", "mem_suggest_topic_key",
        "mem_current_project",
        "mem_list_projects",
        "mem_stats",
        "mem_doctor",
        "mem_get",
        "search_memory",
    }  # fmt: skip


def test_what_every_agent_may_be_told_names_only_tools_that_every_agent_is_offered() -> None:
    package = Path(engram_py.__file__).parent
    told = [one for one in package.rglob("*.py") if not one.is_relative_to(package / "interfaces")]
    named = {name for path in told for name in re.findall(r"\bmem_[a-z_]+", path.read_text(encoding="utf-8"))}

    assert named & declared().keys() <= CORE
