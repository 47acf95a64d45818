"""The server on stdin and stdout answers as the SDK's own did when recorded, but where the recording says why not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.interfaces.mcp.record import RECORDED, Process, Recording, conversations, normal, renewed, text_of

CONVERSATIONS = dict(conversations())


@pytest.mark.skipif(sys.platform == "win32", reason="select() knows no pipes there")
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_each_line_is_answered_as_recorded(tmp_path: Path, name: str) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))[name]
    assert len(recorded) == len(CONVERSATIONS[name])
    server = Process(tmp_path)
    try:
        for line, known in zip(CONVERSATIONS[name], recorded, strict=True):
            assert server.ask(line) == known["answer"], line
    finally:
        server.end()


def test_the_recording_knows_no_room_of_its_own() -> None:
    assert normal("/a/b/data at 2026-01-01 10:00", "/a/b") == "ROOM/data at TIME"


def test_a_recording_made_again_keeps_the_answers_that_say_why_they_differ() -> None:
    text = RECORDED.read_text(encoding="utf-8")
    old: Recording = json.loads(text)
    deliberate = [pair for pairs in old.values() for pair in pairs if "why" in pair]
    assert len(deliberate) == 7
    assert all(pair["why"] and pair["sdk"] != pair["answer"] for pair in deliberate)

    again = {
        name: [{"line": pair["line"], "answer": pair.get("sdk", pair["answer"])} for pair in pairs]
        for name, pairs in old.items()
    }
    assert text_of(renewed(old, again)) == text
