"""``python -m bench``: measure, print the table, and with ``--check`` fail when a gating budget is exceeded."""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench import anchors, calling, encrypted, hooks, imports, rooms, starting, sync
from bench.report import OVER, Line, as_json, table
from bench.wire import ServerDied
from bench.workplace import Workplace, workplace

MEASURES: dict[str, Callable[[Workplace], list[Line]]] = {
    "schema": starting.schema,
    "start": starting.start,
    "memory": starting.memory,
    "save": calling.save,
    "search": calling.large,
    "documents": calling.documents,
    "crowd": calling.crowd,
    "commands": starting.commands,
    "hooks": hooks.hooks,
    "encrypted": encrypted.encrypted,
    "project": rooms.project,
    "anchors": anchors.anchors,
    "redaction": rooms.redaction,
    "transfer": rooms.transfer,
    "sync": sync.sync,
    "imports": imports.imports,
}
QUICK = [name for name in MEASURES if name not in ("documents", "imports")]
# Budgets of DESIGN.md that other issues build for.
LATER = (Line("mem_search at 1,000,000 observations", "python -m bench.scale", budget="<= +30 ms"),)


def main() -> int:
    arguments = _arguments()
    started = time.perf_counter()
    lines: list[Line] = []
    with workplace(quick=arguments.quick, rows=arguments.rows or (10_000 if arguments.quick else 100_000)) as place:
        for name in arguments.only or (QUICK if arguments.quick else MEASURES):
            print(f"{time.perf_counter() - started:4.0f} s  {name} ...", file=sys.stderr, flush=True)
            lines += _measured(name, place)
        source = place.corpus.source
    if not arguments.only:
        lines += LATER
    print(table(lines))
    took = time.perf_counter() - started
    about = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {source}, {took:.0f} s"
    print(f"\n{about}. Durations are medians unless they say otherwise; compare the ratios, not the times.")
    if arguments.json:
        values = {"about": about, "seconds": took, "lines": as_json(lines)}
        arguments.json.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    over = [line.what for line in lines if line.gate and line.verdict == OVER]
    if arguments.check and over:
        print(f"over budget: {'; '.join(over)}", file=sys.stderr)
        return 1
    return 0


def _measured(name: str, place: Workplace) -> list[Line]:
    """The lines of a measure; one whose server dies fails ``--check`` and lets the others go on."""
    try:
        return MEASURES[name](place)
    except ServerDied as exc:
        print(f"{name}: {exc}", file=sys.stderr)
        return [Line(name, "not measured: its server failed", verdict=OVER, gate=True)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure DESIGN.md's budgets.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and 10,000 observations; under 90 seconds")
    parser.add_argument("--rows", type=int, help="observations in the large memory (default 100,000)")
    parser.add_argument("--only", type=_names, help=f"comma-separated: {', '.join(MEASURES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--check", action="store_true", help="exit 1 when schema, start or memory is over budget")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(MEASURES)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
