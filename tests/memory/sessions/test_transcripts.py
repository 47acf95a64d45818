"""Transcripts of each agent as they grow, are cut, replaced or half written."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.base.times import to_text
from engram_py.memory.sessions import transcripts
from engram_py.memory.sessions.citations import cited_ids
from engram_py.memory.sessions.transcript_formats import TURN_LIMIT_CHARS, turns_of_document, turns_of_line
from engram_py.memory.sessions.transcripts import Transcripts
from engram_py.memory.sessions.values import TranscriptMissingError, TranscriptReading, TranscriptRefusedError
from tests.support import Opener, draft, rows_of


def said(number: int, text: str = "", role: str = "assistant") -> str:
    message = {"role": role, "content": [{"type": "text", "text": text or f"message {number}"}]}
    return json.dumps({"type": role, "uuid": f"uuid-{number}", "message": message}) + "\n"


ALIKE = said(1, "long " * 1_000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def reader(app: Engram) -> Transcripts:
    root = Path(os.path.realpath(app.settings.data_dir.parent))
    return Transcripts(app.store, app.journal, app.citations, roots=[root])


def read(app: Engram, path: Path | str, text: str = "", *, until: float | None = None) -> TranscriptReading:
    """Read a file, after this text is written to it."""
    if text:
        Path(path).write_text(text)
    app.sessions.start("s1", project="widgets")
    return reader(app).read(str(path), session_id="s1", project="widgets", until=until)


def texts(app: Engram) -> list[str]:
    return [turn.content for turn in app.transcripts.turns("s1")]


def test_only_what_is_new_is_read(app: Engram, path: Path) -> None:
    first = read(app, path, said(1) + said(2))
    with path.open("a") as file:
        file.write(said(3))

    second = read(app, path)

    assert (first.added, second.added) == (2, 1)
    assert second.bytes_read == len(said(3))
    assert read(app, path).bytes_read == 0
    assert texts(app) == ["message 1", "message 2", "message 3"]


def test_a_line_that_is_being_written_waits_for_its_end(app: Engram, path: Path) -> None:
    assert read(app, path, said(1) + said(2)[:20]).added == 1
    assert read(app, path, said(1) + said(2)).added == 1
    assert texts(app) == ["message 1", "message 2"]


@pytest.mark.parametrize(("way", "beginning"), [
    ("cut", ""), ("replaced", ""), ("rewritten", ""), ("cut", ALIKE), ("replaced", ALIKE),
], ids=["cut", "replaced", "rewritten", "cut-that-begins-alike", "replaced-that-begins-alike"])  # fmt: skip
def test_a_file_that_began_anew_is_read_from_its_beginning(app: Engram, path: Path, way: str, beginning: str) -> None:
    path.write_text((beginning or said(1)) + said(2) + said(3))
    read(app, path)
    written = path.with_name("other") if way == "replaced" else path
    written.write_text(beginning + said(4) + (said(5) * 9 if way != "cut" else ""))
    written.replace(path)

    assert "uuid-4" in {turn.key for turn in read(app, path).turns}


def test_reading_the_same_again_adds_nothing(app: Engram, path: Path) -> None:
    row = app.save(draft("Tokens live 15 minutes.")).id
    read(app, path, said(1, f"See [#{row}]."))
    copy = path.with_name("copy.jsonl")
    copy.write_text(path.read_text())

    again = read(app, copy)

    assert (again.added, again.cited) == (0, 0)
    assert rows_of(app, "turns") == 1
    assert app.store.value("select times from citations") == 1


def dated(app: Engram, number: int, text: str, *, hours: int = -1, **more: Any) -> str:
    at = to_text(app.journal.moment() + timedelta(hours=hours))
    return json.dumps(json.loads(said(number, text, "user")) | {"timestamp": at} | more) + "\n"


@pytest.mark.parametrize("way", ["the-same-name", "a-name-of-its-own"])
def test_what_a_fork_copied_stays_with_the_session_it_left(app: Engram, path: Path, way: str) -> None:
    asked = "Number the invoices by a sequence"
    origin = {"forkedFrom": {"sessionId": "s1", "messageUuid": "uuid-1"}}
    forked: dict[str, Any] = origin if way == "a-name-of-its-own" else {}
    read(app, path, dated(app, 1, asked))
    copy = path.with_name("fork.jsonl")
    copy.write_text(dated(app, 9 if forked else 1, asked, **forked) + dated(app, 2, "Now red"))
    app.sessions.start("s2", project="widgets")

    assert reader(app).read(str(copy), session_id="s2", project="widgets").added == 1
    assert [turn.content for turn in app.transcripts.turns("s2")] == ["Now red"]
    assert texts(app) == [asked]


@pytest.mark.parametrize(("text", "hours"), [("Now red", -1), ("Go on with it", 1)])
def test_what_only_has_the_name_of_another_sessions_turn_is_kept(
    app: Engram, path: Path, text: str, hours: int
) -> None:
    read(app, path, dated(app, 1, "Go on with it"))
    other = path.with_name("other.jsonl")
    other.write_text(dated(app, 1, text, hours=hours))
    app.sessions.start("s2", project="widgets")

    assert reader(app).read(str(other), session_id="s2", project="widgets").added == 1


def test_a_huge_file_seen_first_is_read_near_its_end(app: Engram, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "FIRST_SIGHT_BYTES", 1_000)
    path.write_text("".join(said(number) for number in range(1_000)))

    found = read(app, path)

    assert found.skipped > 0
    assert 0 < found.added < 15
    assert texts(app)[-1] == "message 999"
    assert texts(app)[0].startswith("message 99")


def test_200_megabytes_cost_what_is_new_in_them(app: Engram, path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(200 * 1024 * 1024)
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
    read(app, path)  # zeros: none of them is a line of JSON
    with path.open("a") as file:
        file.write(said(1))

    found = read(app, path)

    assert (found.added, found.bytes_read) == (1, len(said(1)))


def test_what_one_look_has_no_time_for_is_left_to_the_next(app: Engram, path: Path) -> None:
    path.write_text(said(1) + said(2))
    late = read(app, path, until=time.monotonic() - 1)
    assert (late.added, late.more) == (0, True)
    assert read(app, path).added == 2


def test_a_line_of_many_megabytes_is_passed_over(app: Engram, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "_LONGEST_LINE", 1_000)
    assert read(app, path, said(1) + said(2, "x" * 5_000) + said(3)).added == 2
    assert texts(app) == ["message 1", "message 3"]


def test_citations_of_the_agent_count_and_those_of_the_user_do_not(app: Engram, path: Path) -> None:
    one, two = (app.save(draft(text, title=text)).id for text in ("First thing kept", "Second thing kept"))
    app.sessions.start("s1", project="widgets")
    app.citations.inject("s1", {one: 50}, "session")
    path.write_text(said(1, f"As [#{one}] says, and [#{two}] and [#99].") + said(2, f"[#{one}]?", role="user"))

    assert read(app, path).cited == 2
    found = app.store.rows("select observation_id, times, injected from citations order by observation_id")
    assert [tuple(row) for row in found] == [(one, 1, 1), (two, 1, 0)]


def test_a_secret_in_a_transcript_is_in_no_byte_of_the_database(app: Engram, path: Path, data_dir: Path) -> None:
    secret = "gh" + "p_" + "q7Wm2Zx9Kd4Rt8Vb1Nc6Hy3Jf5Lg0PsAbCdE"[:36]
    read(app, path, said(1, f"the token is {secret} and " + "x " * 7_000 + secret, role="user"))
    app.close()
    assert all(secret.encode() not in file.read_bytes() for file in data_dir.iterdir() if file.is_file())


def test_a_turn_is_cut_and_the_oldest_are_dropped(app: Engram, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "MOST_TURNS", 3)
    path.write_text("".join(said(number, f"{number} " + "long " * 4_000) for number in range(6)))
    read(app, path)
    assert [text[:2] for text in texts(app)] == ["3 ", "4 ", "5 "]
    assert max(map(len, texts(app))) <= TURN_LIMIT_CHARS


def test_a_prompt_that_is_destroyed_is_forgotten_as_a_turn(app: Engram, path: Path) -> None:
    app.sessions.start("s1", project="widgets")
    long = "my private wish " * 1_000
    prompts = [app.prompts.save(text, session_id="s1").id for text in ("a wish", long)]
    read(app, path, said(1, "a wish", role="user") + said(2, long, role="user") + said(3, "a wis", role="user"))

    for prompt in prompts:
        app.prompts.delete(prompt)

    assert texts(app) == ["a wis"]


def test_turns_follow_their_session_into_another_project(app: Engram, path: Path) -> None:
    read(app, path, said(1))
    app.merging.merge(["widgets"], into="gadgets")
    assert app.store.value("select project from turns") == "gadgets"


def test_turns_leave_with_their_session_and_with_no_export(app: Engram, path: Path) -> None:
    read(app, path, said(1, "said in passing"))
    assert "said in passing" not in json.dumps(app.transfer.document())
    app.sessions.delete("s1")
    assert rows_of(app, "turns") == rows_of(app, "transcripts") == 0


def test_nothing_of_a_transcript_is_queued_for_other_machines(app: Engram, path: Path) -> None:
    app.sessions.start("s1", project="widgets")
    before = rows_of(app, "sync_mutations")
    read(app, path, said(1))
    assert rows_of(app, "sync_mutations") == before


def test_a_document_that_is_written_anew_adds_its_new_messages(app: Engram, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    messages = [{"type": "user", "id": "1", "content": "Fix it"}]
    path.write_text(json.dumps({"messages": messages}))
    read(app, path)
    messages.append({"type": "gemini", "id": "2", "content": "Done."})
    path.write_text(json.dumps({"messages": messages}))

    assert read(app, path).added == 1
    assert texts(app) == ["Fix it", "Done."]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs are of POSIX")
@pytest.mark.parametrize("kind", ["fifo", "folder", "loop", "outside", "suffix", "device", "nul", "symlink-outside"])
def test_what_is_no_transcript_of_an_agent_is_refused(app: Engram, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.jsonl"
    outside = tmp_path.parent / f"{tmp_path.name}-outside.jsonl"
    outside.write_text(said(1))
    (tmp_path / "x.db").write_text(said(1))
    make: dict[str, Callable[[], object]] = {
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "loop": lambda: path.symlink_to(path),
        "symlink-outside": lambda: path.symlink_to(outside),
    }
    named: dict[str, Path | str] = {
        "outside": outside,
        "suffix": tmp_path / "x.db",
        "device": "/dev/zero",
        "nul": "/home/x\0.jsonl",
    }
    if kind in make:
        make[kind]()

    with pytest.raises(TranscriptRefusedError):
        read(app, named.get(kind, path))
    assert rows_of(app, "turns") == 0


def test_a_transcript_that_is_not_there_is_missing(app: Engram, path: Path) -> None:
    with pytest.raises(TranscriptMissingError):
        read(app, path)


def test_two_that_read_at_once_add_every_turn_once(open_memory: Opener, path: Path) -> None:
    one, other = open_memory(), open_memory()
    path.write_text(said(1) + said(2))
    read(one, path)
    path.write_text(said(1) + said(2) + said(3))

    assert read(one, path).added + read(other, path).added == 1
    assert rows_of(one, "turns") == 3


def test_what_is_learned_from_is_not_read_before_it_was_learned(app: Engram, path: Path) -> None:
    path.write_text(said(1) + said(2, role="user"))
    read(app, path.parent / path.name)  # the session, and the reader
    path.write_text(said(3) + said(4))
    heard: list[str] = []

    def killed(text: str) -> None:
        heard.append(text)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reader(app).read(str(path), session_id="s1", project="widgets", learn=killed)
    reader(app).read(str(path), session_id="s1", project="widgets", learn=heard.append)

    assert heard == ["message 3", "message 3", "message 4"]


@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_what_takes_too_long_is_read_a_slice_at_a_time(
    app: Engram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(transcripts, "SLICE_TURNS", 2)
    late = iter([False] * (6 if kind == "jsonl" else 1) + [True])  # each line looks at the clock, and each slice
    monkeypatch.setattr(transcripts, "_is_late", lambda until: until is not None and next(late, True))
    path = tmp_path / f"s.{kind}"
    messages = [{"type": "user", "id": str(number), "content": f"word {number}"} for number in range(5)]
    path.write_text(
        json.dumps({"messages": messages}) if kind == "json" else "".join(said(number) for number in range(5))
    )

    first = read(app, path, until=time.monotonic() + 60)
    assert 0 < first.added < 5
    assert first.more

    rest = read(app, path)
    assert (first.added + rest.added, rest.more, len(texts(app))) == (5, False, 5)


def test_half_of_a_secret_is_not_kept_however_the_cut_is_moved(app: Engram, path: Path) -> None:
    secret = "correct-horse-battery-9931-staple"
    for number, length in enumerate((2 * TURN_LIMIT_CHARS, TURN_LIMIT_CHARS + 8_192)):
        hidden = "<private>" + "x" * 12_000 + "</private> "
        start = "postgres://ada:" + secret[:25]
        text = hidden + "w " * ((length - len(hidden) - len(start)) // 2) + start + secret[25:] + "@db/x"
        path.write_text(said(number, text, role="user"))
        read(app, path)

    assert len(texts(app)) == 2
    assert not any("correct" in text for text in texts(app))


def line(**value: Any) -> str:
    return json.dumps(value)


THOUGHT = {"type": "thinking", "thinking": "hm"}
SAID = {"type": "text", "text": "Done, see [#3]."}
PROMPT = {"role": "user", "content": "The watcher reports three failures"}
TOOL_USE = {"type": "tool_use", "name": "Edit", "input": {"text": "no"}}
OUTPUT = {"type": "output_text", "text": "Done."}
INTERRUPTED = {"type": "text", "text": "[Request interrupted by user for tool use]"}
CURSOR = "<timestamp>Wednesday</timestamp>\n<attached_files>x</attached_files>\n<user_query>\nFix it\n</user_query>"
CODEX_ITEM = {"type": "UserMessage", "id": "u1", "content": [{"type": "text", "text": "Fix it", "text_elements": []}]}
GEMINI_HOOK = {"text": "<hook_context>&lt;engram-memory&gt;</hook_context>"}
PARTS = [{"text": "hm", "thought": True}, {"text": "Done."}]

SPOKEN = [
    pytest.param(
        line(type="user", uuid="u1", timestamp="2026-03-01T10:00:00Z", message={"role": "user", "content": "Fix it"}),
        ("user", "Fix it", "u1"),
        id="claude-code-user",
    ),
    pytest.param(
        line(type="assistant", uuid="a1", message={"role": "assistant", "content": [THOUGHT, SAID, TOOL_USE]}),
        ("assistant", "Done, see [#3].", "a1"),
        id="claude-code-assistant",
    ),
    pytest.param(
        line(type="event_msg", payload={"type": "user_message", "message": "Fix it"}),
        ("user", "Fix it", None),
        id="codex-user",
    ),
    pytest.param(
        line(type="event_msg", payload={"type": "item_completed", "item": CODEX_ITEM}),
        ("user", "Fix it", "u1"),
        id="codex-item",
    ),
    pytest.param(
        line(type="response_item", payload={"type": "message", "role": "assistant", "content": [OUTPUT]}),
        ("assistant", "Done.", None),
        id="codex-assistant",
    ),
    pytest.param(line(type="user", id="g1", content="Fix it"), ("user", "Fix it", "g1"), id="gemini-user"),
    pytest.param(
        line(type="user", id="g1", content=[{"text": "Fix it\nlong file"}], displayContent=[{"text": "Fix it"}]),
        ("user", "Fix it", "g1"),
        id="gemini-what-the-user-saw",
    ),
    pytest.param(
        line(**{"$set": {"messages": [{"id": "g1", "type": "user", "content": [GEMINI_HOOK, {"text": "Fix it"}]}]}}),
        ("user", "Fix it", "g1"),
        id="gemini-set",
    ),
    pytest.param(line(type="gemini", id="g2", content="Done."), ("assistant", "Done.", "g2"), id="gemini-assistant"),
    pytest.param(
        line(type="assistant", uuid="q1", message={"role": "model", "parts": PARTS}),
        ("assistant", "Done.", "q1"),
        id="qwen-assistant",
    ),
    pytest.param(
        line(role="user", message={"content": [{"type": "text", "text": CURSOR}]}),
        ("user", "Fix it", None),
        id="cursor",
    ),
    pytest.param(
        line(type="assistant.message", id="v1", data={"content": "Done."}), ("assistant", "Done.", "v1"), id="vscode"
    ),
]


@pytest.mark.parametrize(("text", "expected"), SPOKEN)
def test_a_line_of_any_agent_says_who_spoke_and_what(text: str, expected: tuple[str, str, str | None]) -> None:
    [turn] = turns_of_line(text)
    assert (turn.role, turn.content) == expected[:2]
    assert turn.key == expected[2] or (expected[2] is None and len(turn.key) == 32)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("[]", id="no-object"),
        pytest.param(line(type="summary", summary="x"), id="summary"),
        pytest.param(line(type="user", isMeta=True, message={"role": "user", "content": "x"}), id="meta"),
        pytest.param(line(type="user", origin={"kind": "task-notification"}, message=PROMPT), id="of-a-task"),
        pytest.param(line(type="user", promptSource="system", message=PROMPT), id="of-the-system"),
        pytest.param(line(type="user", isCompactSummary=True, message={"role": "user", "content": "x"}), id="compact"),
        pytest.param(
            line(type="user", message={"role": "user", "content": [{"type": "tool_result", "content": "x"}]}),
            id="tool-result",
        ),
        pytest.param(line(type="user", message={"role": "user", "content": "<command-name>/x"}), id="command"),
        pytest.param(line(type="user", message={"role": "user", "content": [INTERRUPTED]}), id="interrupted"),
        pytest.param(
            line(type="assistant", isApiErrorMessage=True, message={"role": "assistant", "content": "API Error"}),
            id="no-answer-of-the-model",
        ),
        pytest.param(
            line(type="user", id="g", content=[{"text": "<session_context>x</session_context>"}]), id="gemini"
        ),
        pytest.param(
            line(type="response_item", payload={"type": "message", "role": "user", "content": "injected"}),
            id="codex-injected",
        ),
        pytest.param(
            line(type="response_item", payload={"type": "function_call", "role": "assistant"}), id="codex-call"
        ),
        pytest.param(line(type=["user"], content={"text": 1}), id="wrong-types"),
        pytest.param(line(type="user", message={"role": {}, "content": 7}), id="wrong-types-inside"),
    ],
)
def test_what_nobody_said_is_no_turn(text: str) -> None:
    assert turns_of_line(text) == []


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "\x00\xff"], ids=["half", "deep", "binary"])
def test_a_line_that_is_no_json_is_not_taken_for_silence(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        turns_of_line(text)


def test_a_message_of_codex_has_the_name_that_its_copies_have() -> None:
    text = [{"type": "output_text", "text": "Done."}]
    payload = {"type": "message", "id": "msg_1", "role": "assistant", "content": text}
    [first] = turns_of_line(line(type="response_item", timestamp="2026-01-01T10:00:00Z", payload=payload))
    [copy] = turns_of_line(line(type="response_item", timestamp="2026-01-02T10:00:00Z", payload=payload))

    assert first.key == copy.key == "msg_1"


def test_a_line_is_named_by_its_words_cleaned_and_its_side_talk_and_citations_are_known() -> None:
    keys = [turn.key for text in ("one", "one", "two") for turn in turns_of_line(line(role="user", content=text))]
    assert keys[0] == keys[1] != keys[2]
    [turn] = turns_of_line('{"type": "gemini", "content": "a\\ud800b\\u0000c"}')
    assert turn.content == "a?b c"
    [turn] = turns_of_line(line(type="user", isSidechain=True, message={"role": "user", "content": "Look for it"}))
    assert turn.agent == "isSidechain"
    assert cited_ids("As [#12] says, and [#3], [#12]; not #4, [5] or [#99999999999999999999]") == [12, 3]


def test_a_transcript_that_is_one_document_gives_its_messages() -> None:
    text = json.dumps({"messages": [{"type": "user", "id": "1", "content": "Fix it"}, {"type": "info"}, "x"]})
    assert [turn.content for turn in turns_of_document(text)] == ["Fix it"]
    assert turns_of_document("{") == turns_of_document('{"messages": 3}') == turns_of_document("[1]") == []
