"""Agents that install engram from its repository, without ``engram setup``: the real programs, a local clone."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path

import pytest

from docs import manifests
from tests.clients.conftest import Client, Install, commit, git
from tests.clients.model import Call, Model
from tests.clients.test_agents import ask, configure, given

SAVING = {"title": "Orders live in SQLite", "type": "decision", "content": "**Why**: one file, no server."}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files of this repository that agents read, in a repository of git."""
    folder = tmp_path / "engram-py"
    for name, data in manifests.files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "As released")
    return folder


def with_engram(client: Client) -> Client:
    """The same client on a machine where engram was installed: its command is on the PATH."""
    folders = (Path(sys.executable).parent, client.folder / "node_modules" / ".bin", os.environ["PATH"])
    return dataclasses.replace(client, variables=client.variables | {"PATH": os.pathsep.join(map(str, folders))})


def test_claude_code_installs_the_plugin_from_the_repository_and_remembers(
    install: Install, clone: Path, model: Model
) -> None:
    claude = with_engram(install("claude"))
    for folder in (clone, clone / manifests.PLUGIN):
        assert "Validation passed" in claude.run("plugin", "validate", str(folder)).out

    claude.run("plugin", "marketplace", "add", str(clone))
    claude.run("plugin", "install", "engram@engram-py")

    assert "engram-py mcp - ✔ Connected" in claude.run("mcp", "list").out
    model.play(Call("mem_save", SAVING), "Saved.")
    ask(claude, "Decide in which database the orders of the shop live.")
    model.play("In SQLite [#1].")
    ask(claude, "Please look at tokens.py.")
    assert "[#1] Orders live in SQLite" in given(model.requests[0])


def test_setup_leaves_the_plugin_of_the_repository_alone(install: Install, clone: Path) -> None:
    claude = with_engram(install("claude"))
    claude.run("plugin", "marketplace", "add", str(clone))
    claude.run("plugin", "install", "engram@engram-py")

    refused = claude.engram("setup", "claude-code", "--no-vectors", code=1)
    assert "Claude Code has engram already, from the plugin engram@engram-py" in refused
    assert "`claude plugin marketplace remove engram-py` removes it." in claude.engram("unsetup", "--all")

    servers = [line for line in claude.run("mcp", "list").out.splitlines() if "engram" in line]
    assert len(servers) == 1
    assert "Connected" in servers[0]
    claude.run("plugin", "marketplace", "remove", "engram-py")
    claude.engram("setup", "claude-code", "--no-vectors")
    claude.engram("unsetup", "--all")
    assert "No plugins installed" in claude.run("plugin", "list").out


def test_codex_installs_the_plugin_from_the_repository_and_remembers(
    install: Install, clone: Path, model: Model
) -> None:
    codex = with_engram(install("codex"))
    provider = f'name = "Scripted"\nbase_url = "{model.url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'
    own = f'model = "scripted"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\n{provider}'
    configure(codex, ".codex/config.toml", own)

    codex.run("plugin", "marketplace", "add", str(clone))
    codex.run("plugin", "add", "engram@engram-py")

    assert "`codex plugin remove engram@engram-py`" in codex.engram("setup", "codex", code=1)
    [server] = json.loads(codex.run("mcp", "list", "--json").out)
    assert (server["transport"]["command"], server["transport"]["args"]) == ("engram-py", ["mcp"])
    trusting = ("exec", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
    # Made by hand: see test_agents for what Codex saves itself.
    codex.engram("save", SAVING["title"], SAVING["content"], "--type", SAVING["type"])
    model.play("In SQLite [#1].")
    codex.run(*trusting, "Please look at tokens.py.")
    assert "[#1] Orders live in SQLite" in json.dumps(model.requests[0]["input"])
    sessions = json.loads(codex.engram("sessions", "--json"))["sessions"]
    assert {one["agent"] for one in sessions} == {"cli", "codex"}, (
        "the hooks of Claude Code in the same folder are not run"
    )


def test_gemini_installs_the_extension_from_the_repository_and_remembers(
    install: Install, clone: Path, model: Model
) -> None:
    gemini = with_engram(install("gemini"))
    configure(gemini, ".gemini/settings.json", '{"security": {"auth": {"selectedType": "gemini-api-key"}}}\n')
    gemini.run("extensions", "validate", str(clone))

    gemini.run("extensions", "install", "--consent", str(clone))

    assert "`gemini extensions uninstall engram-py`" in gemini.engram("setup", "gemini", code=1)
    said = ("--approval-mode", "yolo", "--model", "gemini-2.5-pro", "--prompt")
    model.play(Call("mem_save", SAVING), "Saved.")
    gemini.run(*said, "Decide in which database the orders of the shop live.")
    assert "A saved memory is not an answer" in json.dumps(model.requests[0])
    model.play("In SQLite [#1].")
    gemini.run(*said, "Please look at tokens.py.")
    assert "[#1] Orders live in SQLite" in json.dumps(model.requests[0]["contents"])


def test_the_skill_is_found_by_the_program_that_adds_skills(install: Install, clone: Path) -> None:
    listed = install("skills").run("add", str(clone), "--list").out
    assert "Found 1 skill" in listed
    assert "engram-memory" in listed


def test_the_bundle_passes_its_validation(install: Install, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps(manifests.bundle_manifest()))
    assert "validation passes" in install("mcpb").run("validate", str(manifest)).out
