"""Events, agents, fields and answers in everybody's spelling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engram_py.interfaces.hooks.answers import agent_named, answer
from engram_py.interfaces.hooks.events import EVENTS, Event, event_named
from engram_py.interfaces.hooks.request import BadInput, Request, arguments, loaded, parse

HERE = Path("/home/ada/widgets")


def request(agent: str = "claude-code", environ: dict[str, str] | None = None, **fields: Any) -> Request:
    return parse(fields, agent=agent, environ=environ or {}, here=HERE)


@pytest.mark.parametrize("event", EVENTS)
def test_our_own_names_are_known(event: Event) -> None:
    assert event_named(event) == event


@pytest.mark.parametrize(
    ("spelt", "event"),
    [
        ("SessionStart", "session-start"),
        ("sessionStart", "session-start"),
        ("agentSpawn", "session-start"),
        ("TaskResume", "session-start"),
        ("UserPromptSubmit", "user-prompt"),
        ("beforeSubmitPrompt", "user-prompt"),
        ("BeforeAgent", "user-prompt"),
        ("pre_user_prompt", "user-prompt"),
        ("PreToolUse", "pre-tool"),
        ("BeforeTool", "pre-tool"),
        ("PreCompress", "pre-compact"),
        ("AfterAgent", "stop"),
        ("Stop", "stop"),
        ("post_cascade_response", "stop"),
        ("SubagentStop", "subagent-stop"),
        ("sessionEnd", "session-end"),
    ],
)
def test_agents_own_names_mean_our_events(spelt: str, event: str) -> None:
    assert event_named(spelt) == event


@pytest.mark.parametrize("name", ["", "nonsense", "stop\0", "x" * 10_000, "停"])
def test_another_name_is_none(name: str) -> None:
    assert event_named(name) in (None, "stop")


@pytest.mark.parametrize(
    ("agent", "event", "printed"),
    [
        (
            "claude-code",
            "session-start",
            {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "é"}},
        ),
        (
            "claude",
            "user-prompt",
            {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "é"}},
        ),
        (
            "codex",
            "subagent-start",
            {"hookSpecificOutput": {"hookEventName": "SubagentStart", "additionalContext": "é"}},
        ),
        ("gemini", "user-prompt", {"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "é"}}),
        ("qwen", "pre-tool", {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "é"}}),
        ("cursor", "session-start", {"additional_context": "é"}),
        ("cline", "user-prompt", {"cancel": False, "contextModification": "é"}),
        ("copilot", "session-start", {"additionalContext": "é"}),
    ],
)
def test_each_agent_gets_its_own_json(agent: str, event: Event, printed: object) -> None:
    assert json.loads(answer(agent_named(agent), event, "é")) == printed


@pytest.mark.parametrize("agent", ["kiro", "opencode", "somebody-else"])
def test_others_get_the_text_as_it_is(agent: str) -> None:
    assert answer(agent, "session-start", "é") == "é\n".encode()


@pytest.mark.parametrize(
    ("agent", "event"),
    [
        ("cursor", "user-prompt"),
        ("windsurf", "session-start"),
        ("gemini", "pre-tool"),
        ("codex", "pre-tool"),
        ("codex", "stop"),
    ],
)
def test_an_agent_that_would_not_pass_it_on_gets_nothing(agent: str, event: Event) -> None:
    assert answer(agent, event, "text") == b""


def test_nothing_to_say_is_nothing_printed() -> None:
    assert answer("claude-code", "session-start", "") == b""


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
    assert request(tool_name=tool, tool_input=given).files == files


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty_input"),
        (b" \r\n", "empty_input"),
        (b"{", "input_is_not_json"),
        (b"\xff\xfe", "input_is_not_json"),
        (b"[" * 100_000, "input_is_not_json"),
        (b"[]", "input_is_no_object"),
        (b"null", "input_is_no_object"),
    ],
)
def test_input_that_is_no_object_is_told_apart(data: bytes, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        loaded(data)


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
