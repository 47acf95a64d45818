"""Bad input to hooks: exit code 0, an empty answer, a line in the log; and the modules a hook imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.interfaces.hooks.protocol import EVENTS, MESSAGE_LIMIT_CHARS, PROMPT_LIMIT_CHARS, parse
from tests.interfaces.hooks.conftest import Hook, prompts_of
from tests.support import draft

Logged = Callable[[], list[str]]


@pytest.fixture(autouse=True)
def there(memory: Engram) -> None:
    """The memory exists already, so that what follows is about the input."""


@pytest.mark.parametrize(
    ("stdin", "reason"),
    [
        pytest.param(b" \r\n", "empty_input", id="empty"),
        pytest.param(b"\xff\xfe", "input_is_not_json", id="no-json"),
        pytest.param(b"null", "input_is_no_object", id="no-object"),
        pytest.param(b"[" * 200_000, "input_is_not_json", id="deep"),
        pytest.param(b'{"prompt": "' + b"x" * 50_000_000 + b'"}', "input_too_large", id="50-MB"),
    ],
)
def test_input_that_is_no_call_is_answered_empty(hook: Hook, logged: Logged, stdin: bytes, reason: str) -> None:
    answered = hook("user-prompt", stdin=stdin)

    assert (answered.code, answered.stdout, answered.stderr) == (0, b"", "")
    assert logged() == [reason]


@pytest.mark.parametrize("event", ["", "nonsense", "--help-me", "stop\x01"])
def test_an_event_nobody_knows_is_answered_empty(hook: Hook, logged: Logged, event: str) -> None:
    answered = hook(event)

    assert (answered.code, answered.stdout) == (0, b"")
    assert logged() in (["unknown_event"], [])


def test_the_event_may_be_named_in_the_input_alone(hook: Hook) -> None:
    assert "mem_save" in hook("", hook_event_name="SessionStart").context


HOSTILE: list[Any] = [None, 1e400, "\0", "x" * 300_000, [{"a": [1]}], {"prompt": {"a": 1}}]


@pytest.mark.parametrize("value", HOSTILE, ids=[str(number) for number in range(len(HOSTILE))])
def test_fields_of_any_type_break_nothing(hook: Hook, value: Any) -> None:
    names = "session_id cwd source prompt transcript_path last_assistant_message tool_name tool_input task agent_type"
    fields = dict.fromkeys(names.split(), value)

    for event in ("session-start", "user-prompt", "pre-tool", "stop"):
        answered = hook(event, "--pretool=on", **fields)
        assert (answered.code, answered.stderr) == (0, "")
        assert answered.stdout == b"" or json.loads(answered.stdout)


@pytest.mark.parametrize("session_id", ["'; drop table sessions; --", "../../etc", "\u202eabc"])
def test_a_hostile_session_id_names_a_session_and_nothing_else(hook: Hook, memory: Engram, session_id: str) -> None:
    hook("session-start", session_id=session_id)
    hook("user-prompt", session_id=session_id, prompt="Write a parser")
    hook("session-end", session_id=session_id)

    [session] = memory.sessions.recent(all_projects=True)
    assert session.ended_at is not None
    assert prompts_of(memory) == ["Write a parser"]


def test_an_event_that_is_answered_says_nothing_in_the_log(hook: Hook, logged: Logged) -> None:
    for event in EVENTS:
        hook(event, prompt="Write a parser", last_assistant_message="Done.")

    assert logged() == []


def test_the_log_holds_no_word_of_a_prompt_and_is_private(hook: Hook, logged: Logged, data_dir: Path) -> None:
    hook("user-prompt", stdin=b'{"prompt": "Moby Dick and more', agent="Moby")
    hook("stop", transcript_path="/etc/passwd", last_assistant_message="Moby Dick")

    assert len(logged()) == 2
    assert "Dick" not in (data_dir / "hooks.log").read_text()
    assert (data_dir / "hooks.log").stat().st_mode & 0o077 == 0


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_memory_that_cannot_be_written_is_read(hook: Hook, memory: Engram, data_dir: Path) -> None:
    memory.save(draft("Queue", "jobs go through Redis"))
    memory.close()
    (data_dir / "engram.db").chmod(0o400)
    data_dir.chmod(0o500)
    try:
        answered = hook("session-start")
    finally:
        data_dir.chmod(0o700)

    assert answered.code == 0
    assert "jobs go through Redis" in answered.context


@pytest.mark.parametrize("kind", ["file", "damaged", "relative", "newer", "full"])
def test_a_memory_that_cannot_be_used_is_no_trouble(hook: Hook, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "other"
    match kind:
        case "file":
            place.write_text("x")
        case "damaged":
            place.mkdir()
            (place / "engram.db").write_bytes(b"not a database " * 1_000)
        case "relative":
            place = Path("relative/place")
        case "newer":
            with Engram(place) as app, app.store.transaction():
                app.store.execute("insert into _sqlite_migrations values (99, 'engram', '0099_later', '')")
        case "full":
            place = Path("/dev/full/place")

    for event in ("session-start", "user-prompt", "stop", "session-end"):
        answered = hook(event, prompt="Write a parser", environ={"ENGRAM_DATA_DIR": str(place)})
        assert (answered.code, answered.stdout, answered.stderr) == (0, b"", "")


def test_a_reader_that_is_gone_is_no_trouble(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "engram_py", "hook", "session-start"]
    done = subprocess.run(
        command, input=b'{"session_id": "s1"}', stdout=writing, stderr=subprocess.PIPE, cwd=folder, check=False
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")


def test_help_is_for_people(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "engram_py", "hook", "--help"], capture_output=True, text=True, cwd=folder, check=True
    )

    printed = "".join(done.stdout.split())  # lines break at hyphens
    assert all(event in printed for event in EVENTS)


def test_a_clock_that_jumps_back_loses_nothing(hook: Hook, memory: Engram) -> None:
    hook("user-prompt", prompt="First this", environ={"ENGRAM_NOW": "2030-01-01T00:00:00Z"})
    hook("user-prompt", prompt="Then that", environ={"ENGRAM_NOW": "2001-01-01T00:00:00Z"})
    hook("session-end", environ={"ENGRAM_NOW": "1970-01-01T00:00:00Z"})

    assert sorted(prompts_of(memory)) == ["First this", "Then that"]
    assert memory.sessions.get("s1").ended_at is not None


def test_half_of_a_secret_at_the_end_of_a_long_text_is_not_read(tmp_path: Path) -> None:
    secret = "correct-horse-battery-9931-staple"
    hidden = "<private>" + "x" * 30_000 + "</private> "
    start = "postgres://ada:" + secret[:25]

    def cut_at(limit: int) -> str:
        return hidden + "w " * ((limit - len(hidden) - len(start)) // 2) + start + secret[25:] + "@db/x"

    for name, limit in (
        ("prompt", PROMPT_LIMIT_CHARS),
        ("task", PROMPT_LIMIT_CHARS),
        ("response", MESSAGE_LIMIT_CHARS),
    ):
        request = parse({name: cut_at(limit)}, agent="codex", environ={}, here=tmp_path)
        found = request.prompt + request.task + request.last_message
        assert "w w w" in found
        assert "correct" not in found


@pytest.mark.parametrize("cut", [1, 40, 90_000], ids=["a-byte", "a-field", "more-than-a-pipe-holds"])
def test_a_hook_answers_an_agent_that_leaves_the_pipe_open(folder: Path, memory: Engram, cut: int) -> None:
    prompt = "why is the gateway slow? {" + "x}" * 100_000
    data = json.dumps({"session_id": "s1", "cwd": str(folder), "prompt": prompt}).encode() + b"\n"
    command = [sys.executable, "-m", "engram_py", "hook", "user-prompt", "--limit-ms", "60000"]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        for part in (data[:cut], data[cut:]):
            process.stdin.write(part)
            process.stdin.flush()
        assert process.wait(30) == 0
    [kept] = prompts_of(memory)
    assert kept.startswith("why is the gateway slow?")


def test_a_home_directory_that_no_shell_has_expanded_is_expanded(home: Path, hook: Hook, memory: Engram) -> None:
    (home / "kiosk" / ".git").mkdir(parents=True)
    (home / "t.jsonl").write_text('{"type": "user", "message": {"content": "Mend the clock of the kiosk"}}\n')

    hook("stop", cwd="~/kiosk", session_id="s9", transcript_path="~/t.jsonl")

    [turn] = memory.transcripts.turns("s9")
    assert turn.content == "Mend the clock of the kiosk"
    assert memory.sessions.get("s9").directory == str(home / "kiosk")


def test_a_folder_that_windows_names_in_wsl_is_the_folder_here(hook: Hook, memory: Engram, home: Path) -> None:
    (home / "kiosk" / ".git").mkdir(parents=True)
    said = "\\\\wsl.localhost\\Ubuntu" + str(home / "kiosk").replace("/", "\\")

    hook("user-prompt", cwd=said, prompt="Write the parser of the tokens")

    assert memory.sessions.get("s1").project == "kiosk"
    assert memory.sessions.get("s1").directory == str(home / "kiosk")


NEVER = ("click", "rich", "pydantic", "mcp", "git", "sqlite_utils", "numpy", "asyncio", "subprocess", "argparse")
CONTEXT = (
    "engram_py.recall.search",
    "engram_py.guidance.context.contexts",
    "engram_py.memory.observations.observations",
)


def loaded(folder: Path, event: str, **fields: Any) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "engram_py", "hook", event, "--agent=claude-code"],
        input=json.dumps({"session_id": "s1", "cwd": str(folder), **fields}).encode(),
        capture_output=True,
        cwd=folder,
        env=os.environ,
        check=True,
    )
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines[1:]}


@pytest.mark.parametrize(
    ("event", "fields", "nor"),
    [
        pytest.param("session-start", {}, ("_hashlib",), id="session-start"),
        pytest.param("user-prompt", {"prompt": "why did we choose uv?"}, ("_hashlib",), id="question"),
        pytest.param(
            "user-prompt", {"prompt": "Write a parser for JSON"}, ("_hashlib", *CONTEXT), id="asks-for-nothing"
        ),
        pytest.param("user-prompt", {"prompt": "yes"}, ("sqlite3", "engram_py.app"), id="keeps-going"),
        pytest.param("stop", {"last_assistant_message": "Done."}, CONTEXT, id="without-learnings"),
        pytest.param("session-end", {}, (), id="session-end"),
    ],
)
def test_no_hook_loads_what_a_person_or_a_server_needs_nor_more_than_its_event_does(
    folder: Path, event: str, fields: dict[str, str], nor: tuple[str, ...]
) -> None:
    modules = loaded(folder, event, **fields)

    assert "engram_py.interfaces.hooks.entry" in modules
    assert not modules & {*NEVER, *nor}


def test_a_hook_loads_no_model_whatever_embedder_is_set(
    folder: Path, memory: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.save(draft("Fast, and it locks.", title="Chose uv for packages", type="decision"))
    monkeypatch.setenv("ENGRAM_EMBEDDER", "model2vec:minishlab/potion-base-8M")

    modules = loaded(folder, "user-prompt", prompt="why did we choose uv?")

    assert "engram_py.guidance.context.providers" in modules
    assert not modules & {"numpy", "model2vec", "engram_py.recall.vectors.model", "engram_py.recall.vectors.index"}
