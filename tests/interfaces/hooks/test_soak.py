"""Four agents' hooks and two servers at once on one database: nothing is lost, and nobody waits beyond the limit."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.interfaces.hooks.entry import LIMITS_MS
from engram_py.interfaces.hooks.protocol import Event
from engram_py.sessions.spool_files import waiting_files
from tests.interfaces.hooks.conftest import Answered, Hook, prompts_of
from tests.interfaces.mcp.agent import exchange, tool_call

AGENTS = ("claude-code", "codex", "gemini", "cursor")
SAVES = 20
# What six processes on two processors may add to the time of one.
SLACK_SECONDS = 5.0


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
        answered = self.hook(event, agent=self.agent, session_id=session, **fields)
        self.events += 1
        assert (answered.code, answered.stderr) == (0, "")
        if answered.seconds > LIMITS_MS[event] / 1000 + SLACK_SECONDS:
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
