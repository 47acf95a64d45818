"""One run of an agent is one session: what its hooks start, its server joins."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from engram_py import Engram

# An agent: it runs its hook as agents do, starts its server, and saves without naming a session.
AGENT = """
import json, subprocess, sys

session, wrapped = sys.argv[1], sys.argv[2] == "wrapped"
hook = [sys.executable, "-m", "engram_py", "hook", "session-start", "--agent", "claude-code"]
server = [sys.executable, "-m", "engram_py", "mcp"]
shell = ["sh", "-c", '"$@"; exit $?', "sh"] if wrapped else []
event = json.dumps({"session_id": session, "source": "startup"})
if session != "none":
    subprocess.run([*shell, *hook], input=event, text=True, check=True, stdout=subprocess.DEVNULL)
print("hooked", flush=True)
sys.stdin.readline()
process = subprocess.Popen([*shell, *server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
calls = [
    ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}),
    ("tools/call", {"name": "mem_save", "arguments": {"title": f"By {session}", "content": "It saved this."}}),
]
for number, (method, params) in enumerate(calls):
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
print(answer["result"]["content"][0]["text"], flush=True)
process.stdin.close()
process.wait()
"""


class Agent:
    def __init__(self, folder: Path, session: str, *, wrapped: bool = False) -> None:
        command = [sys.executable, "-c", AGENT, session, "wrapped" if wrapped else "plain"]
        self._process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def save(self) -> None:
        """Start the server, save, and end."""
        out, _ = self._process.communicate("\n", timeout=60)
        assert "Saved" in out or "added" in out, out


def session_of(memory: Engram, title: str) -> str:
    return str(memory.store.value("select session_id from observations where title = :title", title=title))


def test_two_agents_at_work_in_one_project_keep_their_sessions_apart(folder: Path, memory: Engram) -> None:
    first, second = Agent(folder, "claude-1"), Agent(folder, "claude-2", wrapped=True)
    first.save()
    second.save()

    assert session_of(memory, "By claude-1") == "claude-1"
    assert session_of(memory, "By claude-2") == "claude-2"
    assert {line.id for line in memory.sessions.recent()} == {"claude-1", "claude-2"}


def test_a_server_whose_agent_has_no_hooks_has_a_session_of_its_own(folder: Path, memory: Engram) -> None:
    idle = Agent(folder, "claude-1", wrapped=True)
    Agent(folder, "none", wrapped=True).save()

    assert session_of(memory, "By none").startswith("mcp-")
    idle.save()


def test_a_summary_of_the_server_is_that_of_the_hooks_session(folder: Path, memory: Engram) -> None:
    hosts = ["1:1"]
    memory.sessions.start("claude-1")
    memory.sessions.keep_hosts("claude-1", hosts)
    with Engram(settings=memory.settings, directory=folder, session_mode="process", hosts=hosts) as server:
        server.episodes.summarize("## Goal\nShip it.\n\n## Next Steps\n- Write the migration")

    assert "Write the migration" in (memory.sessions.get("claude-1").summary or "")
    assert json.loads(str(memory.store.value("select hosts from session_hosts"))) == hosts
