"""``engram cost``: what agents were given through each door, as somebody asks for it afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.base.settings import Settings
from engram_py.interfaces.mcp.profiles import declared
from engram_py.interfaces.mcp.tool_calls import Memory, run_tool
from tests.interfaces.cli.conftest import Run, Start, answer
from tests.interfaces.http.asking import asker
from tests.interfaces.mcp.agent import exchange, tool_call
from tests.support import draft


@pytest.fixture
def server(data_dir: Path, here: Path) -> Iterator[Engram]:
    """The memory of an MCP server in this process."""
    with Engram(settings=Settings(data_dir), directory=here, session_mode="process", agent="test") as app:
        yield app


def call(app: Engram, tool: str, **arguments: Any) -> str:
    result = run_tool(declared()[tool], arguments, Memory(lambda _: app), "test")
    assert isinstance(result, dict)
    [part] = result["content"]
    return str(part["text"])


def counted(run: Run, *words: str) -> dict[str, tuple[int, int]]:
    values = answer(run("cost", *words, "--json"))
    return {f"{one['door']} {one['name']}": (one["calls"], one["bytes"]) for one in values["doors"]}


def hook(start: Start, event: str, **fields: Any) -> str:
    # Time enough on a busy machine: a hook that is too late counts nothing.
    done = start(
        "hook",
        event,
        "--agent=claude-code",
        "--limit-ms=60000",
        stdin=json.dumps({"session_id": "h1", **fields}).encode(),
    )
    assert (done.code, done.stderr) == (0, "")
    return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]) if done.stdout else ""


def test_a_server_counts_each_answer_and_what_it_showed(here: Path, run: Run) -> None:
    lines = [
        tool_call(1, "mem_save", title="Chose uv, été", content="It resolves fast."),
        tool_call(2, "mem_search", query="uv"),
        tool_call(3, "mem_get_observation", id=1),
        tool_call(4, "mem_get_observation", id=99),
    ]
    told = exchange(here, lines)

    sizes = {number: len(told.text(number).encode()) for number in range(1, 5)}
    assert counted(run) == {
        "mcp mem_save": (1, sizes[1]),
        "mcp mem_search": (1, sizes[2]),
        "mcp mem_get_observation": (2, sizes[3] + sizes[4]),
    }
    [session] = answer(run("cost", "--json"))["sessions"]
    assert session["id"].startswith("mcp-")
    assert (session["project"], session["calls"]) == ("widgets", 4)
    assert run("cost", "--session", session["id"]).exit_code == 0


def test_a_session_that_only_asked_is_counted_and_leaves_no_row(here: Path, run: Run, server: Engram) -> None:
    run("save", "Chose uv", "It resolves fast.")
    text = call(server, "mem_search", query="uv")
    server.close()

    assert counted(run, "--project", "widgets") == {"mcp mem_search": (1, len(text.encode()))}
    assert answer(run("cost", "--json"))["recalled"] == {
        "observations": 1, "bytes": len(text.encode()), "tokens": -(-len(text.encode()) // 4),
    }  # fmt: skip
    assert [one["id"] for one in answer(run("sessions", "--json"))["sessions"]] == ["manual-save-widgets"]


def test_a_fault_in_counting_fails_no_answer(server: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(server.ledger, "answered", broken)
    assert call(server, "mem_save", title="Chose uv", content="It resolves fast.").startswith("Saved [#1]")
    assert asker(server).ok("GET", "/search?q=uv")


def test_routes_are_counted_for_the_session_that_is_named_and_programs_are_not(app: Engram, run: Run) -> None:
    ask = asker(app)
    begun = ask("POST", "/sessions", {"id": "s1", "project": "widgets"})
    body = {"session_id": "s1", "title": "Chose uv", "content": "It resolves fast.", "type": "decision"}
    saved = ask("POST", "/observations", body)
    found = ask("GET", "/search?q=uv")
    for path in ("/health", "/export", "/openapi.json"):
        ask("GET", path)
    app.ledger.flush()

    assert counted(run, "--session", "s1") == {
        "http POST /sessions": (1, len(begun.body)),
        "http POST /observations": (1, len(saved.body)),
    }
    everything = counted(run)
    assert everything["http GET /search"] == (1, len(found.body))
    assert set(everything) == {"http POST /sessions", "http POST /observations", "http GET /search"}
    assert answer(run("cost", "--json"))["recalled"]["observations"] == 1


def test_what_a_hook_injects_is_counted_whole_and_silence_is_not(start: Start, run: Run) -> None:
    run("save", "Chose uv for packages", "Fast, and it locks.", "--type", "decision")
    first = hook(start, "session-start", source="startup")
    again = hook(start, "session-start", source="compact")
    asked = hook(start, "user-prompt", prompt="why did we choose uv?", session_id="h2")
    assert not hook(start, "user-prompt", prompt="Write a parser for JSON.")

    assert first
    assert again
    assert asked
    assert counted(run, "--session", "h1") == {
        "hook session-start": (2, len(first.encode()) + len(again.encode())),
    }
    assert counted(run, "--session", "h2") == {"hook user-prompt": (1, len(asked.encode()))}
    assert answer(run("cost", "--json"))["injected"]["observations"] == 1


def test_the_command_line_is_not_counted(run: Run) -> None:
    run("save", "Chose uv", "It resolves fast.")
    run("search", "uv")
    run("context")
    assert counted(run) == {}
    told = run("cost")
    assert (told.exit_code, told.stderr, "Nothing is counted yet" in told.stdout) == (0, "", True)
    assert run("cost", "--days", "0").exit_code == run("cost", "--days", "many").exit_code == 2
    values = answer(run("cost", "--json"))
    assert (values["cited"], values["never_used"]) == (None, None)
    for one in values["profiles"]:
        assert one["tokens"] == -(-(one["schema_bytes"] + one["instruction_bytes"]) // 4)


def test_a_table_says_what_was_shown_cited_and_never_used(run: Run, app: Engram) -> None:
    one, two = (
        answer(run("save", title, f"{title} to keep.", "--json"))["id"] for title in ("One thing", "Two things")
    )
    app.sessions.start("s1", project="widgets")
    app.citations.inject("s1", {one: 400, two: 1_000}, "session")
    app.ledger.answered("mcp", "mem_search", 6_000, caller=lambda: ("s1", "widgets"), shown=[two])
    app.ledger.flush()
    app.citations.cite("s1", [one])

    told = run("cost", "--session", "s1", "--days", "7").stdout
    rows = [line.split() for line in told.splitlines()]

    assert told.startswith("Cost of session s1 since ")
    assert ["mcp", "mem_search", "1", "1,500"] in rows
    assert ["all", "1", "1,500"] in rows
    assert ["given", "by", "hooks", "2", "350"] in rows
    assert ["recalled", "by", "tools", "1", "1,500"] in rows
    assert ["cited", "1", "100"] in rows
    assert ["never", "used", "1", "1,750"] in rows
    assert ["profile", "core", "10"] in [row[:3] for row in rows]


def test_worth_says_what_came_of_what_was_given(server: Engram, run: Run) -> None:
    row = server.save(draft("Use pnpm, not npm.")).id
    for number in range(5):
        server.sessions.start(f"s{number}")
        server.moments.add(f"s{number}", row, "guard", "npm install", size=80)
        server.moments.came(f"s{number}", row, "guard", "heeded")

    said = run("worth")
    assert "guards: 100% of 5 were heeded" in said.stdout
    assert answer(run("worth", str(row), "--json"))["memories"][0]["given"]["heeded"] == 5
    assert run("worth", "99").exit_code == 1
