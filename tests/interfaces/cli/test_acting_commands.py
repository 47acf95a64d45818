"""``engram guard``, ``check --staged``, ``fixes`` and ``why --failure``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Run, Start, answer, refusal
from tests.support import Git


@pytest.fixture
def decided(run: Run) -> Run:
    run("save", "HTTP client", "httpx, for async.", "--type", "decision")
    return run


def test_a_guard_is_added_listed_silenced_and_removed(decided: Run) -> None:
    added = decided("guard", "add", "1", "--command", "npm *", "--use", "pnpm")
    assert '[#1] "HTTP client" (warns): no `npm *`; use pnpm.' in added.stdout

    assert "1. no `npm *`; use pnpm (warns" in decided("guard").stdout
    [line] = answer(decided("guard", "list", "--json"))["guards"]
    assert (line["id"], line["rule"]["command"], line["fired"]) == (1, "npm *", 0)

    assert "is off in session manual-save-widgets" in decided("guard", "off", "1").stdout
    assert "is on in every session again" in decided("guard", "on", "1").stdout
    assert "Removed every guard" in decided("guard", "remove", "1").stdout
    assert decided("guard").stdout.strip() == "No guards"


def test_a_guard_for_everything_is_refused(decided: Run) -> None:
    assert "guard_too_wide" in refusal(decided("guard", "add", "1", "--path", "**"))
    assert "no_guard" in refusal(decided("guard", "accept", "1"))


def test_a_check_of_staged_changes_exits_with_1_where_a_decision_is_broken(
    decided: Run, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path.cwd()
    git(folder, "init", "-q")
    decided("guard", "add", "1", "--added", "import requests", "--in", "*.py", "--use", "httpx")
    (folder / "a.py").write_text("import os\n", encoding="utf-8")
    git(folder, "add", "-A")
    clean = decided("check", "--staged")
    assert (clean.exit_code, clean.stdout) == (0, "No guard is violated (1 guard, 1 file checked).\n")

    (folder / "a.py").write_text("import os\nimport requests\n", encoding="utf-8")
    git(folder, "add", "-A")
    found = decided("check", "--staged")
    assert found.exit_code == 1
    assert found.stdout.startswith('a.py:2: "HTTP client" (decision #1')
    assert ": use httpx\n" in found.stdout
    assert decided("check", "a.py", "--format", "github").stdout.startswith("::warning file=a.py,line=2,")
    assert json.loads(decided("check", "--staged", "--format", "sarif").stdout)["version"] == "2.1.0"
    assert json.loads(decided("check", "--staged", "--json").stdout)["found"][0]["line"] == 2


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
