"""What an agent is told before it edits a file, where somebody turned that on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Engram
from tests.interfaces.hooks.conftest import Hook
from tests.memory import Git, draft

ON = {"ENGRAM_HOOK_PRETOOL": "on"}


@pytest.fixture
def repository(folder: Path) -> Path:
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text("[core]\n")
    (folder / "auth.py").write_text("LIFETIME = 15\n" * 5)
    return folder


@pytest.fixture
def anchored(repository: Path, memory: Engram) -> int:
    return memory.save(draft("Fifteen minutes, because of the audit.", title="Token lifetime", files=("auth.py",))).id


def edit(hook: Hook, path: str, environ: dict[str, str] | None = None, *options: str) -> str:
    answered = hook(
        "PreToolUse", *options, environ=environ, tool_name="Edit", tool_input={"file_path": path, "new_string": "x"}
    )
    assert answered.code == 0
    return answered.context


def test_it_is_off_unless_somebody_turns_it_on(hook: Hook, repository: Path, anchored: int) -> None:
    assert edit(hook, str(repository / "auth.py")) == ""


@pytest.mark.parametrize("way", ["variable", "option"])
def test_the_memories_of_a_file_come_before_its_edit(hook: Hook, repository: Path, anchored: int, way: str) -> None:
    environ, options = (ON, []) if way == "variable" else (None, ["--pretool", "on"])

    context = edit(hook, str(repository / "auth.py"), environ, *options)

    assert f"[#{anchored}] Token lifetime" in context
    assert len(context.encode()) <= 800
    assert edit(hook, str(repository / "auth.py"), environ, *options) == "", "once a session"


def test_a_changed_file_is_said_to_have_changed(hook: Hook, repository: Path, anchored: int) -> None:
    (repository / "auth.py").write_text("LIFETIME = 60\n")

    assert "auth.py changed" in edit(hook, str(repository / "auth.py"), ON)


@pytest.mark.parametrize("name", ["other.py", "../outside.py", "/etc/passwd", "C:\\x\\auth.pyx", "a\0b", "x" * 5_000])
def test_a_file_that_nothing_is_about_gets_nothing(hook: Hook, repository: Path, anchored: int, name: str) -> None:
    assert edit(hook, name, ON) == ""


def test_reading_a_file_is_no_edit(hook: Hook, repository: Path, anchored: int) -> None:
    answered = hook("pre-tool", environ=ON, tool_name="Read", tool_input={"file_path": str(repository / "auth.py")})

    assert answered.stdout == b""


@pytest.fixture
def renamed(folder: Path, memory: Engram, git: Git) -> int:
    """A memory of auth.py, which was renamed and rewritten since, and then something else was committed."""
    git(folder, "init", "-q", "-b", "main")
    lines = [f"line {number} of the login\n" for number in range(40)]
    (folder / "auth.py").write_text("".join(lines))
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "auth")
    saved = memory.save(draft("Fifteen minutes, because of the audit.", title="Token lifetime", files=("auth.py",)))
    git(folder, "mv", "auth.py", "identity.py")
    (folder / "identity.py").write_text("".join(["import os\n", *lines[1:]]))
    git(folder, "commit", "-q", "-a", "-m", "rename")
    git(folder, "commit", "-q", "--allow-empty", "-m", "something else")
    return saved.id


def test_a_file_that_was_renamed_is_found_though_nobody_searched_since_the_last_commit(
    hook: Hook, folder: Path, renamed: int, logged: Callable[[], list[str]]
) -> None:
    assert f"[#{renamed}] Token lifetime" in edit(hook, str(folder / "identity.py"), ON)
    assert logged() == []


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_a_git_that_is_too_slow_is_in_the_log_and_costs_it_once(
    hook: Hook, folder: Path, renamed: int, logged: Callable[[], list[str]], tmp_path: Path
) -> None:
    stand_in = tmp_path / "bin" / "git"
    stand_in.parent.mkdir()
    stand_in.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\nexec sleep 600\n")
    stand_in.chmod(0o755)
    environ = ON | {"PATH": f"{stand_in.parent}{os.pathsep}{os.environ['PATH']}"}

    assert edit(hook, str(folder / "identity.py"), environ) == ""
    assert edit(hook, str(folder / "identity.py"), environ) == ""

    assert logged() == ["git_slow"]
    assert (tmp_path / "asked").read_text().count("asked") == 1
