"""A terminal is told commands where an agent is told tools."""

from __future__ import annotations

from pathlib import Path

import pytest

import engram_py
from engram_py.interfaces.cli import phrases

SOURCE = "".join(
    path.read_text(encoding="utf-8")
    for path in Path(engram_py.__file__).parent.rglob("*.py")
    if path.name != "phrases.py"
)


@pytest.mark.parametrize("said", phrases._PHRASES)
def test_what_is_put_in_other_words_is_still_said(said: str) -> None:
    assert said in SOURCE


def test_a_memory_that_names_a_tool_keeps_its_words() -> None:
    text = "Call mem_get_observation(id) before mem_judge."
    assert phrases.in_commands(text) == text
