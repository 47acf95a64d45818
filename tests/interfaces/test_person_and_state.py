"""``identity``, ``checkpoint`` and ``sort`` answer alike through every door (rows 25, 41 and 57)."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner, Result
from mcp import Client

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.http.mcp_endpoint import build_server
from tests.interfaces.http.asking import Asker, asker

ENGLISH, STATE = "Always reply in English", b'{"step": 3}\r\n\xc3\xa9\n\n'


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture
def ask(app: Engram) -> Asker:
    return asker(app)


def run(*words: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, list(words), input=stdin, prog_name="engram")


def told(data_dir: Path, tool: str, **arguments: Any) -> str:
    """What a tool answers, a refusal too."""

    async def call() -> Any:
        async with Client(build_server(Settings(data_dir), tools="layers")) as client:
            return await client.call_tool(tool, arguments)

    text: str = anyio.run(call).content[0].text
    return text


def test_a_statement_that_one_door_keeps_the_others_know_and_remove(ask: Asker, app: Engram, data_dir: Path) -> None:
    assert run("identity", "add", ENGLISH).stdout.startswith("Saved [#1]")
    assert told(data_dir, "mem_identity", action="add", text=ENGLISH.upper()).startswith("Already known [#1]")
    assert ask("POST", "/identity", {"text": f" {ENGLISH}. "}).value["outcome"] == "duplicate"
    assert app.identity.add(ENGLISH).outcome == "duplicate"

    assert [one["text"] for one in ask("GET", "/identity").value] == [ENGLISH]
    assert ENGLISH in told(data_dir, "mem_identity")
    assert ENGLISH in run("identity").stdout

    assert ask("DELETE", "/identity/reply%20in").value["status"] == "deleted"
    assert run("identity").stdout == "Nothing is known about the user yet\n"
    assert "statement_not_found" in told(data_dir, "mem_identity", action="remove", text="#2nd")
    assert ask("DELETE", "/identity/nothing").status == 404
    assert run("identity", "remove", "nothing").exit_code == 1


def test_a_profile_is_written_and_read_through_every_door(ask: Asker, app: Engram, data_dir: Path) -> None:
    assert "No profile" in run("identity", "profile").stdout
    app.save(Draft("Editor", "Helix.", "preference", scope="personal"))
    assert "- Editor: Helix." in run("identity", "profile", "--derive").stdout
    told(data_dir, "mem_identity", action="profile", text="Ada. Terse.")
    assert ask("GET", "/identity/profile").value["text"] == "Ada. Terse."
    kept = run("identity", "profile", "--derive")
    assert "Ada. Terse." in kept.stdout
    assert "was not rewritten" in kept.stderr
    ask("PUT", "/identity/profile", {"text": "Small commits.", "scope": "project"})
    assert "Small commits." in run("identity", "profile", "--scope", "project").stdout
    assert "Ada. Terse." in told(data_dir, "mem_identity", action="profile")
    assert "invalid_argument" in told(data_dir, "mem_identity", action="forget")


def test_row_41_a_checkpoint_of_one_door_comes_back_through_the_others(ask: Asker, app: Engram, data_dir: Path) -> None:
    assert run("checkpoint", "save", "--session", "s1", stdin=b"older").exit_code == 0
    assert run("checkpoint", "save", "--session", "s1", stdin=STATE).exit_code == 0

    assert run("checkpoint", "load", "--session", "s1").stdout_bytes == STATE
    assert told(data_dir, "mem_checkpoint", action="load", session="s1") == STATE.decode()
    assert ask("GET", "/checkpoints/s1").value["content"].encode() == STATE
    assert app.checkpoints.load(session_id="s1").data == STATE

    assert run("checkpoint", "load", "--session", "s2").exit_code == 1
    assert "checkpoint_not_found" in told(data_dir, "mem_checkpoint", action="load", session="s2")
    assert ask("GET", "/checkpoints/s2").code == "checkpoint_not_found"

    told(data_dir, "mem_checkpoint", action="save", content='{"a": 1}')
    assert told(data_dir, "mem_checkpoint", action="load") == '{"a": 1}'  # the latest of the project
    binary = base64.b64encode(b"\x00\xff").decode()
    assert ask("POST", "/checkpoints", {"content_base64": binary, "session_id": "s3"}).value["size"] == 2
    assert ask("GET", "/checkpoints/s3").value["content_base64"] == binary
    assert "is binary (2 bytes)" in told(data_dir, "mem_checkpoint", action="load", session="s3")
    assert ask("POST", "/checkpoints", {"content_base64": "?"}).status == 400
    assert ask("GET", "/checkpoints").value[0]["session_id"] == "s3"
    assert len(json.loads(run("checkpoint", "list", "--json").stdout)["checkpoints"]) == 4


def test_row_25_every_door_that_searches_sorts(ask: Asker, app: Engram, data_dir: Path) -> None:
    for number in (1, 2, 3):
        app.save(Draft(f"Gateway {number}", "The gateway." * (4 - number), "decision"))
    wanted = [3, 2, 1]
    assert [one["id"] for one in ask("GET", "/search?q=gateway&sort=recency").value] == wanted
    by_body = ask("POST", "/search", {"query": "gateway", "sort": "recency"}).value
    assert [one["id"] for one in by_body["results"]] == wanted
    by_command = json.loads(run("search", "gateway", "--sort", "recency", "--json").stdout)
    assert [one["id"] for one in by_command["results"]] == wanted
    assert ask("GET", "/search?q=gateway&sort=alphabet").code == "invalid_argument"

    async def call() -> Any:
        async with Client(build_server(Settings(data_dir))) as client:
            return await client.call_tool(
                "mem_search", {"query": "gateway", "sort": "recency", "response_format": "json"}
            )

    answered = json.loads(anyio.run(call).content[0].text)
    assert [one["id"] for one in answered["results"]] == wanted
    assert (answered["sort"], "sort" in ask("POST", "/search", {"query": "gateway"}).value) == ("recency", False)
