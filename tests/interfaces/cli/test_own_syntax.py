"""A terminal is told commands where an agent is told tools, and what a memory says itself is left alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engram_py import Engram
from tests.interfaces.cli.conftest import Run


def test_a_terminal_is_told_commands_wherever_something_can_be_done_next(run: Run) -> None:
    run("save", "Timeout", "5 seconds.", "--topic", "config/timeout")
    run("update", "1", "--content", "30 seconds.")

    assert run("get", "1").stdout.splitlines()[-1] == "1 earlier version; `engram history 1` shows all."
    assert run("search", "timeout").stdout.startswith("1 match. `engram get 1` shows it.\n")
    assert "`--hard` would destroy it" in run("delete", "1").stdout
    assert "find the id with `engram search` or `engram context`" in run("get", "1").stderr


def test_a_memory_that_names_a_tool_keeps_its_words(run: Run) -> None:
    text = "read the content with mem_get_observation; include_history=true shows them"
    run("save", "Note", text)
    assert text in run("get", "1").stdout


def test_a_long_history_names_the_command_that_goes_on(run: Run) -> None:
    for number in range(52):
        run("save", "Timeout", f"{number} seconds.", "--topic", "config/timeout")
    last = run("history", "1").stdout.splitlines()[-1]

    assert last.startswith("older versions: `engram history 1 --cursor ")
    shown = run(*last.removeprefix("older versions: `engram ").removesuffix("`").split()).stdout
    assert "--- version 1, of " in shown


@pytest.mark.parametrize("words", [["stats"], ["doctor", "--check", "sync_queue"]])
def test_who_does_not_sync_is_told_nothing_of_it(run: Run, data_dir: Path, words: list[str]) -> None:
    run("save", "Uses tabs", "In Go.")
    counts = re.compile(r"[0-9]+ (change|row)")
    assert not counts.search(run(*words).stdout)

    with Engram(data_dir) as app, app.store.transaction():
        values = {"server": "https://memory.example.org", "principal": "ada", "kept_in": "file"}
        app.store.insert("cloud_logins", {"id": 1, **values, "logged_in_at": "2026-01-01T00:00:00.000Z"})
    assert counts.search(run(*words).stdout)
