"""``engram fixes`` and ``engram why --failure``, after hooks saw a command fail and pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Run, Start, answer, refusal

ERROR = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'requestz'\n"


@pytest.fixture
def fixed(run: Run, start: Start, here: Path) -> Run:
    """A session of Claude Code in which a command failed, a file was edited, and the command passed."""

    def hook(event: str, tool: str, given: dict[str, str], **more: object) -> None:
        told = {"session_id": "one", "cwd": str(here), "hook_event_name": event, "tool_name": tool, "tool_input": given}
        assert start("hook", event, "--agent", "claude-code", stdin=json.dumps(told | more).encode()).code == 0

    hook("PostToolUseFailure", "Bash", {"command": "python app.py"}, error=ERROR)
    (here / "setup.cfg").write_text("x")
    hook("PreToolUse", "Edit", {"file_path": str(here / "setup.cfg"), "old_string": "a", "new_string": "b"})
    hook("PostToolUse", "Bash", {"command": "python app.py"}, tool_response={"stdout": "ok"})
    return run


def test_fixes_are_listed_with_what_was_done(fixed: Run) -> None:
    assert "edited setup.cfg" in fixed("fixes").stdout
    [line] = answer(fixed("fixes", "--json"))["fixes"]
    assert (line["id"], line["remedies"][0]["files"]) == (1, ["setup.cfg"])


def test_why_says_what_an_agent_is_told_of_a_failure_or_why_nothing(fixed: Run) -> None:
    assert "This error was fixed before" in fixed("why", "--failure", ERROR).stdout
    assert "edited setup.cfg" in fixed("why", "--failure", "-", stdin=ERROR).stdout
    assert "No memory is about this error." in fixed("why", "--failure", ERROR.replace("requestz", "flaskz")).stdout
    assert "a failed assertion" in fixed("why", "--failure", "E   AssertionError: assert 1 == 2").stdout
    assert "PROMPT or --failure" in refusal(fixed("why"), code=2)
