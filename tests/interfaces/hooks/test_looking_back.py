"""What an agent leaves behind at the end of a turn, before a compaction, and at the end of a session."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Engram
from tests.interfaces.hooks.conftest import Hook
from tests.memory import draft, rows_of

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
