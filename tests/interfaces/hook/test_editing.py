"""What an agent is told before it edits a file, where somebody turned that on."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Engram
from tests.interfaces.hook.conftest import Hook
from tests.services.conftest import draft

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


def test_they_come_once_a_session(hook: Hook, repository: Path, anchored: int) -> None:
    assert edit(hook, str(repository / "auth.py"), ON)
    assert edit(hook, str(repository / "auth.py"), ON) == ""


def test_a_changed_file_is_said_to_have_changed(hook: Hook, repository: Path, anchored: int) -> None:
    (repository / "auth.py").write_text("LIFETIME = 60\n")

    assert "auth.py changed" in edit(hook, str(repository / "auth.py"), ON)


@pytest.mark.parametrize("name", ["other.py", "../outside.py", "/etc/passwd", "C:\\x\\auth.pyx", "a\0b", "x" * 5_000])
def test_a_file_that_nothing_is_about_gets_nothing(hook: Hook, repository: Path, anchored: int, name: str) -> None:
    assert edit(hook, name, ON) == ""


def test_reading_a_file_is_no_edit(hook: Hook, repository: Path, anchored: int) -> None:
    answered = hook("pre-tool", environ=ON, tool_name="Read", tool_input={"file_path": str(repository / "auth.py")})

    assert answered.stdout == b""
