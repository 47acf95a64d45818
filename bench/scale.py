"""``python -m bench.scale``: what a search costs as the memory grows, over stdio beside an empty call.

Memories of real text (``corpus.py``), filled by SQL: one project that holds everything, and twenty of which the asked
one holds a twentieth.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.beside import Pair, Times
from bench.calling import SEARCH_RATIO, processes
from bench.corpus import Corpus
from bench.filling import fill
from bench.keeping import copied, fingerprint, kept
from bench.memories import without_settings
from bench.report import OVER, Line, as_json, judged, percentile, seconds, table
from bench.wire import Server, ServerDied, engram_command
from bench.workplace import PROJECT, Workplace, workplace

ROWS = (10_000, 100_000, 1_000_000)
SPREAD = 20
NEW = "newcomer"  # a project with almost nothing in it: what the others hold must not slow it down
WARM_UP = 10
# DESIGN.md's budgets of `mem_search` beyond an empty call, by the observations up to which each holds.
BUDGETS = ((100_000, SEARCH_RATIO), (1_000_000, 2 * SEARCH_RATIO))
CONTEXT_RATIO = 1.5
_PASTED_WORDS = 60
_DECIDES = (
    "migrations/*.sql",
    "engram_py/base/text/words.py",
    "bench/filling.py",
    "bench/corpus.py",
    "bench/words.py",
)


@dataclass(frozen=True)
class Memory:
    """A filled memory to ask: ``projects`` is how many share it."""

    rows: int
    projects: int

    @property
    def name(self) -> str:
        spread = "" if self.projects == 1 else f" in {self.projects} projects"
        return f"{self.rows:,} observations{spread}"

    @property
    def budget(self) -> float:
        return next((at_most for rows, at_most in BUDGETS if self.rows <= rows), BUDGETS[-1][1])


def main() -> int:
    arguments = _arguments()
    without_settings()
    started = time.perf_counter()
    lines: list[Line] = []
    with workplace(quick=False, rows=0) as place:
        for rows in arguments.rows:
            for projects in arguments.projects:
                memory = Memory(rows, projects)
                print(f"{time.perf_counter() - started:4.0f} s  {memory.name} ...", file=sys.stderr, flush=True)
                measured = _measured(place, memory, rounds=arguments.rounds, keep=arguments.keep)
                print(table(measured), "", sep="\n", flush=True)  # the next may take a quarter of an hour
                lines += measured
        source = place.corpus.source
    took = time.perf_counter() - started
    about = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {source}, {took:.0f} s"
    print(f"{about}. Beside the median of an empty call of the one-tool server; cpu is the server's, a call.")
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"about": about, "lines": as_json(lines)}, indent=2) + "\n", encoding="utf-8"
        )
    over = [line.what for line in lines if line.verdict == OVER]
    if arguments.check and over:
        print(f"over budget: {'; '.join(over)}", file=sys.stderr)
        return 1
    return 0


def _measured(place: Workplace, memory: Memory, *, rounds: int, keep: Path | None) -> list[Line]:
    """The lines of a memory; one whose server dies fails ``--check`` and lets the others go on."""
    try:
        return measure(place, memory, rounds=rounds, keep=keep)
    except ServerDied as exc:
        print(f"{memory.name}: {exc}", file=sys.stderr)
        return [Line(memory.name, "not measured: its server failed", verdict=OVER)]


def measure(place: Workplace, memory: Memory, *, rounds: int, keep: Path | None) -> list[Line]:
    """The lines of one memory."""
    with _filled(place, memory, keep) as data_dir:
        size = (data_dir / "engram.db").stat().st_size
        server = Server(engram_command("mcp", "--project", PROJECT), data_dir=data_dir, folder=place.folder)
        with server as engram, place.one_tool() as empty:
            engram.initialize()
            empty.initialize()
            pair = Pair(engram, empty)
            pair.call("mem_save", title="The first of a new project", content="It has nothing else.", project=NEW)
            lines = [_first(pair, place.corpus), *_searches(place, pair, memory, rounds)]
            lines += _contexts(pair, place.corpus, memory, rounds, search=lines[1].numbers["p95_s"])
            lines.append(_saves("mem_save", pair, place.corpus, rounds, PROJECT))
            lines.append(_saves("mem_save in a new project", pair, place.corpus, rounds, NEW))
    head = Line(f"{memory.name}, {size / 1e6:,.0f} MB", "")
    return [head, *(replace(line, what=f"  {line.what}") for line in lines)]


@contextmanager
def _filled(place: Workplace, memory: Memory, keep: Path | None) -> Iterator[Path]:
    """A data directory to use up, holding the memory."""
    # From 2022 until shortly before now, however many there are.
    step = (datetime.now(UTC) - datetime(2022, 1, 2, tzinfo=UTC)) / memory.rows
    step = timedelta(seconds=int(step / timedelta(seconds=1)))

    def filling(data_dir: Path) -> None:
        notes = place.corpus.many(memory.rows - 1)
        fill(data_dir, place.folder, notes, projects=memory.projects, step=step)

    with tempfile.TemporaryDirectory(prefix="engram-scale-") as room:
        data_dir = Path(room).resolve() / "data"
        if keep:
            wanted = fingerprint(_DECIDES, place.corpus.source, memory.name)
            copied(kept(keep, f"scale-{memory.rows}-{memory.projects}", wanted, filling), data_dir)
        else:
            filling(data_dir)
        yield data_dir


def _first(pair: Pair, corpus: Corpus) -> Line:
    """What the first question after a start waits for: the file is opened, its pages and the words are read."""
    took = pair.call("mem_search", query=corpus.subjects[0]).ours[0]
    for _, query in corpus.queries(WARM_UP):
        pair.call("mem_search", query=query)
    return Line("the first mem_search after a start", seconds(took), numbers={"first_s": took})


def _searches(place: Workplace, pair: Pair, memory: Memory, rounds: int) -> list[Line]:
    """All of them together, which is what the budget is for, then each kind by itself."""
    process = processes(place)
    # Kinds take turns, so that what slows the machine for a while slows all of them.
    kinds: dict[str, Times] = {}
    everything = Times()
    for kind, arguments in queries(place.corpus, rounds):
        times = pair.call("mem_search", **arguments)
        kinds.setdefault(kind, Times()).add(times)
        everything.add(times)
    process += processes(place)
    every = {"mem_search, all of these": everything, **{f"  {kind}": times for kind, times in kinds.items()}}
    return [times.line(what, at_most=memory.budget, unit=process) for what, times in every.items()]


def queries(corpus: Corpus, rounds: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """(kind, arguments of ``mem_search``): ``rounds`` of each kind in turn, the same ones in every run."""
    dice = random.Random(13)
    asked = corpus.queries(2 * rounds)
    subjects = [query for kind, query in asked if kind == "subject"]
    questions = [query for kind, query in asked if kind == "question"]
    for turn in range(rounds):
        subject, question = subjects[turn % len(subjects)], questions[turn % len(questions)]
        yield "a short question", {"query": question}
        yield "a commit subject", {"query": subject}
        yield f"a pasted log, {_PASTED_WORDS} words", {"query": pasted_log(corpus, dice)}
        yield "type:bugfix and a subject", {"query": f"type:bugfix {subject}"}
        yield "the argument type, a question", {"query": question, "type": "bugfix"}
        yield "a subject, all_projects", {"query": subject, "all_projects": True}
        yield "a subject, in a new project", {"query": subject, "project": NEW}


def pasted_log(corpus: Corpus, dice: random.Random) -> str:
    """Sixty words as somebody pastes them out of a terminal: times, levels, addresses, and what was said."""
    words: list[str] = []
    while len(words) < _PASTED_WORDS:
        note = dice.choice(corpus.notes)
        moment = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(milliseconds=dice.randrange(10**9))
        level = dice.choice(("ERROR", "WARN", "INFO"))
        words += [moment.isoformat(timespec="milliseconds"), level, f"0x{dice.randrange(1 << 32):08x}"]
        words += f"{note.title} {note.content}".split()[:25]
    return " ".join(words[:_PASTED_WORDS])


def _contexts(pair: Pair, corpus: Corpus, memory: Memory, rounds: int, *, search: float) -> list[Line]:
    """``mem_context`` after a save each time, so that no cache answers, and as a ratio to a search."""
    asked = [query for _, query in corpus.queries(rounds)]
    kinds: dict[str, Callable[[int], dict[str, Any]]] = {"mem_context": lambda _: {}}
    if "query" in _arguments_of(pair.engram, "mem_context"):
        kinds["mem_context with a query"] = lambda turn: {"query": asked[turn % len(asked)]}
    lines = []
    for kind, arguments in kinds.items():
        pair.call("mem_context", **arguments(0))  # the first imports
        times = Times()
        for turn in range(rounds):
            pair.engram.call("mem_save", title=f"Noted before {kind} {turn}", content=f"Turn {turn} of {memory.name}.")
            times.add(pair.call("mem_context", **arguments(turn)))
        factor = percentile(times.ours, 95) / search
        line = times.line(kind)
        compared = f"p95 {factor:.2f} x a search, {line.compared.partition(', ')[2]}"
        verdict, numbers = judged(factor, CONTEXT_RATIO), {**line.numbers, "ratio": factor}
        lines.append(
            replace(line, compared=compared, budget=f"<= {CONTEXT_RATIO:g} x", verdict=verdict, numbers=numbers)
        )
    return lines


def _saves(what: str, pair: Pair, corpus: Corpus, rounds: int, project: str) -> Line:
    times = Times()
    for note in corpus.notes[-rounds:]:
        times.add(pair.call("mem_save", title=f"{note.title[:480]} again", content=note.content, project=project))
    line = times.line(what)
    beyond = statistics.median(times.ours) - statistics.median(times.empty)
    return replace(line, compared=f"p50 +{seconds(beyond)}, {line.compared.partition(', ')[2]}")


def _arguments_of(server: Server, tool: str) -> set[str]:
    listed = server.request("tools/list")["tools"]
    return {name for one in listed if one["name"] == tool for name in one["inputSchema"]["properties"]}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description="Measure calls as the memory grows.")
    parser.add_argument("--rows", type=_numbers, default=ROWS, help="observations, comma-separated")
    parser.add_argument("--projects", type=_numbers, default=(1, SPREAD), help="projects that share them (1,20)")
    parser.add_argument("--rounds", type=int, default=60, help="calls of each kind (60)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the filled memories there for the next run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--check", action="store_true", help="exit 1 when anything is over budget")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    try:
        numbers = [int(part.replace("_", "")) for part in text.split(",") if part.strip()]
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"{text}: whole numbers, comma-separated") from exc
    if not numbers or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"{text}: at least one number, each 1 or more")
    return numbers


if __name__ == "__main__":
    sys.exit(main())
