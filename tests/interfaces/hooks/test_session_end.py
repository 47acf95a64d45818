"""The end of a turn, of a session and before a compaction: learnings, summaries and reminders."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.times import to_text
from tests.interfaces.hooks.conftest import Hook
from tests.support import Git, draft, rows_of

LEARNED = "Done.\n\n## Key Learnings\n\n1. The parser needs a bounded read of its standard input.\n"


@pytest.fixture
def transcript(home: Path) -> Path:
    return home / ".claude" / "projects" / "widgets" / "s1.jsonl"


def write(path: Path, *messages: tuple[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for number, (role, text) in enumerate(messages):
            key = f"{path.stat().st_size}-{number}"
            content = text if role == "user" else [{"type": "text", "text": text}]
            file.write(json.dumps({"type": role, "uuid": key, "message": {"role": role, "content": content}}) + "\n")


@pytest.mark.parametrize("event", ["stop", "subagent-stop", "session-end", "AfterAgent"])
def test_learnings_of_the_last_message_are_kept(hook: Hook, memory: Engram, event: str) -> None:
    assert hook(event, last_assistant_message=LEARNED).stdout == b""

    [row] = memory.store.rows("select * from observations")
    assert row["content"] == "The parser needs a bounded read of its standard input."
    assert (row["type"], row["session_id"], row["project"]) == ("passive", "s1", "widgets")


def test_learnings_are_kept_once_however_often_they_are_seen(hook: Hook, memory: Engram, transcript: Path) -> None:
    write(transcript, ("user", "Fix it"), ("assistant", LEARNED))

    for event in ("stop", "pre-compact", "stop", "session-end"):
        hook(event, last_assistant_message=LEARNED, transcript_path=str(transcript))

    assert rows_of(memory, "observations") == 1


def test_learnings_before_a_compaction_come_from_the_transcript(hook: Hook, memory: Engram, transcript: Path) -> None:
    write(transcript, ("user", "Fix it"), ("assistant", LEARNED), ("assistant", "And more."))

    hook("PreCompact", transcript_path=str(transcript), trigger="auto")

    assert rows_of(memory, "observations") == 1


def test_a_citation_in_the_transcript_is_counted_once(hook: Hook, memory: Engram, transcript: Path) -> None:
    row = memory.save(draft("Tokens live fifteen minutes.", type="decision")).id
    hook("session-start")
    write(transcript, ("user", f"What of [#{row}]?"), ("assistant", f"As [#{row}] says: fifteen minutes."))

    for _ in range(2):
        hook("stop", transcript_path=str(transcript), last_assistant_message=f"As [#{row}] says: fifteen minutes.")

    [cited] = memory.store.rows("select * from citations")
    assert (cited["observation_id"], cited["times"], cited["injected"]) == (row, 1, 1)
    assert memory.citations.tallies([row])[row].cited == 1


def test_without_a_transcript_the_last_message_is_what_was_said(hook: Hook, memory: Engram) -> None:
    row = memory.save(draft("Tokens live fifteen minutes.")).id

    for _ in range(2):
        hook("AfterAgent", agent="gemini", prompt="x", prompt_response=f"As [#{row}] says.")

    assert [turn.content for turn in memory.transcripts.turns("s1")] == [f"As [#{row}] says."]
    assert memory.store.value("select times from citations") == 1


def test_a_subagents_own_transcript_is_the_one_that_is_read(hook: Hook, memory: Engram, transcript: Path) -> None:
    own = transcript.with_name("agent-7.jsonl")
    write(transcript, ("assistant", "Said by the main one."))
    write(own, ("assistant", "Said by the subagent."))

    hook("subagent-stop", transcript_path=str(transcript), agent_transcript_path=str(own), agent_type="Explore")

    [turn] = memory.transcripts.turns("s1")
    assert (turn.content, turn.agent) == ("Said by the subagent.", "Explore")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs are of POSIX")
@pytest.mark.parametrize("kind", ["missing", "fifo", "folder", "loop", "outside", "zeros"])
def test_a_transcript_that_is_none_keeps_nothing_else_from_being_done(
    hook: Hook, memory: Engram, transcript: Path, logged: Callable[[], list[str]], kind: str
) -> None:
    transcript.parent.mkdir(parents=True)
    path = transcript
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
        case "outside":
            path = Path("/etc/passwd")
        case "zeros":
            path.write_bytes(bytes(3_000_000))
    hook("session-start")

    answered = hook("session-end", transcript_path=str(path), last_assistant_message=LEARNED)

    assert answered.code == 0
    assert len(memory.transcripts.turns("s1")) == (kind != "zeros")  # what the input itself says of it
    assert rows_of(memory, "observations") == 1
    assert memory.sessions.get("s1").ended_at is not None
    assert logged() == {"missing": ["transcript_missing"], "zeros": []}.get(kind, ["transcript_refused"])


def test_a_session_whose_name_looks_like_a_secret_is_one_session(
    hook: Hook, memory: Engram, transcript: Path, logged: Callable[[], list[str]]
) -> None:
    name = "gh" + "p_" + "q7Wm2Zx9Kd4Rt8Vb1Nc6Hy3Jf5Lg0PsAbCdE"[:36]
    write(transcript, ("user", "Fix it"), ("assistant", LEARNED))
    for event in ("session-start", "stop", "session-end"):
        hook(event, session_id=name, transcript_path=str(transcript))

    [session] = memory.store.rows("select id, ended_at from sessions")
    assert session["ended_at"] is not None
    assert name not in session["id"]
    assert (rows_of(memory, "turns"), logged()) == (2, [])


def test_a_transcript_in_which_no_user_is_heard_is_said_by_the_doctor(
    hook: Hook, memory: Engram, transcript: Path, logged: Callable[[], list[str]]
) -> None:
    write(transcript, ("assistant", "Done."), ("somebody", "Fix it"))
    hook("stop", transcript_path=str(transcript))

    [check] = memory.doctor.examine(check="hooks").checks
    assert logged() == ["transcript_unheard"]
    assert "transcript_unheard" in (check.safe_next_step or "")


def test_a_line_that_is_no_json_is_named_by_the_doctor_and_stops_no_other(
    hook: Hook, memory: Engram, transcript: Path, logged: Callable[[], list[str]]
) -> None:
    write(transcript, ("user", "Fix it"), ("assistant", "Done."), ("user", "Thanks, then the tests"))
    lines = transcript.read_bytes().splitlines()
    transcript.write_bytes(b"\n".join([lines[0], b"\0\0\0", lines[1][:30], *lines[1:]]) + b'\n{"type": "us')
    hook("stop", transcript_path=str(transcript))

    assert rows_of(memory, "turns") == 3
    [check] = memory.doctor.examine(check="hooks").checks
    assert logged() == ["transcript_damaged"]
    assert "transcript_damaged" in (check.safe_next_step or "")


def test_a_transcript_of_commands_alone_is_none_of_these(
    hook: Hook, transcript: Path, logged: Callable[[], list[str]]
) -> None:
    write(transcript, ("user", "<command-name>/exit</command-name>"))
    hook("session-end", transcript_path=str(transcript))
    assert logged() == []


def test_a_message_that_grows_is_kept_as_it_was_at_last(hook: Hook, memory: Engram, transcript: Path) -> None:
    transcript.parent.mkdir(parents=True)
    lines = [{"id": "u", "type": "user", "content": "Fix it"}, {"id": "g", "type": "gemini", "content": "I look"}]
    for text in ("I look.", "I look. It is the clock.", "I look. It is the clock. Done."):
        lines.append({"id": "g", "type": "gemini", "content": text})
        transcript.write_text("".join(json.dumps(one) + "\n" for one in lines))
        hook("AfterAgent", agent="gemini", transcript_path=str(transcript))

    said = [turn.content for turn in memory.transcripts.turns("s1")]
    assert said == ["Fix it", "I look. It is the clock. Done."]


PROMPT = "Make the login form refuse an empty password, and write a test for it."
SAID = "The form refuses it now.\n\n## Decisions\n- Refuse an empty password in the form, not in the API\n"


@pytest.fixture
def distilled_transcript(transcript: Path) -> Path:
    write(transcript, ("user", PROMPT), ("assistant", SAID))
    return transcript


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


def test_the_end_of_a_session_leaves_its_summary(
    hook: Hook, memory: Engram, distilled_transcript: Path, commit: Commit
) -> None:
    hook("session-start")
    hook("user-prompt", prompt=PROMPT)
    commit()
    hook("session-end", transcript_path=str(distilled_transcript), reason="exit")

    text = summary(memory)

    assert "Refuse an empty password" in text
    assert PROMPT in text
    assert "not in the API" in text
    assert memory.sessions.get("s1").ended_at is not None


def test_row_83_the_start_of_the_next_session_shows_what_a_dead_one_did(
    hook: Hook, distilled_transcript: Path, commit: Commit
) -> None:
    hook("session-start")
    hook("user-prompt", prompt=PROMPT)
    commit()
    hook("stop", transcript_path=str(distilled_transcript))

    started = hook("session-start", session_id="s2")

    assert "Refuse an empty password" in started.context
    assert started.seconds < 5


@pytest.mark.parametrize(("event", "variable"), [
    ("session-start", {"ENGRAM_DISTILL": "manual"}), ("session-start", {"ENGRAM_DISTILL": "off"}),
    ("session-start", {"ENGRAM_INJECT": "off"}), ("user-prompt", {}),
])  # fmt: skip
def test_row_74_nothing_is_distilled_by_a_prompt_or_where_the_user_does_not_want_it(
    hook: Hook, memory: Engram, distilled_transcript: Path, event: str, variable: dict[str, str]
) -> None:
    hook("stop", transcript_path=str(distilled_transcript))
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


def test_the_reminder_comes_again_after_the_cooldown_that_somebody_set(hook: Hook, commit: Commit) -> None:
    waiting = {"environ": {"ENGRAM_NUDGE_COOLDOWN_SECS": "900"}}
    hook("session-start")
    commit()
    assert reminder(hook, **waiting) != ""
    assert reminder(hook, **waiting) == ""
    later = to_text(datetime.now(UTC) + timedelta(seconds=901))
    assert reminder(hook, environ={"ENGRAM_NUDGE_COOLDOWN_SECS": "900", "ENGRAM_NOW": later}) != ""


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
