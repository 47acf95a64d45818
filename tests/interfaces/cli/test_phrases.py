"""A terminal is told commands where an agent is told tools."""

from __future__ import annotations

from pathlib import Path

import pytest

import engram_py
from engram_py.interfaces.cli import phrases
from tests.interfaces.cli.conftest import Run

SOURCE = "".join(
    path.read_text(encoding="utf-8")
    for path in Path(engram_py.__file__).parent.rglob("*.py")
    if path.name != "phrases.py"
)


@pytest.mark.parametrize("said", [phrases._FOUND, *phrases._ENDS, *phrases._HINTS])
def test_what_is_put_in_other_words_is_still_said(said: str) -> None:
    assert said.removeprefix('"; ') in SOURCE


def test_a_memory_that_names_a_tool_keeps_its_words(run: Run) -> None:
    text = f"read the content with mem_get_observation\n1 found, {phrases._FOUND}\n{next(iter(phrases._ENDS))}"
    run("save", "Note", text)

    assert text in run("get", "1").stdout
    assert phrases._FOUND not in run("search", "note").stdout.splitlines()[0]


def test_an_opened_memory_names_the_command_that_shows_its_history(run: Run) -> None:
    run("save", "Timeout", "5 seconds; include_history=true shows them")
    run("update", "1", "--content", "30 seconds; include_history=true shows them")
    said = run("get", "1").stdout

    assert "30 seconds; include_history=true shows them" in said
    assert said.splitlines()[-1] == "earlier versions: 1; `engram history 1` shows them"


def test_a_long_history_names_the_command_that_goes_on(run: Run) -> None:
    for number in range(52):
        run("save", "Timeout", f"{number} seconds.", "--topic", "config/timeout")
    last = run("history", "1").stdout.splitlines()[-1]

    assert last.startswith("older versions: `engram history 1 --cursor ")
    shown = run(*last.removeprefix("older versions: `engram ").removesuffix("`").split()).stdout
    assert "--- version 1, of " in shown


def test_a_terminal_is_told_the_option_that_names_a_project() -> None:
    told = phrases.in_commands(
        "hint: ask the user which project this belongs to, then repeat the call with project=NAME"
    )
    assert told.endswith("then repeat the command with `--project NAME`")
