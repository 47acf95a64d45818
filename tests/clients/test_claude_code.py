"""Claude Code itself, installed from npm, with a scripted model: what one session learned, the next one is given."""

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
    model.play(Call("mem_search", {"query": "how long is an access token valid?"}), "It changed.")
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
    assert "hook(s) failed" not in claude.engram("doctor", "--check", "hooks")


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
