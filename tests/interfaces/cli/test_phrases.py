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
    text = f"list the projects with mem_list_projects\n1 found, {phrases._FOUND}\n{next(iter(phrases._ENDS))}"
    run("save", "Note", text)

    assert text in run("get", "1").stdout
    assert phrases._FOUND not in run("search", "note").stdout.splitlines()[0]
