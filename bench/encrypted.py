"""What encryption at rest costs: the same memory plain and encrypted, by turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench.filling import filled
from bench.hooks import QUESTION, _hook
from bench.report import Line, judged, ratio
from bench.starting import PLAIN, process_seconds
from bench.wire import Server, engram_command
from bench.workplace import PROJECT, Workplace

ROWS = 1_000
# Of a Python that imports sqlite3 and json: what SQLCipher may add to a hook.
HOOK_ADDS = 0.6

Timed = Callable[[Path, int], float]


def encrypted(place: Workplace) -> list[Line]:
    """Start, hooks, open, save and search of an encrypted memory beside the plain one."""
    from engram_py.upkeep.encryption import encrypt

    plain, sealed = (filled(place, f"at-rest-{name}", ROWS) for name in ("plain", "encrypted"))
    encrypt(sealed, kind="file", file=place.root / "bench.key", announce=str)
    silent, given = {"prompt": "Write a parser for the logs of {turn}"}, {"prompt": QUESTION}
    whole: dict[str, Timed] = {
        "start": lambda data_dir, turn: _start(place, data_dir),
        "hook, silent": lambda data_dir, turn: _prompt(place, data_dir, turn, **silent),
        "hook, given": lambda data_dir, turn: _prompt(place, data_dir, turn, **given),
        "open (engram stats)": lambda data_dir, turn: process_seconds(
            engram_command("--data-dir", str(data_dir), "stats"), place
        ),
    }
    lines = [_line(place, name, timed, plain, sealed) for name, timed in whole.items()]
    with ExitStack() as stack:
        command = engram_command("mcp", "--project", PROJECT)
        servers = {
            data_dir: stack.enter_context(Server(command, data_dir=data_dir, folder=place.folder))
            for data_dir in (plain, sealed)
        }
        for server in servers.values():
            server.initialize()
        calls: dict[str, Timed] = {
            "mem_save": lambda data_dir, turn: servers[data_dir].call(
                "mem_save", title=f"Parser {turn}", content=f"The parser of log {turn} reads lines."
            )[1],
            "mem_search": lambda data_dir, turn: servers[data_dir].call("mem_search", query=f"{QUESTION} {turn}")[1],
        }
        lines += [_line(place, name, timed, plain, sealed, rounds=3) for name, timed in calls.items()]
    return lines


def _line(place: Workplace, name: str, timed: Timed, plain: Path, sealed: Path, *, rounds: int = 1) -> Line:
    ours, baseline, bare = [], [], []
    for turn in range(rounds * place.rounds(25, 9) + 1):
        order = (plain, sealed) if turn % 2 else (sealed, plain)
        took = {data_dir: timed(data_dir, turn) for data_dir in order}
        if turn:  # the first warms the file cache
            ours.append(took[sealed])
            baseline.append(took[plain])
            bare.append(process_seconds(PLAIN, place))
    line = ratio(f"encrypted beside plain: {name}", ours, baseline)
    if not name.startswith("hook"):
        return line
    adds = statistics.median((one - other) / unit for one, other, unit in zip(ours, baseline, bare, strict=True))
    return Line(
        line.what, line.ours, line.baseline, f"+{adds:.2f} x bare", f"<= +{HOOK_ADDS:g} x bare",
        judged(adds, HOOK_ADDS), numbers={**line.numbers, "adds": adds},
    )  # fmt: skip


def _prompt(place: Workplace, data_dir: Path, turn: int, **said: str) -> float:
    fields = {key: text.format(turn=turn) for key, text in said.items()}
    return _hook(place, data_dir, "user-prompt", session_id=f"at-rest-{turn}-{len(fields['prompt'])}", **fields)[0]


def _start(place: Workplace, data_dir: Path) -> float:
    started = time.perf_counter()
    with Server(engram_command("mcp"), data_dir=data_dir, folder=place.folder) as server:
        server.initialize()
        server.request("tools/list")
        return time.perf_counter() - started
