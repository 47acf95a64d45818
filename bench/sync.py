"""Sync through a repository: the first export and import of everything, and of one row as the memory grows.

Whole processes of ``engram sync``. The rows are filled in bulk, in the project of the folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from bench.filling import fill
from bench.report import Line, judged, ratio, seconds
from bench.wire import engram_command, environment
from bench.workplace import Workplace

SMALL = 1_000
GROWTH_RATIO = 1.5
_MIB = 2**20


@dataclass(frozen=True)
class Ran:
    """How long a process took, in seconds, and the most memory it held, in bytes."""

    took: float
    peak: int


def sync(place: Workplace) -> list[Line]:
    """Rows a second of the first export and import, beside the bulk fill; then one changed row, small beside large."""
    began = time.perf_counter()
    large = _desk(place, place.rows)
    filled = time.perf_counter() - began
    exported = _engram(place, large, "sync", "--export")
    other = place.data_dir("sync-other")
    imported = _engram(place, other, "sync", "--import")
    lines = [
        _throughput("first export through git", place.rows, exported, filled),
        _throughput("first import through git", place.rows, imported, filled),
    ]
    shutil.rmtree(place.folder / ".engram")
    small = _desk(place, SMALL)
    return [*lines, *_one_row(place, small, large)]


def _one_row(place: Workplace, small: Path, large: Path) -> list[Line]:
    """The folder of chunks is kept for each memory and put in place for its turn."""
    shelves = {small: place.root / "chunks-small", large: place.root / "chunks-large"}
    times: dict[Path, list[float]] = {small: [], large: []}
    peaks: dict[Path, int] = {}
    for data_dir in times:
        _engram(place, data_dir, "sync", "--export")
        (place.folder / ".engram").rename(shelves[data_dir])
    for turn in range(place.rounds(9, 4) + 1):
        for data_dir, taken in times.items():
            shelves[data_dir].rename(place.folder / ".engram")
            _engram(place, data_dir, "save", f"Row {turn} of the benchmark", f"Saved in turn {turn}.")
            ran = _engram(place, data_dir, "sync", "--export")
            (place.folder / ".engram").rename(shelves[data_dir])
            peaks[data_dir] = ran.peak
            if turn:
                taken.append(ran.took)
    what = f"  sync of one row at {place.rows:,} observations beside {SMALL:,}"
    return [ratio(what, times[large], times[small], at_most=GROWTH_RATIO)]


def _desk(place: Workplace, rows: int) -> Path:
    data_dir = place.data_dir(f"sync-{rows}")
    fill(data_dir, place.folder, place.corpus.many(rows - 1))
    return data_dir


def _throughput(what: str, rows: int, ran: Ran, filled: float) -> Line:
    numbers = {"rows_per_s": rows / ran.took, "seconds": ran.took, "peak_bytes": float(ran.peak)}
    return Line(
        f"{what}, {rows:,} observations",
        f"{rows / ran.took:,.0f} rows/s, {seconds(ran.took)}, peak {ran.peak / _MIB:.0f} MB",
        f"bulk fill {rows / filled:,.0f} rows/s",
        f"{ran.took / filled:.2f} x",
        verdict=judged(ran.took, None),
        numbers=numbers,
    )


def _engram(place: Workplace, data_dir: Path, *arguments: str) -> Ran:
    started = time.perf_counter()
    process = subprocess.Popen(
        engram_command(*arguments), cwd=place.folder, env=environment(data_dir), stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"engram {' '.join(arguments)} ended with {process.returncode}"
    return Ran(time.perf_counter() - started, usage.ru_maxrss * 1024)
