"""What hosts say of a tool call (shared/spec/hosts.md) is one act and one outcome."""

import json
from pathlib import Path
from typing import Any

import pytest

from engram_py.base.capture.acts import MOST_FILES, MOST_TEXT_CHARS, Act, act_of, outcome_of

PATCH = """*** Begin Patch
*** Update File: a.py
@@
-import requests
+import httpx
*** Add File: b.py
+x = 1
*** End Patch"""


@pytest.mark.parametrize(
    ("tool", "given", "act"),
    [
        ("Bash", {"command": "npm test", "description": "run"}, Act(command="npm test")),
        ("run_shell_command", {"command": "ls"}, Act(command="ls")),
        ("exec_command", {"cmd": "cargo build"}, Act(command="cargo build")),
        ("shell", {"command": ["bash", "-lc", "make && make test"]}, Act(command="make && make test")),
        ("Read", {"file_path": "/a.py"}, Act()),
        ("Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "y"}, Act("", ("/a.py",), "y", "x")),
        ("Write", {"file_path": "/a.py", "content": "all"}, Act(files=("/a.py",), added="all")),
        (
            "MultiEdit",
            {"file_path": "/a", "edits": [{"old_string": "1", "new_string": "2"}, {"new_string": "3"}]},
            Act("", ("/a",), "2\n3", "1"),
        ),
        ("replace", {"absolute_path": "/a", "old_string": "x", "new_string": "y"}, Act("", ("/a",), "y", "x")),
        ("apply_patch", {"command": PATCH}, Act("", ("a.py", "b.py"), "import httpx\nx = 1", "import requests")),
        ("apply_patch", PATCH, Act("", ("a.py", "b.py"), "import httpx\nx = 1", "import requests")),
        ("Bash", {"command": 3}, Act()),
        ("Bash", None, Act()),
        ("Edit", {"file_path": "  "}, Act()),
    ],
)
def test_every_spelling_of_a_call_is_one_act(tool: str, given: Any, act: Act) -> None:
    assert act_of(tool, given) == act


def test_claude_code_says_by_the_event_that_a_command_failed() -> None:
    outcome = outcome_of({"error": "Exit code 3\nmissing: x\n"}, failed=True)
    assert (outcome.failed, outcome.output) == (True, "Exit code 3\nmissing: x\n")
    done = {"stdout": "3", "stderr": "", "interrupted": False}
    assert outcome_of({"tool_response": done, "tool_use_id": "toolu_1"}, failed=None).failed is False
    assert outcome_of({"tool_response": done | {"interrupted": True}}, failed=None).failed is None


def test_gemini_says_it_by_a_line_that_stands_there_where_the_code_is_not_0() -> None:
    said = "<untrusted_context>\nOutput: no\nExit Code: 3\nProcess Group PGID: 7\n</untrusted_context>"
    assert outcome_of({"tool_response": {"llmContent": said}}, failed=None).failed is True
    assert outcome_of({"tool_response": {"llmContent": "Output: fine"}}, failed=None).failed is False


@pytest.mark.parametrize("code", [0, 3])
def test_codex_says_it_in_its_rollout_alone(tmp_path: Path, code: int) -> None:
    item = {"type": "CommandExecution", "id": "call_7", "exit_code": code, "aggregated_output": "all of it"}
    rollout = tmp_path / "rollout.jsonl"
    lines = [{"payload": {"item": {"id": "call_6", "exit_code": 1}}}, {"payload": {"item": item}}]
    rollout.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{ half")
    value = {"transcript_path": str(rollout), "tool_use_id": "call_7", "tool_response": "the end"}
    outcome = outcome_of(value, failed=None)
    assert (outcome.failed, outcome.output) == (bool(code), "all of it")
    assert outcome_of(value | {"tool_use_id": "call_8"}, failed=None).failed is None


def test_a_host_that_does_not_say_leaves_it_open() -> None:
    assert outcome_of({"tool_response": "done"}, failed=None).failed is None
    assert outcome_of({}, failed=None).failed is None


def test_long_inputs_are_cut_and_text_is_made_storable() -> None:
    assert len(act_of("Write", {"path": "a", "content": "x" * 900_000}).added) == MOST_TEXT_CHARS
    assert len(act_of("edit_files", {"files": ["a"] * 900}).files) == MOST_FILES
    assert outcome_of({"error": "a\0\ud800" + "x" * 900_000}, failed=True).output == "x" * MOST_TEXT_CHARS
    assert act_of("Bash", {"command": "a\0b\ud800"}).command == "a b?"
