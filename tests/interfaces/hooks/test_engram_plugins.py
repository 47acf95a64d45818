"""What the hook scripts of Engram's own plugins call, answered by this program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.interfaces.hooks.protocol import MEMORY_TOOLS
from engram_py.interfaces.mcp.profiles import declared
from engram_py.interfaces.mcp.tool_calls import OF_SESSIONS
from tests.interfaces.hooks.conftest import Hook, prompts_of
from tests.memory import draft

SAVE = {"tool_name": "mcp__plugin_engram_engram__mem_save", "tool_input": {"title": "t", "content": "c"}}


def bound(hook: Hook, event: str, **fields: Any) -> Any:
    answered = hook(event, agent="", **fields)
    assert (answered.code, answered.stderr) == (0, "")
    return json.loads(answered.stdout)


@pytest.mark.parametrize("server", ["mcp__engram__", "mcp__plugin_engram_engram__"])
def test_a_save_of_claude_code_is_bound_to_its_session(hook: Hook, memory: Engram, folder: Path, server: str) -> None:
    given = {"title": "t", "content": "c", "session_id": "made up by the model"}

    answer = bound(hook, "claude-pre-tool-use", tool_name=f"{server}mem_save", tool_input=given)

    assert answer == {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {**given, "session_id": "s1"}}
    }
    session = memory.sessions.get("s1")
    assert (session.project, session.directory, session.agent) == ("widgets", str(folder), "claude-code")


def test_codex_is_told_to_allow_what_it_is_given(hook: Hook, memory: Engram) -> None:
    said = bound(hook, "codex-pre-tool-use", **SAVE)["hookSpecificOutput"]
    assert (said["permissionDecision"], said["updatedInput"]["session_id"]) == ("allow", "s1")
    assert memory.sessions.get("s1").agent == "codex"


@pytest.mark.parametrize("tool", ["mem_session_start", "mem_session_end"])
def test_the_tools_about_sessions_name_theirs_by_id(hook: Hook, tool: str) -> None:
    answer = bound(hook, "claude-pre-tool-use", tool_name=f"mcp__engram__{tool}", tool_input={"id": "other"})
    assert answer["hookSpecificOutput"]["updatedInput"] == {"id": "s1"}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"tool_name": "mcp__engram__mem_search", "tool_input": {"query": "x"}}, id="reads"),
        pytest.param({"tool_name": "mcp__other__mem_save", "tool_input": {}}, id="another-server"),
        pytest.param({"tool_name": "Bash", "tool_input": {"command": "ls"}}, id="another-tool"),
        pytest.param({}, id="nothing-said"),
        pytest.param({"tool_name": "mcp__engram__mem_save", "tool_input": "no object"}, id="no-arguments"),
    ],
)
def test_any_other_call_goes_on_as_it_is(hook: Hook, data_dir: Path, fields: dict[str, Any]) -> None:
    assert bound(hook, "claude-pre-tool-use", **fields) == {}
    assert not (data_dir / "engram.db").exists()


def test_every_tool_that_takes_a_session_is_bound() -> None:
    taking = dict.fromkeys(OF_SESSIONS, "id") | {
        name: "session_id" for name, tool in declared().items() if "session_id" in tool.arguments
    }
    assert taking == MEMORY_TOOLS


@pytest.mark.parametrize("event", ["codex-register", "codex-resolve"])
def test_codex_learns_the_session_its_calls_belong_to(hook: Hook, memory: Engram, event: str) -> None:
    assert hook(event, agent="").text == "s1\n"
    assert bound(hook, event, environ={"ENGRAM_HOOK_OUTPUT": "json"}) == {"session_id": "s1"}
    assert memory.sessions.get("s1").agent == "codex"


def test_a_session_of_codex_that_ended_is_open_again_when_it_registers(hook: Hook, memory: Engram) -> None:
    hook("codex-register", agent="")
    assert hook("codex-session-end", agent="").stdout == b""
    assert memory.sessions.get("s1").ended_at is not None

    hook("codex-register", agent="")

    assert memory.sessions.get("s1").ended_at is None


def test_a_prompt_of_codex_is_kept_and_answered_with_memory_or_an_empty_object(hook: Hook, memory: Engram) -> None:
    assert bound(hook, "codex-user-prompt-submit", prompt="Rename the colour picker, please.") == {}
    assert prompts_of(memory) == ["Rename the colour picker, please."]
    saved = memory.save(draft("Fast, and it locks.", title="Chose uv for packages", type="decision"))

    said = bound(hook, "codex-user-prompt-submit", prompt="why did we choose uv?")

    assert f"[#{saved.id}]" in said["hookSpecificOutput"]["additionalContext"]
