"""No hook takes longer than its limit; what it could not store is stored later, once; and many at once lose nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.interfaces.hook_protocol import Event
from engram_py.interfaces.hooks.entry import LIMITS_MS
from engram_py.memory.sessions.spool_files import waiting_files
from tests.interfaces.hooks.conftest import Answered, Hook, locked, patched, prompts_of
from tests.interfaces.mcp.agent import exchange, tool_call
from tests.support import draft, rows_of

Logged = Callable[[], list[str]]
# What the machine that runs the tests may add: a process starts, and is seen to have ended.
SLACK_SECONDS = 3.0


def spooled(data_dir: Path) -> list[Path]:
    return sorted((data_dir / "spool").glob("*.json")) if (data_dir / "spool").exists() else []


@pytest.mark.parametrize("kind", ["immediate", "exclusive"])
def test_a_prompt_that_finds_the_database_locked_waits_in_the_spool(
    hook: Hook, data_dir: Path, logged: Logged, kind: str
) -> None:
    Engram(data_dir).close()
    with locked(data_dir, kind):
        answered = hook("user-prompt", limit_ms=1_500, prompt="Write a <private>secret</private> parser")

    assert (answered.code, answered.stdout) == (0, b"")
    assert answered.seconds < 1.5 + SLACK_SECONDS
    [file] = spooled(data_dir)
    assert file.stat().st_mode & 0o077 == (data_dir / "spool").stat().st_mode & 0o077 == 0
    assert "secret" not in file.read_text()
    assert logged()[0] in ("store_busy", "timeout")


def test_the_next_hook_stores_what_waits_once_and_as_it_was(hook: Hook, data_dir: Path) -> None:
    Engram(data_dir).close()
    with locked(data_dir):
        hook("user-prompt", limit_ms=1_000, prompt="Write a parser", environ={"ENGRAM_NOW": "2026-05-05T10:00:00Z"})

    hook("stop", session_id="s2")
    hook("stop", session_id="s2")

    with Engram(data_dir) as memory:
        [prompt] = memory.prompts.recent(all_projects=True)
        assert (prompt.content, prompt.session_id, prompt.project) == ("Write a parser", "s1", "widgets")
        assert prompt.created_at == "2026-05-05T10:00:00.000Z"
        assert memory.sessions.get("s1").agent == "claude-code"
    assert spooled(data_dir) == []


@pytest.mark.parametrize(("event", "waiting"), [("session-start", 0), ("user-prompt", 1), ("subagent-start", 0)])
def test_a_locked_database_still_gives_what_can_be_read(
    hook: Hook, data_dir: Path, memory: Engram, event: str, waiting: int
) -> None:
    row = memory.save(draft("Fast, and it locks.", title="Chose uv for packages", type="decision")).id
    with locked(data_dir):
        context = hook(event, limit_ms=8_000, prompt="why did we choose uv?").context

    assert f"[#{row}]" in context
    assert len(spooled(data_dir)) == waiting
    hook("user-prompt", prompt="Write a parser")
    assert memory.sessions.get("s1").project == "widgets"


def test_a_session_that_ends_while_the_database_is_locked_is_ended_later(
    hook: Hook, data_dir: Path, logged: Logged
) -> None:
    hook("session-start")
    learned = "## Learnings\n- The parser needs a bounded read of its input.\n"
    with locked(data_dir):
        hook("session-end", limit_ms=8_000, last_assistant_message=learned)
    assert logged() == ["store_busy"]  # it was waited for once, not for each thing that had to be stored
    assert {json.loads(file.read_text())["kind"] for file in spooled(data_dir)} == {"learnings", "end"}

    hook("session-start", session_id="s2")

    with Engram(data_dir) as memory:
        assert memory.sessions.get("s1").ended_at is not None
        assert memory.store.value("select session_id from observations") == "s1"
        assert rows_of(memory, "observations") == 1


def test_a_stdin_that_never_closes_is_given_up(folder: Path, data_dir: Path, logged: Logged) -> None:
    Engram(data_dir).close()
    command = [sys.executable, "-m", "engram_py", "hook", "user-prompt", "--limit-ms=600"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"session_id": "s1", ')
        process.stdin.flush()

        assert process.wait(0.6 + SLACK_SECONDS) == 0
        assert process.stdout.read() == b""
    assert logged() == ["timeout"]


def test_a_hook_that_hangs_in_the_database_is_ended_and_its_prompt_kept(
    folder: Path, data_dir: Path, logged: Logged
) -> None:
    hang = "import time, engram_py.base.database.store as d\nd.Store.open = classmethod(lambda *a: time.sleep(600))\n"
    data_dir.mkdir()
    begun = time.monotonic()
    done = patched(hang, "user-prompt", "--limit-ms=600", cwd=folder, prompt="Write a parser")

    assert time.monotonic() - begun < 0.6 + 2 * SLACK_SECONDS
    assert (done.returncode, done.stdout) == (0, b"")
    assert logged() == ["timeout"]
    assert json.loads(spooled(data_dir)[0].read_text())["content"] == "Write a parser"


def test_what_is_ready_when_the_time_is_up_is_not_withheld(
    folder: Path, data_dir: Path, logged: Logged, memory: Engram
) -> None:
    row = memory.save(draft("Fast, and it locks.", title="Chose uv for packages", type="decision")).id
    hang = "import time, engram_py.memory.writing.prompts as p\np.Prompts.save = lambda *a, **k: time.sleep(600)\n"
    options = ("--agent=kiro", "--limit-ms=3000")
    done = patched(hang, "user-prompt", *options, cwd=folder, prompt="why did we choose uv?")

    assert done.returncode == 0
    assert f"[#{row}]" in done.stdout.decode()
    assert (logged(), len(spooled(data_dir))) == (["timeout"], 1)


def test_a_bug_in_a_hook_is_logged_by_its_place_and_breaks_nothing(data_dir: Path, logged: Logged) -> None:
    data_dir.mkdir()
    broken = "import engram_py.app as a\ndef f(*x, **y): raise ZeroDivisionError('Moby Dick')\na.Engram.__init__ = f\n"
    done = patched(broken, "session-start")

    assert (done.returncode, done.stdout) == (0, b"")
    assert logged() == ["ZeroDivisionError"]
    assert "Dick" not in (data_dir / "hooks.log").read_text()


def test_a_server_stores_what_hooks_left_behind(hook: Hook, data_dir: Path, folder: Path) -> None:
    Engram(data_dir).close()
    with locked(data_dir):
        hook("user-prompt", limit_ms=1_000, prompt="Write a parser")

    with Engram(data_dir, directory=folder, session_mode="process") as server:
        server.save(draft("Anything."))
        assert prompts_of(server) == ["Write a parser"]
    assert spooled(data_dir) == []


@pytest.mark.parametrize("option", ["--limit-ms=0", "--limit-ms=-5", "--limit-ms=nonsense", "--limit-ms"])
def test_a_limit_that_is_none_is_the_usual_one(hook: Hook, option: str) -> None:
    assert "mem_save" in hook("session-start", option).context


def test_a_hook_ends_however_long_somebody_holds_its_output(folder: Path, data_dir: Path) -> None:
    """Nobody reads the answer, and the pipe is full before it is written."""
    Engram(data_dir).close()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while os.write(writing, b"x" * 65_536):
            pass
    except BlockingIOError:
        os.set_blocking(writing, True)
    command = [sys.executable, "-m", "engram_py", "hook", "session-start", "--limit-ms=1000"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=writing, cwd=folder) as process:
        process.communicate(json.dumps({"session_id": "s1", "cwd": str(folder)}).encode(), timeout=1 + SLACK_SECONDS)
        assert process.returncode == 0
    os.close(reading)
    os.close(writing)


AGENTS = ("claude-code", "codex", "gemini", "cursor")
SAVES = 20
# What six processes on two processors may add to the time of one.
BUSY_SLACK_SECONDS = 5.0


class Life:
    """An agent that lives through sessions, and remembers what it said and how long it waited."""

    def __init__(self, hook: Hook, home: Path, agent: str) -> None:
        self.hook, self.home, self.agent = hook, home, agent
        self.prompts: list[str] = []
        self.learned: list[str] = []
        self.sessions: list[str] = []
        self.late: list[tuple[str, float]] = []
        self.events = 0

    def run(self, sessions: int) -> None:
        for number in range(sessions):
            self._session(f"{self.agent}-{number}")

    def _session(self, session: str) -> None:
        self.sessions.append(session)
        transcript = self.home / f"{session}.jsonl"
        learned = f"The component {session} needs a bounded read of its input."
        self.learned.append(learned)
        message = f"Done.\n\n## Key Learnings\n- {learned}\n"
        self._call("session-start", session)
        for turn in ("first", "second"):
            prompt = f"Write the {turn} parser of {session}"
            self.prompts.append(prompt)
            self._call("user-prompt", session, prompt=prompt)
            with transcript.open("a") as file:
                for role, text in (("user", prompt), ("assistant", f"{turn}: {message}")):
                    line = {"type": role, "uuid": f"{turn}-{role}", "message": {"role": role, "content": text}}
                    file.write(json.dumps(line) + "\n")
        self._call("stop", session, transcript_path=str(transcript), last_assistant_message=message)
        self._call("session-end", session, transcript_path=str(transcript))

    def _call(self, event: Event, session: str, **fields: Any) -> Answered:
        answered = self.hook(event, agent=self.agent, limit_ms=LIMITS_MS[event], session_id=session, **fields)
        self.events += 1
        assert (answered.code, answered.stderr) == (0, "")
        if answered.seconds > LIMITS_MS[event] / 1000 + BUSY_SLACK_SECONDS:
            self.late.append((event, answered.seconds))
        return answered


def served(folder: Path, name: str, rounds: int) -> int:
    """A server that saves, again and again; how many saves it acknowledged."""
    saved = 0
    for turn in range(rounds):
        calls = [
            tool_call(number, "mem_save", title=f"{name} {turn} {number}", content=f"{name} {turn} {number} was saved")
            for number in range(SAVES)
        ]
        answers = exchange(folder, calls)
        saved += sum("Saved" in answers.text(number) for number in range(SAVES))
    return saved


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(
    ("sessions", "rounds"),
    [pytest.param(1, 1, id="twenty-events"), pytest.param(50, 12, id="a-thousand-events", marks=pytest.mark.soak)],
)
def test_hooks_and_servers_at_once_lose_nothing_and_keep_their_limits(
    hook: Hook,
    home: Path,
    folder: Path,
    data_dir: Path,
    sessions: int,
    rounds: int,
) -> None:
    Engram(data_dir).close()
    lives = [Life(hook, home, agent) for agent in AGENTS]
    with ThreadPoolExecutor(max_workers=6) as pool:
        agents = [pool.submit(life.run, sessions) for life in lives]
        servers = [pool.submit(served, folder, name, rounds) for name in ("left", "right")]
        saves = sum(server.result() for server in servers)
        for agent in agents:
            agent.result()
    while waiting_files(data_dir):
        hook("stop", session_id="the-last")

    assert [life.late for life in lives] == [[]] * 4
    assert sum(life.events for life in lives) == 20 * sessions
    with Engram(data_dir) as memory:
        assert sorted(prompts_of_all(memory)) == sorted(prompt for life in lives for prompt in life.prompts)
        contents = [row[0] for row in memory.store.rows("select content from observations where origin <> 'derived'")]
        assert sum("was saved" in content for content in contents) == saves == 2 * rounds * SAVES
        assert sorted(one for one in contents if "bounded" in one) == sorted(
            learned for life in lives for learned in life.learned
        )
        ended = {row[0] for row in memory.store.rows("select id from sessions where ended_at is not null")}
        assert {session for life in lives for session in life.sessions} <= ended
        assert memory.store.value("select count(*) from turns where session_id <> 'the-last'") == 16 * sessions
        assert memory.doctor.examine(check="integrity").status == "ok"


def prompts_of_all(memory: Engram) -> list[str]:
    assert prompts_of(memory)
    return [row[0] for row in memory.store.rows("select content from user_prompts")]
