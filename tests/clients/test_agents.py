"""Agents installed from npm with a scripted model: what one session learned, the next one is given."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import Client, Install, commit
from tests.clients.model import Call, Json, Model
from tests.interfaces.setup.conftest import tree

DECISION = {
    "title": "Access tokens live 15 minutes",
    "type": "decision",
    "topic_key": "decision/token-lifetime",
    "content": "**What**: Access tokens live 15 minutes.\n**Why**: A stolen one must be worthless soon.\n"
    "**Where**: tokens.py:1",
}
SETTINGS = '{\n      "permissions": {"deny": ["WebFetch"]},\n  "env": {"A": "1"}\n}'
# Where Claude Code keeps what its own sessions write: setup and unsetup neither make nor mend these.
SESSIONS = (".claude.json", ".claude/projects", ".claude/backups", ".claude/sessions", ".claude/shell-snapshots",
            ".claude/session-env", ".claude/todos", ".claude/history.jsonl", ".claude/policy-limits.json",
            ".claude/mcp-needs-auth-cache.json", ".claude/.last-cleanup", ".claude/statsig", ".cache",
            ".local")  # fmt: skip


@pytest.fixture
def claude(install: Install) -> Client:
    client = install("claude")
    (client.home / ".claude").mkdir()
    (client.home / ".claude" / "settings.json").write_text(SETTINGS)
    (client.home / ".claude" / "CLAUDE.md").write_text("Answer briefly.\n")
    return client


def ask(client: Client, prompt: str, *options: str) -> Json:
    """A process of its own that gets one prompt: one session, unless the options resume another."""
    allowed = "mcp__plugin_engram_engram"
    done = client.run("-p", prompt, *options, "--output-format", "json", "--allowedTools", allowed)
    answer: Json = json.loads(done.out)
    assert not answer["is_error"], answer
    return answer


def given(request: Json) -> str:
    """Everything in a request that is not a tool's description: what the model reads."""
    return json.dumps([request["messages"], request.get("system")], ensure_ascii=False).replace('\\"', '"')


def tool_result(request: Json) -> str:
    """What the last tool call of a request answered."""
    blocks: list[Any] = [block for message in request["messages"] for block in message["content"]]
    results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
    return json.dumps(results[-1]["content"], ensure_ascii=False)


def test_the_plugin_passes_its_validation(claude: Client) -> None:
    packaged = str(resources.files("engram_py") / "plugin")
    claude.engram("setup", "claude-code")
    installed = str(Path(claude.variables["ENGRAM_DATA_DIR"]) / "setup" / "claude-plugin")
    for folder in (packaged, installed, f"{installed}/.claude-plugin/plugin.json"):
        assert "Validation passed" in claude.run("plugin", "validate", folder).out


def test_claude_code_connects_to_the_server_and_knows_hooks_skill_and_commands(claude: Client) -> None:
    claude.engram("setup", "claude-code")
    assert "plugin:engram:engram" in (listed := claude.run("mcp", "list").out)
    assert "Connected" in listed
    details = claude.run("plugin", "details", "engram@engram-py").out
    for part in ("engram-memory", "recall", "save", "forget", "SessionStart", "UserPromptSubmit", "SessionEnd"):
        assert part in details


def test_setup_twice_then_unsetup_leaves_home_as_it_was_byte_for_byte(claude: Client) -> None:
    before = tree(claude.home)
    claude.engram("setup", "claude-code")
    after = tree(claude.home)
    assert "nothing to change" in claude.engram("setup", "claude-code")
    assert tree(claude.home) == after
    claude.engram("unsetup", "claude-code")
    assert tree(claude.home) == before


def test_what_one_session_decides_the_next_is_given_until_the_code_changes(claude: Client, model: Model) -> None:
    before = tree(claude.home)
    claude.engram("setup", "claude-code")

    model.play(Call("mem_save", DECISION), "Fifteen minutes it is.")
    ask(claude, "Decide how long access tokens live, and remember it.")
    assert "Access tokens live 15 minutes" not in given(model.requests[0])
    assert "Saved [#1]" in tool_result(model.requests[1])

    model.play(Call("mem_search", {"query": "how long is an access token valid?"}), "Fifteen minutes [#1].")
    ask(claude, "Please review tokens.py.")
    assert "<engram-memory" in given(model.requests[0])
    assert "[#1] Access tokens live 15 minutes" in given(model.requests[0])
    assert "[#1] Access tokens live 15 minutes" in tool_result(model.requests[1])
    assert "changed" not in tool_result(model.requests[1])

    (claude.project / "tokens.py").write_text("LIFETIME_MINUTES = 5\nGRACE_SECONDS = 10\n")
    commit(claude.project, "Shorter")
    model.play(Call("mem_search", {"query": "how long do access tokens live?"}), "It changed.")
    ask(claude, "How long do access tokens live?")
    line = next(line for line in given(model.requests[0]).split("\\n") if "[#1] Access tokens" in line)
    assert "changed" in line
    assert "changed" in tool_result(model.requests[1])

    claude.engram("unsetup", "claude-code")
    left = {Path(path).relative_to(claude.home).as_posix(): what for path, what in tree(claude.home).items()}
    new = [path for path in left if str(claude.home / path) not in before]
    assert [path for path in new if not path.startswith(SESSIONS)] == []
    assert {str(claude.home / path): what for path, what in left.items() if path not in new} == before


def test_the_prompts_of_a_session_are_kept_and_the_session_ends(claude: Client, model: Model) -> None:
    claude.engram("setup", "claude-code")
    model.play("Let us use SQLite.")
    ask(claude, "Which database should the shop use for its orders?")

    prompts = json.loads(claude.engram("prompts", "--json"))
    [session] = [one for one in json.loads(claude.engram("sessions", "--json"))["sessions"] if one["agent"] != "cli"]

    assert "Which database should the shop use" in json.dumps(prompts)
    assert session["agent"] == "claude-code"
    assert session["ended_at"] is not None
    assert [one["role"] for one in json.loads(claude.engram("turns", "--json"))["turns"]] == ["assistant", "user"]
    assert "failed in seven days: " not in claude.engram("doctor", "--check", "hooks")


def test_a_run_that_is_resumed_twice_is_one_session_that_was_given_its_start_once(claude: Client, model: Model) -> None:
    claude.engram("setup", "claude-code")
    claude.engram("save", "Orders live in SQLite", "One file, no server.", "--type", "decision")
    model.play(Call("mem_save", DECISION), "Fifteen minutes it is.")
    session_id = ask(claude, "Decide how long access tokens live, and remember it.")["session_id"]
    for number in range(2):
        saved = {"title": f"Step {number} of the parser", "content": "It is done.", "type": "decision"}
        model.play(Call("mem_save", saved), Call("mem_session_summary", {"content": f"Goal: step {number}."}), "Done.")
        ask(claude, f"Please go on with step {number} of the refactoring.", "--resume", session_id)

    assert given(model.requests[0]).count("<engram-memory") == 1
    listed = json.loads(claude.engram("sessions", "--json"))["sessions"]
    [session] = [one for one in listed if one["agent"] != "cli"]
    assert (session["id"], session["agent"], session["observations"]) == (session_id, "claude-code", 4)
    assert session["summary"] == "Goal: step 1."


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
    """OpenCode's own files about it: what it is configured with, not what it installs once there is a plugin."""
    folder = client.home / ".config" / "opencode"
    files = (path for path in folder.iterdir() if path.suffix in (".jsonc", ".json", ".md"))
    return {path.name: path.read_bytes() for path in files if not path.name.startswith("package")}


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


def test_opencode_gives_its_model_what_an_earlier_session_decided(opencode: Client, model: Model) -> None:
    opencode.engram("setup", "opencode")

    asked = "Decide in which database the orders of the shop live."
    saving = {"title": "Orders live in SQLite", "type": "decision", "content": "**Why**: one file, no server."}
    model.play(Call("mem_save", saving), "Saved.")
    opencode.run("run", asked)
    assert "Orders live in SQLite" not in json.dumps(model.requests[0]["messages"])
    # `opencode run` quotes a prompt of several words; what the hooks add is no prompt.
    assert [one["content"] for one in json.loads(opencode.engram("prompts", "--json"))["prompts"]] == [f'"{asked}"']
    assert ("assistant", "Saved.") in turns(opencode)

    model.play("In SQLite [#1].")
    opencode.run("run", "Please look at tokens.py.")
    assert "[#1] Orders live in SQLite" in json.dumps(model.requests[0]["messages"])

    sessions = [one for one in json.loads(opencode.engram("sessions", "--json"))["sessions"] if one["observations"]]
    assert [(one["agent"], one["ended_at"] is not None) for one in sessions] == [("opencode", True)]
    assert "no hook failed" in opencode.engram("doctor", "--check", "hooks")


CODEX = '# Mine.\nmodel = "gpt-5"   # the big one\n\n[mcp_servers.other]\ncommand = "/nowhere"\nenabled = false\n'
# Comments are what both take; a trailing comma neither does.
COMMENTED = '{\n  // Mine.\n  "mcpServers": {\n    "other": {"command": "/nowhere"} // gone\n  }\n}\n'


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
    path = configure(client, file, COMMENTED)
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
    assert text == COMMENTED or (name == "qwen" and "// gone" in text and '"other"' in text)


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

    [check] = json.loads(codex.engram("doctor", "--check", "hooks", "--json"))["checks"]
    assert (check["result"], "no hook of codex ran since setup" in check["message"]) == ("warning", True)
