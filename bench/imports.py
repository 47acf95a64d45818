"""Where the start of ``engram mcp`` goes: the imports it has and the one-tool server has not, by their own time."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

from bench.report import Line, seconds
from bench.wire import ONE_TOOL_SERVER, environment
from bench.workplace import Workplace

_LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \| +(\S+)")
_REQUESTS = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    '"clientInfo":{"name":"bench","version":"1"}}}\n'
    '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}\n'
)
_SHOWN = 12


def imports(place: Workplace) -> list[Line]:
    """Own time per package, as ``-X importtime`` counts it (which slows imports by about a fifth)."""
    rounds = place.rounds(5, 3)
    ours = _fastest(["-m", "engram_py", "mcp"], place, rounds)
    baseline = _fastest([str(ONE_TOOL_SERVER)], place, rounds)
    packages: Counter[str] = Counter()
    for module, microseconds in ours.items():
        if module not in baseline:
            packages[".".join(module.split(".")[:2])] += microseconds
    total = Line(
        "imports until tools/list was answered",
        seconds(sum(ours.values()) / 1e6),
        seconds(sum(baseline.values()) / 1e6),
        f"+{seconds(sum(packages.values()) / 1e6)} not in the baseline",
        numbers={name: micro / 1e6 for name, micro in packages.items()},
    )
    return [total, *(Line(f"  {name}", seconds(micro / 1e6)) for name, micro in packages.most_common(_SHOWN))]


def _fastest(arguments: list[str], place: Workplace, rounds: int) -> dict[str, int]:
    """module → its least own time in microseconds."""
    times: dict[str, int] = {}
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *arguments],
            input=_REQUESTS,
            capture_output=True,
            text=True,
            check=True,
            cwd=place.folder,
            env=environment(place.data_dir("imports")),
        )
        for microseconds, module in _LINE.findall(done.stderr):
            times[module] = min(times.get(module, sys.maxsize), int(microseconds))
    return times
