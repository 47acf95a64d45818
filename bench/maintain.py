"""``python -m bench.maintain``: what upkeep of a large memory takes, and what it is in the way of.

Fills a memory (100,000 rows, half of them derived facts about 1,000 entities), runs each pass once in a process of its
own while another one saves, and prints the seconds of the pass, the memory it took beyond an open store, and the
slowest save beside it. ``--check`` exits with 1 when a pass takes longer than 30 s.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

from bench.corpus import Corpus
from bench.filling import fill
from engram_py import Draft, Engram
from engram_py.upkeep.maintenance import PASSES

ROWS, ENTITIES, MOST_SECONDS = 100_000, 1_000, 30.0

_DERIVED = """
update observations
set origin = 'derived', type = 'fact', about = 'entity-' || (id % :entities), last_accessed_at = null
where id % 2 = 0
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    slow = False
    with tempfile.TemporaryDirectory(prefix="engram-maintain-") as name:
        data_dir, folder = Path(name, "data"), Path(name, "here")
        folder.mkdir()
        fill(data_dir, folder, Corpus.load().many(arguments.rows))
        with Engram(data_dir, directory=folder) as app, app.store.transaction():
            app.store.execute(_DERIVED, entities=ENTITIES)
        print(f"{arguments.rows:,} rows, half of them derived facts about {ENTITIES:,} entities")
        for one in PASSES:
            seconds, grown, worst, said = _measured(data_dir, folder, one)
            slow |= seconds > MOST_SECONDS
            print(f"{one:12} {seconds:6.1f} s, {grown:5.1f} MB, slowest save beside it {worst * 1000:4.0f} ms; {said}")
    return int(arguments.check and slow)


def _measured(data_dir: Path, folder: Path, name: str) -> tuple[float, float, float, str]:
    spawn = multiprocessing.get_context("spawn")
    answers = spawn.Queue()
    process = spawn.Process(target=_run, args=(data_dir, folder, name, answers))
    process.start()
    worst, number = 0.0, 0
    with Engram(data_dir, directory=folder) as app:
        app.save(Draft("Warm", "up"))
        while process.is_alive() and answers.empty():
            begun = time.perf_counter()
            app.save(Draft(f"Beside {name} {number}", f"Saved while it ran, {number}"))
            worst, number = max(worst, time.perf_counter() - begun), number + 1
            time.sleep(0.05)
    seconds, grown, said = answers.get()
    process.join()
    return seconds, grown, worst, said


def _run(data_dir: Path, folder: Path, name: str, answers: multiprocessing.Queue[tuple[float, float, str]]) -> None:
    with Engram(data_dir, directory=folder) as app:
        app.search("warm up")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun = time.perf_counter()
        [done] = app.maintenance.run(name).passes
        seconds = time.perf_counter() - begun
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    counts = ", ".join(f"{count:,g} {what}" for step in done.steps for what, count in step.counts.items() if count)
    answers.put((seconds, grown, counts or "nothing to do"))


if __name__ == "__main__":
    sys.exit(main())
