"""What a process costs: bytes of schema, start-up, memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle

import psutil  # type: ignore[import-untyped]

from bench.filling import filled
from bench.report import WITHIN, Line, judged, ratio
from bench.wire import Server, engram_command, environment, text_of
from bench.workplace import Workplace

TOKENS = 2_000
START_RATIO = 2.0
START_BESIDE_SDK = 0.15
FRESH_BYTES, USED_BYTES = 18_000_000, 40_000_000
COMMAND_RATIO, COMMAND_ROWS = 4.0, 1_000
CALLS = 1_000
PLAIN = [sys.executable, "-c", "import sqlite3, json"]


def schema(place: Workplace) -> list[Line]:
    """What a host puts in front of a model before the first word: schemas and instructions, bytes / 4."""
    lines = []
    for profile in ("core",) if place.quick else ("core", "agent", "all"):
        with place.engram("schema", f"--tools={profile}") as server:
            instructions = str(server.initialize()["instructions"])
            wire, _ = server.exchange("tools/list")
        tools = json.loads(wire)["result"]["tools"]
        seen = [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in tools]
        shown = json.dumps(seen, ensure_ascii=False, separators=(",", ":"))
        counted = {"name, description, inputSchema": shown.encode(), "as sent by tools/list": wire}
        for way, data in counted.items():
            what = f"schema + instructions, {profile}, {len(tools)} tools: {way}"
            lines.append(_tokens(what, len(data) + len(instructions.encode()), gate=profile == "core"))
    return lines


def _tokens(what: str, size: int, *, gate: bool) -> Line:
    tokens = -(-size // 4)
    budget, verdict = (f"<= {TOKENS:,}", judged(tokens, TOKENS)) if gate else ("", "-")
    numbers = {"bytes": size, "tokens": tokens}
    return Line(what, f"{tokens:,} tokens", f"{TOKENS:,}", f"{tokens / TOKENS:.2f} x", budget, verdict, gate, numbers)


def start(place: Workplace) -> list[Line]:
    """From starting the process to the answer to ``tools/list``, beside a Python that imports sqlite3 and json, and
    beside a server made with the SDK; what is over budget is measured as often again."""
    runs: tuple[Callable[[], float], ...] = (
        lambda: _start_seconds(lambda: place.engram("start")),
        lambda: process_seconds(PLAIN, place),
        lambda: _start_seconds(place.one_tool),
    )
    for run in runs:  # warms the file cache and the byte code
        run()
    times: tuple[list[float], list[float], list[float]] = [], [], []
    ours, plain, sdk = times
    for turn in range(2 * place.rounds(21, 11)):
        for which in (0, 1, 2) if turn % 2 else (2, 1, 0):
            times[which].append(runs[which]())
        what = f"engram mcp: start to answered tools/list ({turn + 1} rounds)"
        lines = [
            ratio(what, ours, plain, at_most=START_RATIO, gate=True),
            ratio("  the same beside a one-tool server of the SDK", ours, sdk, at_most=START_BESIDE_SDK, gate=True),
        ]
        if turn + 1 >= place.rounds(21, 11) and all(line.verdict == WITHIN for line in lines):
            break
    return lines


def _start_seconds(begin: Callable[[], Server]) -> float:
    started = time.perf_counter()
    with begin() as server:
        server.initialize()
        server.request("tools/list")
        return time.perf_counter() - started


def memory(place: Workplace) -> list[Line]:
    """Resident memory at ``tools/list``, and after 1,000 calls: saves, searches, contexts and reads in turn; beside a
    server made with the SDK after as many empty calls."""
    with place.engram("memory") as server:  # the first process of all imports what makes the file, once in its life
        server.initialize()
        server.call("mem_save", title="The first", content="It makes the file.")
    with place.engram("memory") as server, place.one_tool() as other:
        server.initialize()
        other.initialize()
        for one in (server, other):
            one.request("tools/list")
        fresh = _rss(server), _rss(other)
        calls = _mixed_calls(place)
        ids: list[int] = []
        for _ in range(CALLS):
            tool, arguments = next(calls)
            if tool == "mem_get_observation":
                arguments = {"id": ids[-1 - len(ids) // 2]}
            result, _ = server.call(tool, **arguments)
            if tool == "mem_save":
                ids.append(json.loads(text_of(result))["id"])
            other.call("ping")
        used = _rss(server), _rss(other)
    return [
        _resident("engram mcp: resident memory at tools/list", *fresh, FRESH_BYTES),
        _resident(f"  the same after {CALLS:,} mixed calls", *used, USED_BYTES),
    ]


def _resident(what: str, ours: int, baseline: int, at_most: int) -> Line:
    budget, verdict = f"<= {_megabytes(at_most)}", judged(ours, at_most)
    numbers = {"ours_bytes": ours, "baseline_bytes": baseline}
    return Line(
        what, _megabytes(ours), _megabytes(baseline), f"{ours / baseline:.2f} x", budget, verdict, True, numbers
    )


def _mixed_calls(place: Workplace) -> Iterator[tuple[str, dict[str, object]]]:
    notes = cycle(place.corpus.many(CALLS))
    queries = cycle(place.corpus.queries(200))
    while True:
        note = next(notes)
        yield "mem_save", {"title": note.title[:500], "content": note.content, "response_format": "json"}
        yield "mem_search", {"query": next(queries)[1]}
        yield "mem_context", {}
        yield "mem_get_observation", {}


def _rss(server: Server) -> int:
    return int(psutil.Process(server.process.pid).memory_info().rss)


def _megabytes(size: float) -> str:
    return f"{size / 1e6:.1f} MB"


def commands(place: Workplace) -> list[Line]:
    """Whole processes of commands on a small memory, against a Python that imports sqlite3 and json."""
    filled(place, "commands", COMMAND_ROWS)
    note = place.corpus.notes[0]
    measured = {
        "engram version": engram_command("version"),
        "engram search": engram_command("search", "link status"),
        "engram save": engram_command("save", note.title, note.content),
    }
    times: dict[str, list[float]] = {name: [] for name in (*measured, "plain")}
    for turn in range(place.rounds(15, 5) + 1):
        for name, command in (*measured.items(), ("plain", PLAIN)):
            elapsed = process_seconds(command, place)
            if turn:
                times[name].append(elapsed)
    return [ratio(f"{name}, whole process", times[name], times["plain"], at_most=COMMAND_RATIO) for name in measured]


def process_seconds(command: list[str], place: Workplace) -> float:
    """The seconds from starting a process to its end."""
    env = environment(place.data_dir("commands"))
    started = time.perf_counter()
    subprocess.run(command, cwd=place.folder, env=env, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - started
