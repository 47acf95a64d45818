"""Distilling as somebody asks for it, and as a server does it by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from engram_py import Engram
from engram_py.interfaces.cli.main import cli
from engram_py.settings import Settings
from engram_py.upkeep import maintenance
from tests.distill.conftest import DID, WORK, Stub, distilling, episodes, say
from tests.interfaces.mcp.agent import INITIALIZE, INITIALIZED, as_line, start_server, tool_call
from tests.memory import Opener


@pytest.fixture
def talked(data_dir: Path, folder: Path) -> None:
    """A session that saved nothing and ended."""
    with Engram(settings=Settings(data_dir), directory=folder) as memory:
        say(memory, WORK, DID)
        memory.sessions.end("s1")


def waited_for(data_dir: Path, folder: Path) -> str:
    """The summary, as soon as it is there."""
    pause = threading.Event()
    with Engram(settings=Settings(data_dir), directory=folder) as memory:
        for _ in range(600):
            if rows := episodes(memory):
                return rows[0].content
            pause.wait(0.05)
    raise AssertionError("nobody distilled it")


def test_row_132_flush_as_a_command(talked: None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    first, again, none = (
        CliRunner().invoke(cli, words) for words in (["flush"], ["flush", "s1", "--json"], ["flush", "nobody"])
    )

    assert "s1 (widgets): distilled [#1], 2 turns" in first.stdout
    [session] = json.loads(again.stdout)["sessions"]
    assert session["result"] == "no_signals"
    assert none.exit_code == 1
    assert "no session 'nobody'" in none.stderr
    assert "No session has turns that wait" in CliRunner().invoke(cli, ["flush"]).stdout


def test_row_55_nobody_waits_for_a_distiller_that_is_at_work(open_memory: Opener) -> None:
    app, other = open_memory(), open_memory()
    other.store.hurry(0)  # it does not wait for another process's write at all

    def meanwhile() -> None:
        other.prompts.save("Something that is asked meanwhile", session_id="s2")
        say(other, WORK, DID, session="s3")

    say(app, WORK, DID)
    distilling(app, Stub(meanwhile=meanwhile)).flush("s1")

    assert len(episodes(app)) == 1


def test_row_83_a_server_distills_what_a_dead_one_left(talked: None, data_dir: Path, folder: Path) -> None:
    server = start_server(folder)
    assert server.stdin is not None
    for line in (INITIALIZE, INITIALIZED, tool_call(1, "mem_context")):
        server.stdin.write(as_line(line))
    server.stdin.flush()

    text = waited_for(data_dir, folder)
    server.communicate(timeout=30)

    assert WORK in text


def test_row_83_so_does_a_server_that_nobody_asks(talked: None, data_dir: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "engram_py", "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as one:
        try:
            assert WORK in waited_for(data_dir, folder)
        finally:
            one.terminate()


def test_the_thread_goes_on_after_a_failure_and_ends_when_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr(maintenance, "LOOK_SECONDS", 0.01)
    looks, twice = [], threading.Event()

    def look() -> None:
        looks.append(1)
        if len(looks) == 2:
            twice.set()
        raise ValueError("a bug")

    thread = maintenance.Worker(look)
    thread.start()
    assert twice.wait(5)
    thread.stop(seconds=5)
    ended = len(looks)
    threading.Event().wait(0.1)
    assert len(looks) == ended
