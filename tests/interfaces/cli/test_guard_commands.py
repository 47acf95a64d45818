"""``engram guard`` and ``engram check --staged``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Run, answer
from tests.memory import Git


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
