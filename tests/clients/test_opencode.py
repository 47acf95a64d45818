"""OpenCode itself, with an OpenAI-compatible stand-in: server and instructions reach the model, and go again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clients.conftest import Client, Install
from tests.clients.model import Call, Json, Model


@pytest.fixture
def opencode(install: Install, model: Model) -> Client:
    """OpenCode with its own configuration: comments, a trailing comma, and the scripted model as its provider."""
    client = install("opencode")
    path = client.home / ".config" / "opencode" / "opencode.jsonc"
    path.parent.mkdir(parents=True)
    path.write_text(CONFIGURATION.replace("HERE", f"{model.url}/v1"))
    (path.parent / "AGENTS.md").write_text("Answer briefly.\n")
    return client


CONFIGURATION = """\
{
  "$schema": "https://opencode.ai/config.json",
  // A model of my own.
  "provider": {
    "scripted": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {"baseURL": "HERE", "apiKey": "dummy"},
      "models": {"one": {"name": "One", "tool_call": true}},
    },
  },
  "model": "scripted/one",
  "small_model": "scripted/one", // titles
  "mcp": {
    "gone": {"type": "local", "command": ["/nowhere"], "enabled": false},
  },
}
"""


def configuration(client: Client) -> dict[str, bytes]:
    """OpenCode's own files about it: what it is configured with."""
    folder = client.home / ".config" / "opencode"
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".jsonc", ".json", ".md")}


def tools(request: Json) -> list[str]:
    return [tool["function"]["name"] for tool in request["tools"]]


def test_opencode_lists_the_server_beside_its_others(opencode: Client) -> None:
    opencode.engram("setup", "opencode")
    listed = opencode.run("mcp", "list").out
    assert "engram" in listed.partition("connected")[0]
    assert "gone" in listed


def test_a_session_saves_and_a_later_one_finds_it(opencode: Client, model: Model) -> None:
    before = configuration(opencode)
    opencode.engram("setup", "opencode")

    saving = {"title": "Orders live in SQLite", "type": "decision", "content": "**Why**: one file, no server."}
    model.play(Call("mem_save", saving), "Saved.")
    opencode.run("run", "Where should orders be stored?")
    assert "engram_mem_save" in tools(model.requests[0])
    assert "A saved memory is not an answer" in json.dumps(model.requests[0]["messages"])

    model.play(Call("mem_search", {"query": "where do the orders live?"}), "In SQLite [#1].")
    opencode.run("run", "Where are orders stored?")
    assert "[#1] Orders live in SQLite" in json.dumps(model.requests[-1]["messages"])

    opencode.engram("unsetup", "opencode")
    assert configuration(opencode) == before
    assert not [path for path in Path(opencode.home).rglob("*engram*") if ".npm" not in path.parts]
