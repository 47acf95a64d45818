"""Events, agents, fields and answers in each agent's spelling, Engram's own plugins included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.interfaces.hooks.protocol import (
    EVENTS,
    MEMORY_TOOLS,
    Event,
    Request,
    agent_named,
    answer,
    arguments,
    event_named,
    loaded,
    parse,
)
from engram_py.interfaces.mcp.profiles import declared
from engram_py.interfaces.mcp.tool_calls import OF_SESSIONS
from tests.interfaces.hooks.conftest import Hook, prompts_of
from tests.support import draft

HERE = Path("/home/ada/widgets")


def request(agent: str = "claude-code", environ: dict[str, str] | None = None, **fields: Any) -> Request:
    return parse(fields, agent=agent, environ=environ or {}, here=HERE)


SPELT = {
    "session-start": "session-start SessionStart sessionStart agentSpawn TaskResume",
    "user-prompt": "user-prompt UserPromptSubmit beforeSubmitPrompt BeforeAgent pre_user_prompt",
    "pre-tool": "pre-tool PreToolUse BeforeTool",
    "post-tool": "post-tool PostToolUse AfterTool",
    "tool-failed": "tool-failed PostToolUseFailure",
    "pre-compact": "pre-compact PreCompress",
    "stop": "stop AfterAgent Stop post_cascade_response",
    "subagent-stop": "subagent-stop SubagentStop",
    "session-end": "session-end sessionEnd",
}


@pytest.mark.parametrize("event", EVENTS)
def test_our_own_names_and_those_of_agents_mean_our_events(event: Event) -> None:
    assert {event_named(name) for name in SPELT.get(event, event).split()} == {event}


@pytest.mark.parametrize("name", ["", "nonsense", "stop\0", "x" * 10_000, "停"])
def test_another_name_is_none(name: str) -> None:
    assert event_named(name) in (None, "stop")


@pytest.mark.parametrize(("agent", "event", "name"), [
    ("claude-code", "session-start", "SessionStart"), ("claude", "user-prompt", "UserPromptSubmit"),
    ("codex", "subagent-start", "SubagentStart"), ("gemini", "user-prompt", "BeforeAgent"),
    ("qwen", "pre-tool", "PreToolUse"),
])  # fmt: skip
def test_most_agents_get_the_name_of_the_event_with_the_text(agent: str, event: Event, name: str) -> None:
    printed = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": "é"}}
    assert json.loads(answer(agent_named(agent), event, "é")) == printed


@pytest.mark.parametrize(
    ("agent", "event", "printed"),
    [
        ("cursor", "session-start", b'{"additional_context": "\xc3\xa9"}'),
        ("cline", "user-prompt", b'{"cancel": false, "contextModification": "\xc3\xa9"}'),
        ("copilot", "session-start", b'{"additionalContext": "\xc3\xa9"}'),
        ("kiro", "session-start", b"\xc3\xa9\n"),
        ("somebody-else", "session-start", b"\xc3\xa9\n"),
        ("cursor", "user-prompt", b""),
        ("windsurf", "session-start", b""),
        ("gemini", "pre-tool", b""),
        ("cursor", "tool-failed", b""),
        ("codex", "stop", b""),
    ],
)
def test_others_get_their_own_json_the_text_or_nothing_where_it_is_not_passed_on(
    agent: str, event: Event, printed: bytes
) -> None:
    given = answer(agent, event, "é")
    assert given == printed or json.loads(given) == json.loads(printed)
    assert answer(agent, event, "") == b""


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"session_id": "a", "prompt": "p"}, ("a", "p"), id="claude-code"),
        pytest.param({"conversation_id": "a", "prompt": "p"}, ("a", "p"), id="cursor"),
        pytest.param({"taskId": "a", "userPromptSubmit": {"prompt": "p"}}, ("a", "p"), id="cline"),
        pytest.param({"trajectory_id": "a", "tool_info": {"user_prompt": "p"}}, ("a", "p"), id="windsurf"),
        pytest.param({"sessionId": "a", "prompt": "p"}, ("a", "p"), id="copilot"),
    ],
)
def test_the_fields_of_each_agent_are_understood(fields: dict[str, Any], expected: tuple[str, str]) -> None:
    found = request(**fields)

    assert (found.session_id, found.prompt) == expected


@pytest.mark.parametrize("denies", [False, True])
@pytest.mark.parametrize(
    "middle", ["a line\n" * 5_000, "x" * 50_000, "港湾" * 20_000, '"\\' * 20_000, "\ud800" * 90_000]
)
def test_a_text_that_the_agent_would_replace_keeps_its_beginning_and_its_end(middle: str, denies: bool) -> None:
    printed = answer("claude-code", "pre-tool", f"The first line\n{middle}\nThe last line", denies=denies)

    assert 8_000 < len(printed) <= 10_000
    [text] = [text for text in json.loads(printed)["hookSpecificOutput"].values() if "first" in text]
    assert text.startswith("The first line\n")
    assert "characters left out" in text
    assert text.endswith("The last line")


@pytest.mark.parametrize(
    ("fields", "environ", "expected"),
    [
        pytest.param({"cwd": "/srv/a"}, {}, "/srv/a", id="cwd"),
        pytest.param({"workspace_roots": ["/srv/b", "/srv/c"]}, {}, "/srv/b", id="roots"),
        pytest.param({}, {"CLAUDE_PROJECT_DIR": "/srv/d"}, "/srv/d", id="variable"),
        pytest.param({"cwd": "relative"}, {}, str(HERE), id="relative"),
        pytest.param({"cwd": 7, "workspace_roots": [None]}, {}, str(HERE), id="wrong-types"),
        pytest.param({"cwd": "C:\\Users\\ada"}, {}, str(HERE), id="windows-path-elsewhere"),
    ],
)
def test_the_folder_is_said_or_where_the_hook_was_started(
    fields: dict[str, Any], environ: dict[str, str], expected: str
) -> None:
    assert request(environ=environ, **fields).directory == Path(expected)


@pytest.mark.parametrize("fields", [
    pytest.param({"agent_id": "child-7", "agent_type": "worker"}, id="codex"),
    pytest.param({"agentId": "child-7"}, id="camel"),
    pytest.param({"origin": {"kind": "task-notification"}}, id="origin"),
])  # fmt: skip
def test_what_an_agent_or_the_program_asks_is_no_prompt(hook: Hook, memory: Engram, fields: dict[str, Any]) -> None:
    hook("user-prompt", agent="codex", prompt="You are a worker. Read every parser of the tree", **fields)
    hook("user-prompt", agent="codex", prompt="Show the delays of the ferries in red", agent_type="reviewer")

    assert prompts_of(memory) == ["Show the delays of the ferries in red"]


@pytest.mark.parametrize("session_id", ["x" * 300, "a\nb", "a\0b", "\ud800", "\x1b[2J", "  "])
def test_a_session_id_that_is_no_name_becomes_one(session_id: str) -> None:
    found = request(session_id=session_id).session_id

    assert found == request(session_id=session_id).session_id
    assert found.isprintable()
    assert 0 < len(found) <= 200


def test_an_agent_without_session_ids_has_one_for_each_folder() -> None:
    first, same, other = (request("kiro", cwd=folder).session_id for folder in ("/a", "/a", "/b"))

    assert first == same != other
    assert first.startswith("kiro-")


@pytest.mark.parametrize(
    ("tool", "given", "files"),
    [
        ("Edit", {"file_path": "/w/a.py"}, ("/w/a.py",)),
        ("NotebookEdit", {"notebook_path": "/w/a.ipynb"}, ("/w/a.ipynb",)),
        ("write_file", {"file_path": "a.py"}, ("a.py",)),
        ("editFiles", {"files": ["a.py", "b.py"]}, ("a.py", "b.py")),
        (
            "apply_patch",
            {"command": "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b.py\n"},
            ("a.py", "b.py"),
        ),
        ("Read", {"file_path": "/w/a.py"}, ()),
        ("Bash", {"command": "rm a.py"}, ()),
        ("Edit", {"file_path": 7}, ()),
        ("Edit", None, ()),
    ],
)
def test_the_files_a_tool_is_about_to_write_are_known(tool: str, given: object, files: tuple[str, ...]) -> None:
    assert request(tool_name=tool, tool_input=given).act.files == files


def test_a_byte_order_mark_and_windows_line_ends_are_no_obstacle() -> None:
    assert loaded(b'\xef\xbb\xbf{"a":\r\n1}\r\n') == {"a": 1}


@pytest.mark.parametrize(
    "words",
    [
        ["stop", "--agent", "codex", "--limit-ms", "700"],
        ["--agent=codex", "--limit-ms=700", "stop"],
        ["stop", "--unknown", "--agent=codex", "--limit-ms=700"],
    ],
)
def test_arguments_come_in_any_order(words: list[str]) -> None:
    found = arguments(words)

    assert (found.event, found.agent, found.limit_ms) == ("stop", "codex", 700)


@pytest.mark.parametrize("words", [[], ["--agent"], ["--limit-ms", "x"], ["--limit-ms", "9" * 50], ["-x", "--", "\0"]])
def test_no_arguments_are_wrong_enough_to_refuse(words: list[str]) -> None:
    assert arguments(words).limit_ms == 0


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
    (data_dir / "engram.db").unlink()
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


def test_claude_code_registers_and_reports_tools_by_the_names_of_engrams_plugin(hook: Hook, memory: Engram) -> None:
    assert bound(hook, "claude-session-register") == {"id": "s1"}
    assert memory.sessions.get("s1").agent == "claude-code"
    assert arguments(["claude-post-tool-use"]).agent == "claude-code"
    assert event_named(arguments(["claude-post-tool-use"]).event) == "post-tool"


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
