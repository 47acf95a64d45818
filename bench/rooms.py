"""What the parts cost by themselves, in process: finding the project, redaction, export and import."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.corpus import Note
from bench.filling import fill
from bench.report import Line, judged, percentile, ratio, seconds
from bench.workplace import PROJECT, Workplace, git

if TYPE_CHECKING:
    from engram_py.app import Engram

PROJECT_SECONDS = 0.050
_COLD = """
import sys, time
from pathlib import Path
from engram_py.memory.projects.locate import locate
started = time.perf_counter()
locate(Path(sys.argv[1]))
print(time.perf_counter() - started)
"""


def project(place: Workplace) -> list[Line]:
    """From a folder to its project: the first time in a process, again, and from the server's cache."""
    from engram_py.memory.projects.locate import Locator, locate

    lines = []
    for name, folder in _folders(place).items():
        rounds = place.rounds(15, 5)
        cold, git_seconds = [], []
        for _ in range(rounds):
            cold.append(float(_output([sys.executable, "-c", _COLD, str(folder)], place.folder)))
            git_seconds.append(_seconds(lambda: _output(["git", "rev-parse", "--show-toplevel"], place.folder)))
        warm = [_seconds(partial(locate, folder)) for _ in range(rounds * 10)]
        locator = Locator()
        cached = [_seconds(partial(locator.locate, folder)) for _ in range(rounds * 10)][1:]
        lines.append(_located(name, cold, git_seconds, warm, cached))
    return lines


def _located(name: str, cold: list[float], other: list[float], warm: list[float], cached: list[float]) -> Line:
    line = ratio(name, cold, other)
    worst = max(cold)
    numbers = dict(line.numbers) | {
        "worst_s": worst,
        "warm_p95_s": percentile(warm, 95),
        "cached_p95_s": percentile(cached, 95),
    }
    return Line(
        f"project of {name}: first / again / cached",
        f"{line.ours} / {seconds(percentile(warm, 50))} / {seconds(percentile(cached, 50))}",
        f"git rev-parse {line.baseline}",
        line.compared,
        f"< {PROJECT_SECONDS * 1000:.0f} ms",
        judged(worst, PROJECT_SECONDS),
        numbers=numbers,
    )


def _folders(place: Workplace) -> dict[str, Path]:
    deep = place.folder / "a" / "b" / "c" / "d"
    worktree = place.root / "worktree"
    git(place.folder, "remote", "add", "origin", "https://example.org/team/bench.git")
    git(place.folder, "commit", "--quiet", "--allow-empty", "--message", "Start")
    git(place.folder, "worktree", "add", "--quiet", str(worktree))
    deep.mkdir(parents=True)
    several = place.root / "several"
    for number in range(40):
        child = several / f"child-{number}"
        child.mkdir(parents=True)
        git(child, "init", "--quiet")
    return {"a subfolder": deep, "a worktree": worktree, "a folder of 40 repositories": several}


def redaction(place: Workplace) -> list[Line]:
    """Looking for secrets in a note, against one pass of the simplest expression over the same text."""
    from engram_py.base.capture.redact import redact

    words = re.compile(r"\w+")
    lines = []
    for size, rounds in ((2_000, place.rounds(400, 100)), (50_000, place.rounds(40, 15))):
        text = _text_of(place.corpus.notes, size)
        ours, baseline = [], []
        for turn in range(rounds + 1):
            times = _seconds(partial(redact, text)), _seconds(partial(words.findall, text))
            if turn:
                ours.append(times[0])
                baseline.append(times[1])
        lines.append(ratio(f"redaction of a {size // 1000} KB note (baseline: findall of \\w+)", ours, baseline))
    return lines


def _text_of(notes: Iterable[Note], size: int) -> str:
    parts: list[str] = []
    length = 0
    for note in notes:
        parts.append(f"{note.title}\n{note.content}\npassword = ${{DB_PASSWORD}}\n")
        length += len(parts[-1])
        if length >= size:
            break
    return "".join(parts)[:size]


def transfer(place: Workplace) -> list[Line]:
    """Export and import, against a plain dump of the same rows and a bulk insert of them; rounds in new files."""
    count, rounds = place.rounds(3_000, 700), 3
    times: dict[str, list[float]] = {}
    notes = list(place.corpus.many(count * rounds))
    for turn in range(rounds):
        part = notes[turn * count : (turn + 1) * count]
        for name, elapsed in _transferred(place, f"transfer-{turn}", part).items():
            times.setdefault(name, []).append(elapsed)
    pairs = {
        "export (baseline: select, json.dumps)": ("export", "dump"),
        "import (baseline: bulk SQL, same columns)": ("import", "fill"),
        "import of the same file again (baseline: the first time)": ("again", "import"),
    }
    return [_per_second(what, count, times[ours], times[other]) for what, (ours, other) in pairs.items()]


def _transferred(place: Workplace, name: str, notes: list[Note]) -> dict[str, float]:
    from engram_py import Engram

    file, here, there = place.root / f"{name}.json", place.data_dir(f"{name}-from"), place.data_dir(f"{name}-to")
    times = {"fill": _seconds(lambda: fill(here, place.folder, notes))}
    with Engram(here, directory=place.folder) as app:
        times["export"] = _seconds(lambda: app.transfer.export(file))
        times["dump"] = _seconds(lambda: _dump(app, file.with_suffix(".plain")))
    with Engram(there, directory=place.folder) as app:
        times["import"] = _seconds(lambda: app.transfer.import_file(file))
        times["again"] = _seconds(lambda: app.transfer.import_file(file))
    return times


def _dump(app: Engram, file: Path) -> None:
    rows = [dict(row) for row in app.store.rows("select * from observations")]
    file.write_text(json.dumps({"project": PROJECT, "observations": rows}), encoding="utf-8")


def _per_second(what: str, count: int, ours: list[float], baseline: list[float]) -> Line:
    line = ratio(f"{what}, {count:,} observations", ours, baseline)
    mine, theirs = (f"{count / statistics.median(times):,.0f} rows/s" for times in (ours, baseline))
    return Line(line.what, mine, theirs, line.compared, numbers=line.numbers)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _output(command: list[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
