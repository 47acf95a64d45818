"""`record`, `inject` and `enabled`, how long messages are kept, and one session for hooks and server."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from engram_py import Draft, Engram
from engram_py.app import Engram as App
from engram_py.base.errors import ConflictError
from engram_py.base.reasons import reason
from engram_py.base.times import fixed_clock
from engram_py.interfaces.cli.main import cli
from tests.interfaces.hooks.conftest import Hook, locked, prompts_of
from tests.support import raising

LEARNED = "Done.\n\n## Key Learnings:\n\n1. The gateway drops every header that is longer than eight kilobytes.\n"


@pytest.fixture
def engram(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """``engram("off", "--record")``: the command, in the folder widgets."""
    monkeypatch.chdir(folder)

    def run(*words: str) -> str:
        result = CliRunner().invoke(cli, list(words), prog_name="engram")
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


Command = Callable[..., str]


def all_of_it(hook: Hook, transcript: str, session_id: str = "s1", **environ: str) -> None:
    """A session as an agent runs it: everything in it could be recorded."""
    options = {"session_id": session_id, "environ": environ}
    hook("session-start", source="startup", **options)
    hook("user-prompt", prompt="how long do tokens live here, and who decided it?", **options)
    hook("stop", last_assistant_message=LEARNED, transcript_path=transcript, **options)
    hook("session-end", transcript_path=transcript, **options)


def recorded(memory: App) -> tuple[int, int, int]:
    """Prompts, turns, learnings."""
    counted = "select (select count(*) from user_prompts), (select count(*) from turns), "
    counted += "(select count(*) from observations where type = 'passive')"
    row = memory.store.row(counted)
    assert row is not None
    return tuple(row)


@pytest.mark.parametrize("words", [["--record"], ["--record", "--project", "widgets"]])
def test_nothing_of_a_conversation_is_kept_while_recording_is_off(
    words: list[str], engram: Command, hook: Hook, transcript: str, memory: App, logged: Callable[[], list[str]]
) -> None:
    memory.save(Draft("Tokens live 5 minutes", "Access tokens live 5 minutes.", "decision"))
    engram("off", *words)

    all_of_it(hook, transcript)
    with locked(memory.settings.data_dir):
        all_of_it(partial(hook, limit_ms=2_000), transcript)
    hook("stop", source="again")

    assert recorded(memory) == (0, 0, 0)
    assert "Tokens live" in hook("session-start", source="startup").context
    assert not [reason for reason in logged() if reason != "store_busy"]
    assert not [path for path in (memory.settings.data_dir / "spool").glob("*") if "gateway" in path.read_text()]

    engram("on", *words)
    all_of_it(hook, transcript)
    assert recorded(memory) == (1, 1, 1)


@pytest.mark.parametrize(
    ("said", "asked", "environ", "times"),
    [
        pytest.param(["off --record --session secret", "off --record --project x"], None, {}, 1, id="others-are-off"),
        pytest.param(["off --record --session s1"], None, {}, 0, id="session"),
        pytest.param(["off --record", "on --record --project widgets"], None, {}, 1, id="project-on"),
        pytest.param(["on --record --project widgets"], None, {"ENGRAM_RECORD": "off"}, 0, id="variable-wins"),
        pytest.param([], False, {}, 0, id="repository-asks-not-to-be"),
        pytest.param(["off --record"], True, {}, 0, id="repository-cannot-ask-to-be"),
    ],
)
def test_the_nearest_switch_decides_and_a_repository_can_only_switch_off(
    engram: Command, hook: Hook, folder: Path, transcript: str, memory: App,
    said: list[str], asked: bool | None, environ: dict[str, str], times: int,
) -> None:  # fmt: skip
    for words in said:
        engram(*words.split())
    if asked is not None:
        (folder / ".engram.json").write_text(json.dumps({"project": "widgets", "record": asked}))

    all_of_it(hook, transcript, **environ)

    assert recorded(memory) == (times, times, times)


def test_what_waited_in_the_spool_is_dropped_when_recording_was_switched_off_meanwhile(
    engram: Command, hook: Hook, memory: App
) -> None:
    with locked(memory.settings.data_dir):
        hook("user-prompt", limit_ms=2_000, prompt="how long do tokens live here, and who decided it?")
    spool = memory.settings.data_dir / "spool"
    assert list(spool.iterdir())
    engram("off", "--record")

    hook("session-start", source="startup")

    assert prompts_of(memory) == []
    assert list(spool.iterdir()) == []


def test_an_agent_is_given_nothing_while_injecting_is_off_and_all_is_recorded(
    engram: Command, hook: Hook, transcript: str, memory: App
) -> None:
    memory.save(Draft("Tokens live 5 minutes", "Access tokens live 5 minutes.", "decision"))
    engram("off", "--inject")

    assert hook("session-start", source="startup").stdout == b""
    assert hook("session-start", source="compact").stdout == b""
    assert hook("user-prompt", prompt="what did we decide about how long tokens live?").stdout == b""
    assert hook("subagent-start", task="tokens live").stdout == b""
    all_of_it(hook, transcript)
    assert recorded(memory)[1:] == (1, 1)
    assert "Tokens live" in engram("context")

    engram("on", "--inject")
    assert "Tokens live" in hook("session-start", session_id="s2", source="startup").context


@pytest.mark.parametrize("how", ["command", "variable", "file"])
def test_hooks_do_nothing_while_engram_is_off(
    how: str, engram: Command, hook: Hook, transcript: str, memory: App, data_dir: Path
) -> None:
    memory.save(Draft("Tokens live 5 minutes", "Access tokens live 5 minutes.", "decision"))
    environ = {"ENGRAM_ENABLED": "off"} if how == "variable" else {}
    if how == "command":
        engram("off")
    if how == "file":
        (data_dir / "config.json").write_text('{"enabled": false}', encoding="utf-8")

    assert hook("session-start", source="startup", environ=environ).stdout == b""
    all_of_it(hook, transcript, "s1", **environ)

    assert recorded(memory) == (0, 0, 0)
    with closing(sqlite3.connect(data_dir / "engram.db")) as database:
        assert database.execute("select count(*) from sessions where id = 's1'").fetchone() == (0,)
    assert not (data_dir / "spool").exists()


def test_what_was_asked_for_is_saved_and_says_that_engram_is_off(engram: Command, memory: App) -> None:
    engram("off")

    saved = memory.save(Draft("Ports", "The gateway listens on 8080."))

    assert saved.outcome == "added"
    assert reason("recording_off", project="widgets", enabled=False) in saved.warnings
    with raising(ConflictError, "recording_off"):
        memory.prompts.save("why is the gateway slow?")
    with raising(ConflictError, "recording_off"):
        memory.episodes.capture(LEARNED)


def test_the_command_says_what_is_on_and_off_and_by_whom(engram: Command) -> None:
    engram("off", "--record", "--project", "gadgets")
    said = engram("off", "--inject")

    assert said.splitlines()[0] == "In widgets: engram is on, recording is on, injecting is off."
    assert "everywhere: injecting off" in said
    assert "project gadgets: recording off" in said
    allowed = {"enabled": True, "record": True, "inject": False}
    assert json.loads(engram("on", "--status", "--json"))["allowed"] == allowed


def test_a_project_that_is_merged_stays_as_private_as_it_was(engram: Command, memory: App, folder: Path) -> None:
    memory.save(Draft("One", "Of gadgets."), project="gadgets")
    engram("off", "--record", "--project", "gadgets")
    engram("on", "--record", "--project", "widgets")

    engram("projects", "merge", "gadgets", "--into", "widgets", "--yes")

    assert not memory.switches.allowed("widgets").record


def test_row_105_each_switch_stops_its_own_path_and_both_stop_with_all(
    engram: Command, hook: Hook, memory: App, folder: Path
) -> None:
    memory.save(Draft("Tokens live 5 minutes", "Access tokens live 5 minutes.", "decision"))
    talk = folder / "talk.json"
    talk.write_text(json.dumps([{"user": "Make the tokens live longer, please.", "assistant": "Done."}]))

    def ways(number: int) -> tuple[str, bool]:
        kept = json.loads(engram("ingest", str(talk), "--conversation", f"c{number}", "--json"))
        given = hook("session-start", source="startup", session_id=f"s{number}")
        return kept["distillation"].partition(":")[2], bool(given.stdout)

    off = "memory_disabled"
    kept = ways(0)[0]
    assert kept != off
    for number, (words, expected) in enumerate(
        [(["--record"], (off, True)), (["--inject"], (kept, False)), ([], (off, False))], start=1
    ):
        engram("off", *words)
        assert ways(number) == expected, words
        engram("on", *words)


FIRST, LATER, LATE = "2026-01-01T10:00:00Z", "2026-01-20T10:00:00Z", "2026-02-15T10:00:00Z"


def turns(memory: App) -> list[str]:
    return [row[0] for row in memory.store.rows("select content from turns order by id")]


def test_messages_older_than_a_month_or_the_days_of_the_setting_go_when_a_session_begins(
    hook: Hook, transcript: str, memory: App
) -> None:
    hook("stop", transcript_path=transcript, environ={"ENGRAM_NOW": FIRST})
    hook("session-start", session_id="s2", source="startup", environ={"ENGRAM_NOW": LATER})
    assert turns(memory) == ["why is the gateway slow?"]
    week = {"ENGRAM_NOW": LATER, "ENGRAM_TURN_RETENTION_DAYS": "7"}
    hook("stop", session_id="s7", last_assistant_message="It is not.", environ={"ENGRAM_NOW": LATER})
    hook("session-start", session_id="s2", source="startup", environ=week)
    assert turns(memory) == ["It is not."]

    hook("session-start", session_id="s3", source="startup", environ={"ENGRAM_NOW": LATE})
    assert turns(memory) == ["It is not."]
    hook("stop", transcript_path=transcript, environ={"ENGRAM_NOW": LATE})  # it is not read again
    assert turns(memory) == ["It is not."]


def test_with_0_days_no_message_is_kept_and_what_it_teaches_is(hook: Hook, home: Path, memory: App) -> None:
    cited = memory.save(Draft("Gateway", "It drops long headers.")).id
    text = (
        f"As [#{cited}] says.\n\n## Key Learnings:\n\n1. The gateway drops every header longer than eight kilobytes.\n"
    )
    said = {"type": "assistant", "uuid": "a1", "message": {"role": "assistant", "content": text}}
    (home / "transcript.jsonl").write_text(json.dumps(said) + "\n")

    hook("stop", transcript_path=str(home / "transcript.jsonl"), environ={"ENGRAM_TURN_RETENTION_DAYS": "0"})

    assert turns(memory) == []
    assert memory.store.value("select count(*) from observations where type = 'passive'") == 1
    assert memory.store.value("select sum(times) from citations") == 1


def test_a_server_whose_agents_have_no_hooks_deletes_old_messages_too(
    hook: Hook, transcript: str, memory: App, folder: Path
) -> None:
    hook("stop", transcript_path=transcript, environ={"ENGRAM_NOW": FIRST})

    settings = replace(memory.settings, clock=fixed_clock(LATE))
    with Engram(settings=settings, directory=folder, session_mode="process") as server:
        server.save(Draft("Ports", "The gateway listens on 8080."))

    assert turns(memory) == []


def test_what_was_kept_of_a_conversation_can_be_read(
    hook: Hook, transcript: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook("stop", transcript_path=transcript)
    monkeypatch.chdir(folder)

    assert "s1 user: why is the gateway slow?" in CliRunner().invoke(cli, ["turns"]).stdout
    assert "No turns" in CliRunner().invoke(cli, ["turns", "--session", "other"]).stdout


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
