"""Codex, Gemini CLI and Qwen Code themselves read what setup wrote, and list the server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clients.conftest import Client, Install
from tests.clients.model import Call, Model

CODEX = '# Mine.\nmodel = "gpt-5"   # the big one\n\n[mcp_servers.other]\ncommand = "/nowhere"\nenabled = false\n'
# Comments are what both take; a trailing comma neither does.
SETTINGS = '{\n  // Mine.\n  "mcpServers": {\n    "other": {"command": "/nowhere"} // gone\n  }\n}\n'


def configure(client: Client, name: str, text: str) -> Path:
    path = client.home / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def turns(client: Client) -> list[tuple[str, str]]:
    """What was said, as the hooks read it in the client's own transcripts, the first first."""
    found = json.loads(client.engram("turns", "--json"))
    return [(one["role"], one["content"]) for one in reversed(found["turns"] if isinstance(found, dict) else found)]


def test_codex_lists_the_server_with_its_whole_command(install: Install) -> None:
    codex = install("codex")
    path = configure(codex, ".codex/config.toml", CODEX)
    codex.engram("setup", "codex")

    servers = {one["name"]: one for one in json.loads(codex.run("mcp", "list", "--json").out)}

    assert set(servers) == {"engram", "other"}
    transport = servers["engram"]["transport"]
    assert Path(transport["command"]).is_file()
    assert transport["args"][-1] == "mcp"
    assert servers["engram"]["enabled"] is True
    codex.engram("unsetup", "codex")
    assert path.read_text() == CODEX
    assert not (codex.home / ".codex" / "hooks.json").exists()


@pytest.mark.parametrize(("name", "file"), [("gemini", ".gemini/settings.json"), ("qwen", ".qwen/settings.json")])
def test_gemini_and_qwen_connect_to_the_server_and_complain_about_nothing(
    install: Install, name: str, file: str
) -> None:
    client = install(name)
    path = configure(client, file, SETTINGS)
    client.engram("setup", name)

    listed = client.run("mcp", "list")
    said = (listed.out + listed.err).splitlines()

    assert any("engram:" in line and "Connected" in line for line in said), said
    assert any("other:" in line for line in said)
    assert [line for line in said if "nvalid" in line or ("rror" in line and "other" not in line)] == []
    client.engram("unsetup", name)
    text = path.read_text()
    assert "engram" not in text
    # Qwen Code writes its settings again with a version in them; what was there stays all the same.
    assert text == SETTINGS or (name == "qwen" and "// gone" in text and '"other"' in text)


def test_qwen_runs_the_hooks_and_reaches_the_server(install: Install, model: Model) -> None:
    qwen = install("qwen")
    (qwen.home / ".qwen").mkdir()
    qwen.engram("setup", "qwen")
    said = ("--auth-type", "openai", "--approval-mode", "yolo")

    # Qwen Code hides the tools of every MCP server behind a search for tools; a model that knows the name can call it.
    saving = {"title": "Orders live in SQLite", "type": "decision", "content": "**Why**: one file, no server."}
    model.play(Call("mcp__engram__mem_save", saving), "Saved.")
    qwen.run("-p", "Decide in which database the orders of the shop live.", *said)
    assert "A saved memory is not an answer" in json.dumps(model.requests[0]["messages"])

    model.play(Call("mcp__engram__mem_search", {"query": "where do the orders live?"}), "In SQLite [#1].")
    qwen.run("-p", "Where do the orders live?", *said)
    assert "[#1] Orders live in SQLite" in json.dumps(model.requests[-1]["messages"])

    assert "in which database the orders of the shop live" in qwen.engram("prompts", "--json")
    sessions = json.loads(qwen.engram("sessions", "--json"))["sessions"]
    assert {one["agent"] for one in sessions} >= {"qwen"}


def test_codex_gives_its_model_what_an_earlier_session_decided(install: Install, model: Model) -> None:
    codex = install("codex")
    provider = f'name = "Scripted"\nbase_url = "{model.url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'
    own = f'model = "scripted"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\n{provider}'
    path = configure(codex, ".codex/config.toml", own)
    codex.engram("setup", "codex")
    # As after /hooks, where a person has looked at the hooks and trusted them.
    trusting = ("exec", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
    model.meanwhile = Call("exec_command", {"cmd": "true"})

    saving = {"title": "Orders live in SQLite", "type": "decision", "content": "**Why**: one file, no server."}
    model.play(Call("mem_save", saving), "Saved.")
    codex.run(*trusting, "Decide in which database the orders of the shop live.")
    assert "A saved memory is not an answer" in json.dumps(model.requests[0]["input"])
    assert "Orders live in SQLite" not in json.dumps(model.requests[0]["input"])
    assert turns(codex) == [("user", "Decide in which database the orders of the shop live."), ("assistant", "Saved.")]

    model.play("In SQLite [#1].")
    codex.run(*trusting, "Please look at tokens.py.")
    assert "[#1] Orders live in SQLite" in json.dumps(model.requests[0]["input"])

    codex.engram("unsetup", "codex")
    # Codex itself adds which folders it has seen.
    assert path.read_text().startswith(own)
    assert "engram" not in path.read_text().replace(str(codex.project), "")
    assert not (codex.home / ".codex" / "AGENTS.md").exists()


def test_gemini_gives_its_model_what_an_earlier_session_decided(install: Install, model: Model) -> None:
    gemini = install("gemini")
    own = '{\n  // A key of my own.\n  "security": {"auth": {"selectedType": "gemini-api-key"}}\n}\n'
    path = configure(gemini, ".gemini/settings.json", own)
    gemini.engram("setup", "gemini")
    said = ("--approval-mode", "yolo", "--model", "gemini-2.5-pro", "--prompt")

    saving = {"title": "Orders live in SQLite", "type": "decision", "content": "**Why**: one file, no server."}
    model.play(Call("mem_save", saving), "Saved.")
    gemini.run(*said, "Decide in which database the orders of the shop live.")
    assert "A saved memory is not an answer" in json.dumps(model.requests[0])
    assert "Orders live in SQLite" not in json.dumps(model.requests[0]["contents"])
    # Behind what our own session start answered, which Gemini puts before the first prompt.
    asked = "Decide in which database the orders of the shop live."
    assert [one["content"] for one in json.loads(gemini.engram("prompts", "--json"))["prompts"]] == [asked]
    assert turns(gemini) == [("user", asked), ("assistant", "Saved.")]

    model.play("In SQLite [#1].")
    gemini.run(*said, "Please look at tokens.py.")
    assert "[#1] Orders live in SQLite" in json.dumps(model.requests[0]["contents"])

    sessions = json.loads(gemini.engram("sessions", "--json"))["sessions"]
    assert [one["ended_at"] is not None for one in sessions if one["agent"] == "gemini"] == [True, True]
    gemini.engram("unsetup", "gemini")
    assert path.read_text() == own
    assert not (gemini.home / ".gemini" / "GEMINI.md").exists()


def test_hooks_that_codex_does_not_trust_are_said_by_the_doctor(install: Install, model: Model) -> None:
    codex = install("codex")
    provider = f'name = "Scripted"\nbase_url = "{model.url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'
    own = f'model = "scripted"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\n{provider}'
    configure(codex, ".codex/config.toml", own)
    codex.engram("setup", "codex")
    model.meanwhile = Call("exec_command", {"cmd": "true"})
    model.play(Call("mem_save", {"title": "Orders", "content": "They live in SQLite."}), "Saved.")

    codex.run("exec", "--dangerously-bypass-approvals-and-sandbox", "Decide where the orders live.")

    assert "no hook of codex ran since setup" in codex.engram("doctor", "--check", "hooks")
