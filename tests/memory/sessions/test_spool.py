"""What hooks left behind is stored once, whoever drains, and whatever lies in the folder."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.base.settings import Settings
from engram_py.memory.sessions import spool_files as spooling
from engram_py.memory.sessions import transcripts
from engram_py.memory.sessions.spool_files import put, waiting_files
from engram_py.memory.sessions.values import TranscriptReading
from tests.support import Opener, draft, rows_of

LATER = "2026-03-01T11:00:00.000Z"  # than the sessions of these tests began


def record(content: str = "Write a parser", **fields: Any) -> dict[str, Any]:
    given = {"kind": "prompt", "session_id": "s1", "directory": "/", "agent": "codex", "source": "", "content": content}
    return given | {"at": "2026-03-01T09:00:00.000Z"} | fields


@pytest.fixture
def waits(app: Engram, data_dir: Path, folder: Path) -> Any:
    def leave(**fields: Any) -> None:
        assert put(data_dir, record(directory=str(folder), **fields))

    return leave


def test_what_waits_is_stored_in_its_session_project_and_time(app: Engram, waits: Any) -> None:
    waits(content="Write a parser")

    assert app.spool.drain() == 1
    [prompt] = app.prompts.recent("widgets")
    assert (prompt.content, prompt.session_id) == ("Write a parser", "s1")
    assert prompt.created_at == "2026-03-01T09:00:00.000Z"
    assert app.sessions.get("s1").agent == "codex"


def test_it_is_stored_once_by_however_many(open_memory: Opener, app: Engram, waits: Any) -> None:
    waits()
    other = open_memory()
    assert app.spool.drain() + other.spool.drain() == 1
    assert rows_of(app, "user_prompts") == 1


def test_a_process_that_dies_between_storing_and_removing_changes_nothing(
    app: Engram, waits: Any, monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    waits()
    waits(kind="learnings", content="## Learnings\n- The parser needs a bounded read.\n", source="stop")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", lambda self: (_ for _ in ()).throw(PermissionError()))
        app.spool.drain()
    assert len(waiting_files(data_dir)) == 2

    app.spool.drain()

    assert waiting_files(data_dir) == []
    assert (rows_of(app, "user_prompts"), rows_of(app, "observations")) == (1, 1)


def test_the_oldest_are_stored_first(app: Engram, waits: Any) -> None:
    for minute in (3, 1, 2):
        waits(content=f"prompt {minute}", at=f"2026-03-01T09:0{minute}:00.000Z")
    app.spool.drain()
    found = app.store.tuples("select content from user_prompts order by id")
    assert found == [("prompt 1",), ("prompt 2",), ("prompt 3",)]


def test_a_session_that_ended_meanwhile_stays_ended(app: Engram, waits: Any) -> None:
    app.sessions.start("s1", project="widgets")
    app.sessions.end("s1")
    waits()

    app.spool.drain()

    assert app.sessions.get("s1").ended_at is not None
    assert rows_of(app, "user_prompts") == 1


def test_the_end_of_a_session_nobody_started_is_nothing(app: Engram, waits: Any) -> None:
    waits(kind="end", content="")
    assert app.spool.drain() == 1
    assert rows_of(app, "sessions") == 0


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"kind": "prompt"}', "\x00", '{"kind": "x", "session_id": "s", "content": "c", "directory": "/"}'],
)
def test_what_cannot_be_read_is_set_aside_and_blocks_nothing(
    app: Engram, waits: Any, data_dir: Path, text: str
) -> None:
    waits()
    (data_dir / "spool" / "0.json").write_text(text)
    assert app.spool.drain() == 1
    assert waiting_files(data_dir) == []
    assert (data_dir / "spool" / "0.unreadable").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs are of POSIX")
def test_a_fifo_or_a_link_in_the_spool_holds_nobody_up(app: Engram, data_dir: Path, waits: Any) -> None:
    waits()
    os.mkfifo(data_dir / "spool" / "1.json")
    (data_dir / "spool" / "2.json").symlink_to(data_dir / "spool" / "2.json")
    assert app.spool.drain() == 1


def test_while_somebody_writes_it_goes_on_waiting(open_memory: Opener, app: Engram, waits: Any, data_dir: Path) -> None:
    waits()
    other = open_memory()
    with other.store.transaction():
        assert app.spool.drain() == 0
    assert len(waiting_files(data_dir)) == 1


def test_secrets_are_redacted_before_they_touch_the_disk(data_dir: Path) -> None:
    assert put(data_dir, record("a <private>secret</private> word"))
    [file] = waiting_files(data_dir)
    assert json.loads(file.read_text())["content"] == "a [REDACTED] word"


def test_a_full_spool_takes_no_more(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooling, "MOST_FILES", 2)
    assert [put(data_dir, record()) for _ in range(3)] == [True, True, False]


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert put(tmp_path / "file", record()) is False
    assert waiting_files(tmp_path / "file") == []


def test_a_session_that_could_not_end_has_the_rest_of_its_transcript_read(
    app: Engram, waits: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    app.sessions.start("s1", project="widgets")
    said = "Done.\n\n## Key Learnings\n- The parser needs a bounded read of its input.\n"
    line = {"type": "assistant", "uuid": "1", "message": {"role": "assistant", "content": said}}
    (tmp_path / "s1.jsonl").write_text(json.dumps(line) + "\n")
    waits(kind="end", content="", transcript=str(tmp_path / "s1.jsonl"), at=LATER)

    app.spool.drain()

    assert [turn.content for turn in app.transcripts.turns("s1")] == [said.strip()]
    assert rows_of(app, "observations") == 1
    assert app.sessions.get("s1").ended_at is not None


def test_an_end_stays_until_its_transcript_is_read_to_its_end(
    app: Engram, waits: Any, tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    app.sessions.start("s1", project="widgets")
    lines = [{"type": "user", "uuid": str(n), "message": {"role": "user", "content": f"word {n}"}} for n in range(3)]
    (tmp_path / "s1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    waits(kind="end", content="", transcript=str(tmp_path / "s1.jsonl"), at=LATER)
    with monkeypatch.context() as patched:
        patched.setattr(transcripts, "_is_late", lambda until: until is not None)
        app.spool.drain(until=1.0)

        assert (len(waiting_files(data_dir)), app.sessions.get("s1").ended_at) == (1, LATER)

    app.spool.drain()

    assert (waiting_files(data_dir), len(app.transcripts.turns("s1"))) == ([], 3)
    assert app.sessions.get("s1").ended_at == LATER


def test_a_session_that_goes_on_is_not_ended_by_what_was_late(app: Engram, waits: Any) -> None:
    app.sessions.start("s1", project="widgets")
    waits(kind="end", content="", at="2026-03-01T09:59:00.000Z")
    app.sessions.start("s1", project="widgets")
    app.spool.drain()
    assert app.sessions.get("s1").ended_at is None


def test_what_was_learned_before_an_end_does_not_keep_the_session_open(app: Engram, waits: Any) -> None:
    app.sessions.start("s1", project="widgets")
    early = "2026-03-01T08:00:00.000Z"
    with app.store.transaction():
        app.store.update("sessions", {"id": "s1"}, {"started_at": early, "updated_at": early})
    learned = "## Learnings\n- The parser needs a bounded read.\n"
    waits(kind="learnings", content=learned, source="stop", at="2026-03-01T08:59:59.000Z")
    waits(kind="end", content="", at="2026-03-01T09:00:00.000Z")

    app.spool.drain()

    assert (app.sessions.get("s1").ended_at, rows_of(app, "observations")) == ("2026-03-01T09:00:00.000Z", 1)


def test_a_prompt_goes_where_its_hook_would_have_put_it(waits: Any, data_dir: Path, folder: Path) -> None:
    waits(content="Write a parser")
    waits(content="Write a lexer", session_id="s2", project="lexers")

    with Engram(settings=Settings(data_dir, project="other"), directory=folder) as drains:
        drains.spool.drain()
        found = {prompt.content: prompt.project for prompt in drains.prompts.recent(all_projects=True)}

    assert found == {"Write a parser": "widgets", "Write a lexer": "lexers"}


def test_a_server_reads_transcripts_beside_its_work(
    app: Engram, waits: Any, data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.sessions.start("s1", project="widgets")
    waits(kind="end", content="", transcript="/t.jsonl", at=LATER)
    read, asked = threading.Event(), list[float]()
    mine = threading.current_thread()

    def look(self: object, path: str, *, until: float, **rest: Any) -> TranscriptReading:
        assert threading.current_thread() is not mine
        assert saved.wait(30)  # whoever saves does not wait for this
        asked.append(until)
        read.set()
        return TranscriptReading((), 0, 0, 0)

    saved = threading.Event()
    monkeypatch.setattr(transcripts.Transcripts, "read", look)
    with Engram(settings=Settings(data_dir), directory=folder, session_mode="process") as server:
        server.save(draft("Anything."))
        saved.set()

        assert read.wait(30)
    assert asked
    assert app.sessions.get("s1").ended_at == LATER
