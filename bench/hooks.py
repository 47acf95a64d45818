"""What a hook costs: the whole process beside a Python that imports sqlite3 and json, and as the memory grows."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench.filling import filled
from bench.report import Line, ratio
from bench.starting import PLAIN
from bench.wire import Server, engram_command, environment
from bench.workplace import PROJECT, Workplace

SILENT_RATIO, GIVEN_RATIO, START_RATIO = 3.0, 3.3, 4.0
# What ``--check`` holds: a busy machine starts processes unevenly.
GATED_RATIO = 3.6
GROWTH_RATIO, FLAT_RATIO = 1.5, 1.3
FEW, SMALL = 100, 1_000
QUESTION = "why did we choose uv?"


def hooks(place: Workplace) -> list[Line]:
    """``user-prompt`` that finds nothing (as most do), that is answered, and the others; then a large memory."""
    few, small, large = (filled(place, f"hooks-{rows}", rows) for rows in (FEW, SMALL, place.rows))
    return [
        *_whole(place, few), *_acting(place, few), *_growth(place, small, large), *_called(place, small, large)
    ]  # fmt: skip


COMMAND: dict[str, object] = {"tool_name": "Bash", "tool_input": {"command": "npm install left-pad"}}
FAILED = "Exit code 1\nModuleNotFoundError: No module named 'whale_tables'"


def _acting(place: Workplace, few: Path) -> list[Line]:
    """What an agent waits for around each command: nothing guarded, a guard that speaks, a failure, a passing one."""
    guarded = filled(place, "hooks-guarded", FEW)
    guard = engram_command("guard", "add", "1", "--command", "npm *", "--use", "pnpm")
    _timed(guard, place, guarded, b"")
    done: dict[str, object] = {"tool_response": {"stdout": "3", "interrupted": False}}
    kinds: dict[str, tuple[Path, str, dict[str, object]]] = {
        "engram hook pre-tool, nothing guarded": (few, "pre-tool", COMMAND),
        "  where a guard speaks": (guarded, "pre-tool", COMMAND),
        "engram hook post-tool": (few, "post-tool", COMMAND | done),
        "engram hook tool-failed": (few, "tool-failed", COMMAND | {"error": FAILED}),
    }
    lines = []
    for name, (data_dir, event, fields) in kinds.items():
        ours, plain = [], []
        for turn in range(place.rounds(25, 9) + 1):
            before = _timed(PLAIN, place, data_dir, b"")[0]
            took, printed = _hook(place, data_dir, event, session_id=f"act-{turn}", **fields)
            assert ("speaks" in name) == (b"pnpm" in printed)
            if turn:
                ours.append(took)
                plain.append(before)
        lines.append(ratio(name, ours, plain, at_most=GIVEN_RATIO))
    return lines


def _whole(place: Workplace, data_dir: Path) -> list[Line]:
    kinds = {
        "engram hook user-prompt, whole process": ("user-prompt", {"prompt": "Write a parser for the logs of {turn}"}),
        "  of a prompt that is given memory": ("user-prompt", {"prompt": QUESTION}),
        "  of one that only says yes": ("user-prompt", {"prompt": "yes"}),
        "engram hook session-start": ("session-start", {}),
        "engram hook stop": ("stop", {"last_assistant_message": "Done in {turn}."}),
    }
    ours: dict[str, list[float]] = {name: [] for name in kinds}
    plain: dict[str, list[float]] = {name: [] for name in kinds}
    for turn in range(place.rounds(25, 9) + 1):
        for name, (event, fields) in kinds.items():
            said = {key: text.format(turn=turn) for key, text in fields.items()}
            before = _timed(PLAIN, place, data_dir, b"")[0]
            took, printed = _hook(place, data_dir, event, session_id=f"bench-{turn}", **said)
            assert ("given memory" not in name) or b"Chose uv" in printed, "the question found its answer"
            if turn:  # the first warms the file cache and the byte code
                ours[name].append(took)
                plain[name].append(before)
    gated, given, _, start, _ = kinds
    most = {given: GIVEN_RATIO, start: START_RATIO}
    return [
        ratio(
            name,
            ours[name],
            plain[name],
            at_most=most.get(name, SILENT_RATIO),
            gate=name == gated and _median_ratio(ours[name], plain[name]) > GATED_RATIO,
        )
        for name in kinds
    ]


def _median_ratio(ours: list[float], plain: list[float]) -> float:
    return median(one / beside for one, beside in zip(ours, plain, strict=True))


def _growth(place: Workplace, small: Path, large: Path) -> list[Line]:
    lines = []
    events = {
        "session-start": {},
        "user-prompt": {"prompt": "Write a parser"},
        "stop": {"last_assistant_message": "Done."},
    }
    for event, fields in events.items():
        times: tuple[list[float], list[float]] = [], []
        for turn in range(place.rounds(25, 9) + 1):
            for data_dir, into in zip((large, small), times, strict=True):
                took = _hook(place, data_dir, event, session_id=f"growth-{turn}", **fields)[0]
                if turn:
                    into.append(took)
        what = f"  {event} on {place.rows:,} observations beside {SMALL:,}"
        lines.append(ratio(what, *times, at_most=GROWTH_RATIO if event == "user-prompt" else FLAT_RATIO))
    return lines


def _called(place: Workplace, small: Path, large: Path) -> list[Line]:
    """What an agent's server answers at its start, by the large memory beside the small one."""
    lines = []
    with ExitStack() as stack:
        command = engram_command("mcp", "--tools", "all", "--project", PROJECT)
        servers = [
            stack.enter_context(Server(command, data_dir=data_dir, folder=place.folder)) for data_dir in (large, small)
        ]
        for server in servers:
            server.initialize()
        for tool in ("mem_context", "mem_stats"):
            times: tuple[list[float], list[float]] = [], []
            for turn in range(place.rounds(50, 15) + 1):
                # A context that was asked for in the last ten seconds is remembered: each asks for another size.
                more = {"max_bytes": 5_000 + turn} if tool == "mem_context" else {}
                for server, into in zip(servers, times, strict=True):
                    took = server.call(tool, **more)[1]
                    if turn:
                        into.append(took)
            what = f"  {tool} on {place.rows:,} observations beside {SMALL:,}"
            lines.append(ratio(what, *times, at_most=FLAT_RATIO))
    return lines


def _hook(place: Workplace, data_dir: Path, event: str, **fields: object) -> tuple[float, bytes]:
    said = json.dumps({"cwd": str(place.folder), **fields}).encode()
    return _timed(engram_command("hook", event, "--agent=claude-code"), place, data_dir, said)


def _timed(command: list[str], place: Workplace, data_dir: Path, said: bytes) -> tuple[float, bytes]:
    started = time.perf_counter()
    done = subprocess.run(
        command, input=said, cwd=place.folder, env=environment(data_dir), check=True, capture_output=True
    )
    return time.perf_counter() - started, done.stdout
