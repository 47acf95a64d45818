"""A session that saved nothing leaves its summary: at its end, or when the next one starts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Engram
from tests.interfaces.hooks.conftest import Hook
from tests.memory import Git, draft

PROMPT = "Make the login form refuse an empty password, and write a test for it."
SAID = "The form refuses it now.\n\n## Decisions\n- Refuse an empty password in the form, not in the API\n"


@pytest.fixture
def transcript(home: Path) -> Path:
    path = home / ".claude" / "projects" / "widgets" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("w") as file:
        for number, (role, text) in enumerate((("user", PROMPT), ("assistant", SAID))):
            message = {"role": role, "content": text}
            file.write(json.dumps({"type": role, "uuid": f"u{number}", "message": message}) + "\n")
    return path


@pytest.fixture
def repository(folder: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Path:
    git(folder, "init", "-q")
    with monkeypatch.context() as patch:
        patch.setenv("GIT_COMMITTER_DATE", "2026-01-02T10:00:00Z")
        git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


Commit = Callable[[], None]


@pytest.fixture
def commit(repository: Path, git: Git) -> Commit:
    """Changes a file and commits that as "Refuse an empty password"."""

    def committed() -> None:
        (repository / "form.py").write_text("# refuses")
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "-m", "Refuse an empty password")

    return committed


def summary(memory: Engram) -> str:
    """The summary of session s1, waited for: nobody told when it is there."""
    sql = "select content from observations where type = 'session_summary' and session_id = 's1'"
    pause = threading.Event()
    for _ in range(600):
        if found := memory.store.value(sql):
            return str(found)
        pause.wait(0.05)
    raise AssertionError("there is no summary")


def test_the_end_of_a_session_leaves_its_summary(hook: Hook, memory: Engram, transcript: Path, commit: Commit) -> None:
    hook("session-start")
    hook("user-prompt", prompt=PROMPT)
    commit()
    hook("session-end", transcript_path=str(transcript), reason="exit")

    text = summary(memory)

    assert "Refuse an empty password" in text
    assert PROMPT in text
    assert "not in the API" in text
    assert memory.sessions.get("s1").ended_at is not None


def test_row_83_the_start_of_the_next_session_shows_what_a_dead_one_did(
    hook: Hook, transcript: Path, commit: Commit
) -> None:
    hook("session-start")
    hook("user-prompt", prompt=PROMPT)
    commit()
    hook("stop", transcript_path=str(transcript))

    started = hook("session-start", session_id="s2")

    assert "Refuse an empty password" in started.context
    assert started.seconds < 5


@pytest.mark.parametrize(
    ("event", "variable"),
    [
        ("session-start", {"ENGRAM_DISTILL": "manual"}),
        ("session-start", {"ENGRAM_DISTILL": "off"}),
        ("session-start", {"ENGRAM_INJECT": "off"}),
        ("user-prompt", {}),
    ],
)
def test_row_74_nothing_is_distilled_by_a_prompt_or_where_the_user_does_not_want_it(
    hook: Hook, memory: Engram, transcript: Path, event: str, variable: dict[str, str]
) -> None:
    hook("stop", transcript_path=str(transcript))
    hook(event, session_id="s2", prompt="What do we do next with the login form?", environ=variable)
    assert memory.store.value("select count(*) from observations") == 0


# --- the reminder -----------------------------------------------------------------------------------------


def reminder(hook: Hook, **more: object) -> str:
    """What Claude Code is told when it wants to stop; "" where it may."""
    out = hook("stop", last_assistant_message="It is done.", **more).stdout
    if not out:
        return ""
    told = json.loads(out)
    assert told["decision"] == "block"
    return str(told["reason"])


def test_an_agent_that_changed_files_and_saved_nothing_is_reminded_once(hook: Hook, commit: Commit) -> None:
    hook("session-start")
    assert reminder(hook) == "", "nothing changed yet"
    commit()

    assert "mem_session_summary" in reminder(hook)
    assert reminder(hook) == ""


def test_an_agent_that_saved_something_is_not_reminded(hook: Hook, memory: Engram, commit: Commit) -> None:
    hook("session-start")
    commit()
    memory.save(draft("Refuse it in the form."), project="widgets", session_id="mcp-of-its-own")

    assert reminder(hook) == ""


@pytest.mark.parametrize(
    "variable",
    [{"ENGRAM_HOOK_NUDGE": "off"}, {"ENGRAM_INJECT": "off"}, {"ENGRAM_RECORD": "off"}, {"ENGRAM_ENABLED": "off"}],
)
def test_nobody_is_reminded_where_the_user_switched_it_off(
    hook: Hook, commit: Commit, variable: dict[str, str]
) -> None:
    hook("session-start")
    commit()

    assert reminder(hook, environ=variable) == ""


def test_an_agent_that_would_not_read_it_is_not_reminded(hook: Hook, commit: Commit) -> None:
    hook("session-start")
    commit()

    assert hook("AfterAgent", agent="gemini", prompt_response="Done.").stdout == b""


def test_without_a_repository_nobody_is_reminded(hook: Hook) -> None:
    hook("session-start")
    assert reminder(hook) == ""
