"""The answers of ``engram mcp`` to some hundred requests, good and bad, as one JSON file to hold the server to.

Each conversation is what one client sends, to a process of its own. ``python -m tests.interfaces.mcp.record`` asks the
lines of the file again and writes the answers; a new line is written there by hand. It was first written by the SDK's
own server on stdio. Where this server is to answer otherwise, the pair says ``why`` and holds the SDK's answer beside
its own: it stays as it is.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.forked import Server

RECORDED = Path(__file__).with_name("recorded.json")
WAIT_SECONDS = 20.0
LONGEST_TEXT = 500
LAST = "that was all"

Line = dict[str, Any] | str
Pair = dict[str, Any]
Recording = dict[str, list[Pair]]


class Process:
    """``engram mcp`` in a folder of its own, asked one line at a time."""

    def __init__(self, room: Path) -> None:
        folder = room / "widgets"
        folder.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ENGRAM_", "XDG_", "GIT_"))}
        env = kept | {"ENGRAM_DATA_DIR": str(room / "data"), "HOME": str(room)}
        self._room = room
        self._process = Server(
            ["mcp", "--tools=all"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=env, bufsize=0,
        )  # fmt: skip

    def ask(self, line: Line) -> Any:
        """The answer, without what differs from run to run; None when there is none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n")
        answered = isinstance(line, dict) and "id" in line
        if not answered:  # what answers this asks after it has been read
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": LAST, "method": "ping"}).encode() + b"\n")
        if not select.select([self._process.stdout], [], [], WAIT_SECONDS)[0]:
            return None
        data = self._process.stdout.readline()
        if not answered:
            found = json.loads(data)
            if found.get("id") == LAST:
                return None
            assert json.loads(self._process.stdout.readline())["id"] == LAST
        return normal(json.loads(data), str(self._room)) if data else None

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=WAIT_SECONDS)
        self._process.stdout.close()


def normal(value: Any, room: str) -> Any:
    """The value with one word for each time, generated id, path, and what else no two runs have alike."""
    if isinstance(value, dict):
        tools = value.get("tools")
        if isinstance(tools, list):  # the first stands for all: each is held to its schema elsewhere
            value = value | {"tools": tools[:1] + [one["name"] for one in tools[1:]]}
        return {name: normal(one, room) for name, one in value.items()}
    if isinstance(value, list):
        return [normal(one, room) for one in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"\b(rel|session|ses|proc|obs)-[0-9a-z-]{8,}", r"\1-ID", value.replace(room, "ROOM"))
    value = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?", "TIME", value)
    value = re.sub(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{12,}\b", "ID", value)
    value = re.sub(r"\b\d\d:\d\d\b", "TIME", value)
    value = re.sub(r"[\d,]+ KB", "SIZE KB", value)  # every migration adds pages
    value = re.sub(r"\d+(\.\d+)? (ms|s|seconds?|minutes?) ?(ago)?|just now", "AGO", value)
    return value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + f" ... {len(value) // 100}00"


def record() -> Recording:
    """The recording with what the server answers now, but for the pairs that say why they differ from the SDK's."""
    found: Recording = {}
    for name, pairs in recorded().items():
        with tempfile.TemporaryDirectory() as room:
            server = Process(Path(room).resolve())
            try:
                answers = [server.ask(pair["line"]) for pair in pairs]
            finally:
                server.end()
        found[name] = [
            pair if "why" in pair else pair | {"answer": answer} for pair, answer in zip(pairs, answers, strict=True)
        ]
    return found


def recorded() -> Recording:
    return dict(json.loads(RECORDED.read_text(encoding="utf-8")))


def text_of(recording: Recording) -> str:
    """The file: one pair a line."""
    parts = []
    for name, pairs in recording.items():
        rows = ",\n".join("  " + json.dumps(pair, sort_keys=True) for pair in pairs)
        parts.append(f"{json.dumps(name)}: [\n{rows}\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    RECORDED.write_text(text_of(record()))
