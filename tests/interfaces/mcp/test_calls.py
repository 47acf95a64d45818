"""Tools as a model calls them: search, context, projects, anchors, conversations, vectors, and bad arguments."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from engram_py.base.settings import Settings
from engram_py.interfaces.http.mcp_endpoint import build_server
from engram_py.recall.search import Search
from tests.embedders import Endpoint
from tests.interfaces.mcp.agent import INITIALIZE, INITIALIZED, Agent, rows, start_server, talk, tool_call


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

    for legend in ("Hits: score = ", "Steps: in the order they ran", "Words: memories = how many"):
        assert f"\n{legend}" in table
    assert [rung["name"] for rung in values["explain"]["rungs"]] == ["all words", "any word"]
    assert all(rung["why"] for rung in values["explain"]["rungs"])
    assert "explain" not in plain
    empty = await agent.told("mem_search", query="kubernetes ingress", explain=True)
    assert empty.startswith('Nothing found for "kubernetes ingress"')
    assert "Steps: " in empty


@pytest.fixture
async def memory(agent: Agent) -> Agent:
    await agent.told("mem_save", title="Chose uv over poetry", content="It resolves in a second.", type="decision")
    await agent.told("mem_session_summary", content="Built the parser.\n## Next Steps\n- ship it", session_id="s-1")
    return agent


async def test_a_query_gets_one_section_or_one_short_sentence(memory: Agent) -> None:
    assert "- [#1] Chose uv over poetry" in await memory.told("mem_context", query="why did we choose uv?")
    assert "## Earlier sessions" in await memory.told("mem_context", query="where were we?")
    said = await memory.told("mem_context", query="sort a list")
    assert said == "The prompt needs no memory, or none is near enough; mem_search searches anyway."
    assert len(said) / 4 <= 20


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


@pytest.fixture
def file(here: Path) -> Path:
    """A file in the folder widgets, which is a repository without commits."""
    (here / ".git" / "objects").mkdir(parents=True)
    (here / ".git" / "refs").mkdir()
    (here / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (here / "auth.py").write_text("one = 1\ntwo = 2\nthree = 3\n")
    return here / "auth.py"


@pytest.mark.parametrize("files", [["auth.py:1-2"], "auth.py:1-2", '["auth.py:1-2"]'])
async def test_a_review_lists_what_changed_since_it_was_saved(agent: Agent, file: Path, files: object) -> None:
    saved = await agent.value("mem_save", title="Order", content="One before two", files=files)
    assert (await agent.value("mem_review", action="list"))["count"] == 0

    file.write_text("two = 2\none = 1\n")

    [due] = (await agent.value("mem_review", action="list"))["due"]
    assert (due["id"], due["anchors"][0]["state"]) == (saved["id"], "changed")
    told = await agent.told("mem_review", action="list")
    assert f"[#{saved['id']}] Order (manual, widgets, now): auth.py:1-2 changed, not committed yet" in told

    await agent.told("mem_review", action="mark_reviewed", observation_id=saved["id"])
    assert (await agent.value("mem_review", action="list"))["count"] == 0


@pytest.mark.skipif(os.name == "nt", reason="symlinks")
async def test_a_search_says_in_short_why_it_cannot_tell_about_a_file(agent: Agent, file: Path) -> None:
    await agent.told("mem_save", title="Order", content="One before two", files=["auth.py:1-2"])
    await agent.told(
        "mem_save", title="Other order", content="Two after one, elsewhere", project="gadgets", files="x.py"
    )
    file.unlink()
    file.symlink_to(file.name)

    told = await agent.told("mem_search", query="order", all_projects=True)

    assert "  auth.py:1-2 unknown (too many levels of symbolic links)" in told.splitlines()
    assert told.count("unknown") == 1


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two git repositories, and the server standing in it."""
    folder = tmp_path / "work"
    for name in ("api", "web"):
        subprocess.run(["git", "init", "-q", str(folder / name)], check=True)
    monkeypatch.chdir(folder)
    return folder


async def test_between_two_repositories_a_save_is_refused_with_the_candidates_and_reads_say_so(
    workspace: Path, settings: Settings, data_dir: Path
) -> None:
    async with Client(build_server(settings)) as client:
        agent = Agent(client)
        facts = await agent.refusal("mem_save", title="Chose uv", content="Fast.")
        assert facts["error_code"] == "ambiguous_project"
        assert facts["available_projects"] == ["api", "web"]
        assert "project=" in facts["hint"]
        assert rows(data_dir)["observations"] == 0

        saved = await agent.value("mem_save", title="Chose uv", content="Fast.", project="api")
        assert (saved["project"], saved["project_source"]) == ("api", "explicit")

        assert "several repositories here" in await agent.told("mem_search", query="chose uv")
        assert "several repositories here" in await agent.told("mem_context")
        where = await agent.value("mem_current_project")
        assert (where["project"], where["candidates"], bool(where["hint"])) == (None, ["api", "web"], True)


async def test_the_project_of_the_command_line_is_that_of_every_call(settings: Settings, here: Path) -> None:
    async with Client(build_server(settings, project="Gadgets")) as client:
        saved = await Agent(client).value("mem_save", title="Chose uv", content="Fast.")

    assert (saved["project"], saved["project_source"]) == ("gadgets", "override")


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
    assert "1 turn of c2 kept in widgets: no summary, too little text" in await agent.told(
        "mem_ingest", conversation_id="c2", turns=text
    )
    for turns in ("hello", {"user": "x"}, 5):
        refused = await agent.refusal("mem_ingest", conversation_id="c2", turns=turns)
        assert refused["argument"] == "turns"
    refused = await agent.refusal("mem_ingest", conversation_id="c2", turns=["hello"])
    assert refused["argument"] == "turns.0"


@pytest.fixture
def server(served: Endpoint, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with start_server(folder) as process:
        yield process
        process.kill()


def end(server: subprocess.Popen[bytes]) -> int:
    assert server.stdin is not None
    server.stdin.close()
    return server.wait(30)


def save(number: int, content: str) -> dict[str, Any]:
    return tool_call(number, "mem_save", title=f"Note {number}", content=content)


def vectors(data_dir: Path) -> int:
    with closing(sqlite3.connect(data_dir / "engram.db")) as connection:
        return int(connection.execute("select count(*) from observation_vectors").fetchone()[0])


def test_what_is_saved_gets_its_vector_while_the_server_goes_on(
    server: subprocess.Popen[bytes], served: Endpoint, data_dir: Path
) -> None:
    talk(server, INITIALIZE, INITIALIZED, save(1, "Access tokens last fifteen minutes."))
    talk(server, save(2, "Jobs wait until a worker takes them."))
    while vectors(data_dir) < 2:
        served.arrived.wait(0.05)
    sent = [text for request in served.requests for text in request["input"]]
    assert "Note 1: Access tokens last fifteen minutes." in sent
    assert end(server) == 0


def test_a_model_that_never_answers_holds_up_neither_a_save_nor_the_end(
    server: subprocess.Popen[bytes], served: Endpoint
) -> None:
    def never(_: object) -> tuple[int, bytes]:
        served.released.wait(60)
        return 503, b""

    served.answer = never
    talk(server, INITIALIZE, INITIALIZED)
    assert b"Saved [#1]" in talk(server, save(1, "Access tokens last fifteen minutes."))
    assert served.arrived.wait(60)
    assert b"Saved [#2]" in talk(server, save(2, "Jobs wait until a worker takes them."))
    assert b"fifteen" in talk(server, tool_call(3, "mem_search", query="tokens"))
    assert end(server) == 0


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


@pytest.mark.parametrize("tool", BY_ID)
async def test_an_id_that_names_nothing_is_refused(agent: Agent, data_dir: Path, tool: str) -> None:
    await agent.told("mem_save", **FACT)
    before = rows(data_dir)
    for bad in (0, -1, 2, 2**63, -(2**63) - 1, 10**30, "#999"):
        facts = await agent.refusal(tool, **{k: bad if v == "<id>" else v for k, v in BY_ID[tool].items()})

        assert facts["error_code"] in {"observation_not_found", "invalid_argument"}
        assert str(bad).strip("#") in facts["message"]
        assert rows(data_dir) == before


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
