"""``--json`` prints the value that the MCP tool answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from engram_py.base.settings import Settings
from engram_py.base.times import fixed_clock
from engram_py.interfaces.http.mcp_endpoint import build_server
from tests.interfaces.cli.conftest import Run, answer

NOW = "2026-08-01T12:00:00Z"
# What two writes of the same thing cannot share.
_OWN = {"sync_id", "session_id", "judgment_id", "agent"}


@pytest.fixture(autouse=True)
def fixed_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_NOW", NOW)


def told(data_dir: Path, tool: str, arguments: dict[str, Any]) -> Any:
    async def call() -> Any:
        settings = Settings(data_dir, clock=fixed_clock(NOW))
        async with Client(build_server(settings, tools="all")) as client:
            return await client.call_tool(tool, {**arguments, "response_format": "json"})

    result = anyio.run(call)
    assert not result.is_error, result.content
    return json.loads(result.content[0].text)


_SEEDED: list[bytes] = []


def seed(run: Run, data_dir: Path) -> None:
    """Make the database by commands, and the next ones as its copies."""
    if _SEEDED:
        data_dir.mkdir(mode=0o700)
        (data_dir / "engram.db").write_bytes(_SEEDED[0])
        return
    for words in (
        ("save", "Prefers tabs", "In Go and in C.", "--type", "preference"),
        ("save", "Access tokens live 15 minutes", "Stolen access tokens expire.", "--topic", "decision/ttl"),
        ("save", "Access tokens live 5 minutes", "Stolen access tokens expire soon.", "--topic", "decision/ttl"),
        ("save", "Access tokens live an hour", "Stolen access tokens expire late.", "--project", "gizmos"),
        ("pin", "1"),
    ):
        run("--data-dir", str(data_dir), *words)
    _SEEDED.append((data_dir / "engram.db").read_bytes())


READS = [
    pytest.param(["search", "access", "tokens", "--all"], "mem_search",
                 {"query": "access tokens", "all_projects": True}, id="search"),
    pytest.param(["search", "nothing-like-it"], "mem_search", {"query": "nothing-like-it"}, id="search-nothing"),
    pytest.param(["get", "2"], "mem_get_observation", {"id": 2}, id="get"),
    pytest.param(["get", "2", "--history"], "mem_get_observation", {"id": 2, "include_history": True}, id="versions"),
    pytest.param(["history", "2"], "mem_get_observation", {"id": 2, "include_history": True}, id="history"),
    pytest.param(["context", "--compact"], "mem_context", {"compact": True}, id="context"),
    pytest.param(["context", "--query", "why do we limit access tokens?"], "mem_context",
                 {"query": "why do we limit access tokens?"}, id="context-query"),
    pytest.param(["context", "--query", "access tokens", "--mode", "cascade"], "mem_context",
                 {"query": "access tokens", "mode": "cascade"}, id="context-cascade"),
    pytest.param(["context", "--mode", "full", "--budget-tokens", "200"], "mem_context",
                 {"mode": "full", "budget_tokens": 200}, id="context-full"),
    pytest.param(["timeline", "2"], "mem_timeline", {"observation_id": 2}, id="timeline"),
    pytest.param(["projects"], "mem_list_projects", {}, id="projects"),
    pytest.param(["projects", "list"], "mem_list_projects", {}, id="projects-list"),
    pytest.param(["projects", "current"], "mem_current_project", {}, id="projects-current"),
    pytest.param(["review"], "mem_review", {"action": "list"}, id="review"),
    pytest.param(["note"], "mem_note", {}, id="notes"),
    pytest.param(["vault", "list"], "mem_get", {}, id="vault-list"),
    pytest.param(["vault", "read", "identity.md"], "mem_get", {"path": "identity.md"}, id="vault-read"),
    pytest.param(["stats"], "mem_stats", {}, id="stats"),
    pytest.param(["doctor", "--check", "integrity"], "mem_doctor", {"check": "integrity"}, id="doctor"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "tool", "arguments"), READS)
def test_a_read_answers_the_same_value(
    run: Run, data_dir: Path, words: list[str], tool: str, arguments: dict[str, Any]
) -> None:
    seed(run, data_dir)
    assert _uncounted(answer(run(*words, "--json"))) == _uncounted(told(data_dir, tool, arguments))


WRITES = [
    pytest.param(["save", "Uses ruff", "For speed.", "--type", "decision"], "mem_save",
                 {"title": "Uses ruff", "content": "For speed.", "type": "decision"}, id="save"),
    pytest.param(["update", "2", "--title", "Access tokens"], "mem_update",
                 {"id": 2, "title": "Access tokens"}, id="update"),
    pytest.param(["delete", "2"], "mem_delete", {"id": 2}, id="delete"),
    pytest.param(["delete", "2", "--hard", "--yes"], "mem_delete", {"id": 2, "hard_delete": True}, id="delete-hard"),
    pytest.param(["pin", "2"], "mem_pin", {"id": 2}, id="pin"),
    pytest.param(["unpin", "1"], "mem_unpin", {"id": 1}, id="unpin"),
    pytest.param(["note", "It rained"], "mem_note", {"text": "It rained"}, id="note"),
    pytest.param(["vault", "write", "a/b.md", "tabs"], "mem_write", {"path": "a/b.md", "content": "tabs"}, id="file"),
    pytest.param(["review", "1"], "mem_review", {"action": "mark_reviewed", "observation_id": 1}, id="review"),
    pytest.param(["projects", "merge", "gizmos", "--into", "widgets", "--yes"], "mem_merge_projects",
                 {"from": "gizmos", "to": "widgets"}, id="merge"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "tool", "arguments"), WRITES)
def test_a_write_answers_the_same_value(
    run: Run, data_dir: Path, tmp_path: Path, words: list[str], tool: str, arguments: dict[str, Any]
) -> None:
    twin = tmp_path / "twin"
    seed(run, data_dir)
    seed(run, twin)

    printed = answer(run(*words, "--json"))
    answered = told(twin, tool, arguments)

    assert _comparable(printed) == _comparable(answered)


def test_a_refusal_has_the_same_facts(run: Run, data_dir: Path) -> None:
    async def call() -> Any:
        async with Client(build_server(Settings(data_dir), tools="all")) as client:
            return await client.call_tool("mem_get_observation", {"id": 99, "response_format": "json"})

    refused = run("get", "99", "--json")

    told, answered = json.loads(refused.stdout), json.loads(anyio.run(call).content[0].text)
    assert (told.pop("hint"), answered.pop("hint")) == (
        "find the id with `engram search` or `engram context`",
        "find the id with mem_search or mem_context",
    )
    assert told == answered


def _uncounted(value: dict[str, Any]) -> dict[str, Any]:
    """Without the counters that the first of two reads has raised."""
    return {key: one for key, one in value.items() if key not in ("access_count", "last_accessed_at")}


def _comparable(value: dict[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in value.items() if key not in _OWN}
